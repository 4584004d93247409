// Optimizer steps over lists of tensors, many tensors in one launch: their addresses travel in the
// kernel's parameters, and a block finds its tensor by its number.
//
// The scalars of a parameter (its step, for one) and, if given, the learning rate are on the
// device, so that a captured graph goes on counting and follows a schedule.
#include <cstddef>

#include "kernels/calls/optim.gen.h"
#include "kernels/calls/optimizers.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/types.cuh"
#include "kernels/optimizer_step.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPackets = 2;      // of every list, that a thread loads before it computes
constexpr int kMaxTensors = 48;  // a launch's parameters stay below 4 KiB

template <class T>
constexpr int64_t kBlockElements = int64_t{kThreads} * kPackets* kPacketWidth<T>;

// ---- numbers that may be on the device

struct DeviceNumber {
  const void* data;  // null: the value is here
  int32_t dtype;
  double value;

  __device__ __forceinline__ double get() const {
    return data ? load_as<double>(data, dtype, 0) : value;
  }
};

DeviceNumber device_number(const dt_view& view) {
  if (view.immediate) return {nullptr, view.dtype, view.number.f};
  return {view.data, view.dtype, 0};
}

// ---- a launch's share of the tensors

// kLists lists of tensors; operands of one position have the same shape and strides.
template <int kLists>
struct Pack {
  int32_t count = 0;
  uint32_t blocks = 0;           // in all
  int32_t index[kMaxTensors];    // the tensor's position in the call
  bool is_aligned[kMaxTensors];  // packets may be used
  uint32_t first_block[kMaxTensors + 1];
  int64_t numel[kMaxTensors];
  void* data[kMaxTensors][kLists];
  // Of a tensor with gaps, which then is alone in its pack; ndim 0: the elements follow each other.
  Offsets<1, uint64_t> layout;
};

// The place of a block in its pack.
struct Place {
  int tensor;
  int64_t begin, end;  // elements
};

template <int kLists>
__device__ __forceinline__ Place find_place(const Pack<kLists>& pack, int64_t per_block) {
  int low = 0, high = pack.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (pack.first_block[middle] <= blockIdx.x ? low : high) = middle;
  }
  const int64_t begin = (blockIdx.x - pack.first_block[low]) * per_block;
  const int64_t n = pack.numel[low];
  return {low, begin, begin + per_block < n ? begin + per_block : n};
}

// Loads kWidth elements of every list, calls update(values), stores the first kStored lists.
template <class T, int kLists, int kStored, int kWidth>
struct Lane {
  Packet<T, kWidth> value[kLists];

  __device__ __forceinline__ void load(void* const (&data)[kLists], int64_t at) {
#pragma unroll
    for (int k = 0; k < kLists; ++k)
      value[k] = load_packet<kWidth>(static_cast<const T*>(data[k]) + at);
  }
  template <class Update>
  __device__ __forceinline__ void update(const Update& update) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      T element[kLists];
#pragma unroll
      for (int k = 0; k < kLists; ++k) element[k] = value[k].value[i];
      update(element);
#pragma unroll
      for (int k = 0; k < kStored; ++k) value[k].value[i] = element[k];
    }
  }
  __device__ __forceinline__ void store(void* const (&data)[kLists], int64_t at) const {
#pragma unroll
    for (int k = 0; k < kStored; ++k) store_packet(static_cast<T*>(data[k]) + at, value[k]);
  }
};

// Updates a block's elements: in packets, which are all on their way before prepare() says how.
// What is left over, and what packets cannot reach, is updated one by one.
template <class T, int kStored, int kLists, class Prepare>
__device__ __forceinline__ void update_block(const Pack<kLists>& pack, const Place& place,
                                             const Prepare& prepare) {
  constexpr int kWidth = kPacketWidth<T>;
  void* const(&data)[kLists] = pack.data[place.tensor];
  const int length = static_cast<int>(place.end - place.begin);
  const int packets = pack.is_aligned[place.tensor] ? length / kWidth : 0;
  const int64_t at = place.begin + threadIdx.x * kWidth;
  Lane<T, kLists, kStored, kWidth> lane[kPackets];
#pragma unroll
  for (int p = 0; p < kPackets; ++p) {
    if (p * kThreads + static_cast<int>(threadIdx.x) < packets)
      lane[p].load(data, at + p * kThreads * kWidth);
  }
  const auto update = prepare();
#pragma unroll
  for (int p = 0; p < kPackets; ++p) {
    if (p * kThreads + static_cast<int>(threadIdx.x) >= packets) break;
    lane[p].update(update);
    lane[p].store(data, at + p * kThreads * kWidth);
  }
  const int64_t rest = place.begin + packets * kWidth;
  for (int64_t i = rest + threadIdx.x; i < place.end; i += kThreads) {
    int64_t offset[1] = {i};
    if (pack.layout.ndim > 0) pack.layout.at(static_cast<uint64_t>(i), offset);
    Lane<T, kLists, kStored, 1> lane;
    lane.load(data, offset[0]);
    lane.update(update);
    lane.store(data, offset[0]);
  }
}

// ---- packing, on the host

// Core hands in what is dense as one dimension.
bool is_run(const dt_view& view) {
  return view.ndim == 1 && view.strides[0] == 1;
}

Axes<1> axes_of(const dt_view& view) {
  Axes<1> axes;
  for (int d = 0; d < view.ndim; ++d) axes.insert(axes.n, view.sizes[d], {view.strides[d]});
  return axes;
}

// Adds the tensors at position i of every list.
template <class T, int kLists>
void add_tensors(Pack<kLists>& pack, const dt_view* const (&lists)[kLists], int64_t i) {
  const int slot = pack.count++;
  const int64_t n = numel(lists[0][i]);
  pack.index[slot] = static_cast<int32_t>(i);
  pack.numel[slot] = n;
  pack.is_aligned[slot] = is_run(lists[0][i]);
  for (int k = 0; k < kLists; ++k) {
    pack.data[slot][k] = lists[k][i].data;
    pack.is_aligned[slot] &= is_aligned(lists[k][i].data, kPacketBytes);
  }
  pack.first_block[slot] = pack.blocks;
  pack.blocks += static_cast<uint32_t>(divide_up(n, kBlockElements<T>));
  pack.first_block[slot + 1] = pack.blocks;
}

// Calls body(pack) for packs of the tensors of Ts. Stops at an error.
template <class T, int kLists, class Body>
int32_t for_each_pack(const dt_view* const (&lists)[kLists], int64_t k, const Body& body) {
  constexpr uint32_t kManyBlocks = 1u << 30;
  Pack<kLists> pack;
  const auto flush = [&]() -> int32_t {
    const int32_t code = pack.count > 0 ? body(pack) : static_cast<int32_t>(DT_KERNEL_OK);
    pack = Pack<kLists>();
    return code;
  };
  for (int64_t i = 0; i < k; ++i) {
    const dt_view& view = lists[0][i];
    if (view.dtype != dtype_of<T> || numel(view) == 0) continue;
    const bool has_gaps = !is_run(view);
    if (has_gaps || pack.count == kMaxTensors || pack.blocks > kManyBlocks) {
      if (const int32_t code = flush()) return code;
    }
    add_tensors<T>(pack, lists, i);
    if (!has_gaps) continue;
    pack.layout = Offsets<1, uint64_t>(axes_of(view));
    if (const int32_t code = flush()) return code;
  }
  return flush();
}

// Calls body(Type<T>()) for every floating type: each handles the tensors of its own dtype.
template <class Body>
int32_t for_floating_types(const Body& body) {
  for (int32_t dtype = 1; dtype < DT_DTYPE_COUNT_; ++dtype) {
    const bool is_updated = is_floating(dtype) && !is_narrow_float(dtype);
    const int32_t code = is_updated ? visit_floating(dtype, body) : DT_KERNEL_OK;
    if (code != DT_KERNEL_OK) return code;
  }
  return DT_KERNEL_OK;
}

// ---- optimizers: what a step computes is in optimizers.gen.h

// base to the power of exponent. One thread computes while its block waits: squaring, for the
// number of a step, takes a fraction of pow's time.
__device__ __forceinline__ double power(double base, double exponent) {
  if (exponent != floor(exponent) || exponent < 0 || exponent > 0x1p31) return pow(base, exponent);
  double result = 1;
  for (auto n = static_cast<uint32_t>(exponent); n > 0; n >>= 1, base *= base) {
    if (n & 1) result *= base;
  }
  return result;
}

template <class Optimizer>
struct Step {
  typename Optimizer::Settings settings;
  DeviceNumber lr;  // in the place of the settings'
  DeviceNumber found_inf;
  // What the updates of each tensor of the call go by, unless a block is alone with its tensor.
  typename Optimizer::Prepared* prepared;

  __device__ __forceinline__ typename Optimizer::Prepared prepare(float* const* scalars) const {
    typename Optimizer::Settings s = settings;
    s.lr = lr.get();
    return Optimizer::prepare(s, scalars, power);
  }
};

// A tensor of one block is prepared by it, which saves small networks a launch.
template <class T>
__host__ __device__ constexpr bool is_alone(int64_t numel) {
  return numel <= kBlockElements<T>;
}

// Without state there is nothing to count, and every thread prepares.
template <class Optimizer>
constexpr int kScalars = Optimizer::kScalars > 0 ? Optimizer::kScalars : 1;

// The scalars of tensors that are shared out between blocks.
template <class Optimizer>
struct Shared {
  static constexpr int kMax = 256 / kScalars<Optimizer>;
  int32_t count = 0;
  int32_t index[kMax];
  float* scalars[kMax][kScalars<Optimizer>];
};

template <class Optimizer>
__global__ void __launch_bounds__(Shared<Optimizer>::kMax)
    prepare_kernel(const __grid_constant__ Shared<Optimizer> shared,
                   const __grid_constant__ Step<Optimizer> step) {
  begin_kernel();
  if (threadIdx.x >= shared.count || step.found_inf.get() != 0) return;
  step.prepared[shared.index[threadIdx.x]] = step.prepare(shared.scalars[threadIdx.x]);
}

template <class Optimizer, int kLists>
struct StepPack {
  Pack<kLists> pack;
  float* scalars[kMaxTensors][kScalars<Optimizer>];
};

// Every thread of the block gets what its tensor's update goes by.
template <class T, class Optimizer, int kLists>
__device__ __forceinline__ typename Optimizer::Prepared prepared_of(
    const StepPack<Optimizer, kLists>& call, const Step<Optimizer>& step, int tensor) {
  if constexpr (Optimizer::kScalars == 0) return step.prepare(nullptr);
  if (!is_alone<T>(call.pack.numel[tensor])) return step.prepared[call.pack.index[tensor]];
  __shared__ typename Optimizer::Prepared mine;
  if (threadIdx.x == 0) mine = step.prepare(call.scalars[tensor]);
  __syncthreads();
  return mine;
}

// Of the lists, the parameters and the state that there is are written; the gradients come last.
template <class Optimizer, unsigned kPresent>
constexpr int kListsOf = 2 + optim::lists_before(kPresent, Optimizer::kLists);

template <class T, class Optimizer, unsigned kPresent>
__global__ void __launch_bounds__(kThreads)
    step_kernel(const __grid_constant__ StepPack<Optimizer, kListsOf<Optimizer, kPresent>> call,
                const __grid_constant__ Step<Optimizer> step) {
  constexpr int kLists = kListsOf<Optimizer, kPresent>;
  const Place place = find_place(call.pack, kBlockElements<T>);
  const int tensor = place.tensor;
  begin_kernel();
  if (step.found_inf.get() != 0) return;
  update_block<T, kLists - 1>(call.pack, place, [&] {
    return typename Optimizer::template Update<T, kPresent>(
        prepared_of<T, Optimizer>(call, step, tensor));
  });
}

// Prepares the tensors that are shared out between blocks, and counts the steps of empty ones.
template <class Optimizer>
int32_t prepare_shared(const dt_stream* stream, const calls::Optimizer& call,
                       const optim::StateScalars<Optimizer>& scalars, const Step<Optimizer>& step) {
  Shared<Optimizer> shared;
  const auto flush = [&]() -> int32_t {
    if (shared.count == 0) return DT_KERNEL_OK;
    const int32_t code = launch(stream, prepare_kernel<Optimizer>, dim3(1),
                                dim3(Shared<Optimizer>::kMax), 0, shared, step);
    shared.count = 0;
    return code;
  };
  for (int64_t i = 0; i < call.k; ++i) {
    const dt_view& param = call.param[i];
    const int64_t n = numel(param);
    bool alone = false;
    visit_floating(param.dtype,
                   [&](auto type) { alone = is_alone<typename decltype(type)::type>(n); });
    if (alone && n > 0) continue;
    if (shared.count == Shared<Optimizer>::kMax) {
      if (const int32_t code = flush()) return code;
    }
    shared.index[shared.count] = static_cast<int32_t>(i);
    scalars.of(i, shared.scalars[shared.count++]);
  }
  return flush();
}

template <class T, class Optimizer, unsigned kPresent>
int32_t step_tensors(const dt_stream* stream, const calls::Optimizer& call,
                     const Step<Optimizer>& step) {
  constexpr int kLists = kListsOf<Optimizer, kPresent>;
  static_assert(sizeof(StepPack<Optimizer, kLists>) + sizeof(step) <= 4096 &&
                    sizeof(Shared<Optimizer>) + sizeof(step) <= 4096,
                "kernel parameters are limited to 4 KiB");
  const optim::StateScalars<Optimizer> scalars(call, kPresent);
  const dt_view* lists[kLists];
  for (int l = 0; l < kLists - 1; ++l) lists[l] = call.param + l * call.k;
  lists[kLists - 1] = call.grad.data;
  return for_each_pack<T, kLists>(lists, call.k, [&](const Pack<kLists>& pack) {
    StepPack<Optimizer, kLists> tensors = {pack, {}};
    for (int i = 0; i < pack.count; ++i) scalars.of(pack.index[i], tensors.scalars[i]);
    return launch(stream, step_kernel<T, Optimizer, kPresent>, dim3(pack.blocks), dim3(kThreads), 0,
                  tensors, step);
  });
}

template <class Optimizer, unsigned kPresent>
int32_t step_lists(const dt_stream* stream, const calls::Optimizer& call,
                   const Step<Optimizer>& step) {
  return for_floating_types([&](auto type) {
    using T = typename decltype(type)::type;
    return step_tensors<T, Optimizer, kPresent>(stream, call, step);
  });
}

template <class Optimizer>
int32_t step(const dt_stream* stream, const calls::Optimizer& call) {
  if (!optim::are_floating(call)) return DT_KERNEL_UNSUPPORTED;
  if (call.k == 0) return DT_KERNEL_OK;
  const typename Optimizer::Settings settings(call, 0);  // Step has the learning rate
  const unsigned present = Optimizer::present(settings);
  const Step<Optimizer> step = {settings, device_number(call.lr), device_number(call.found_inf),
                                static_cast<typename Optimizer::Prepared*>(call.workspace)};
  if constexpr (Optimizer::kScalars > 0) {
    const optim::StateScalars<Optimizer> scalars(call, present);
    if (const int32_t code = prepare_shared(stream, call, scalars, step)) return code;
  }
  return optim::visit_present<Optimizer>(present, [&](auto lists) {
    return step_lists<Optimizer, decltype(lists)::kPresent>(stream, call, step);
  });
}

template <class Optimizer>
int64_t step_bytes(const calls::Optimizer& call) {
  if (Optimizer::kScalars == 0) return 0;
  return call.k * static_cast<int64_t>(sizeof(typename Optimizer::Prepared));
}

// ---- scaling, as gradient clipping needs it

template <class T>
__global__ void __launch_bounds__(kThreads)
    scale_kernel(const __grid_constant__ Pack<1> pack, const DeviceNumber factor) {
  const Place place = find_place(pack, kBlockElements<T>);
  begin_kernel();
  update_block<T, 1>(pack, place, [&] {
    const T by = static_cast<T>(factor.get());
    return [by](T(&x)[1]) { x[0] *= by; };
  });
}

}  // namespace

#define DT_ROW(Name, name)                                                            \
  int32_t kernels::name(const dt_stream* stream, const calls::Optimizer& call) {      \
    return step<optim::Name>(stream, call);                                           \
  }                                                                                   \
  int64_t kernels::name##_workspace(const dt_stream*, const calls::Optimizer& call) { \
    return step_bytes<optim::Name>(call);                                             \
  }
DT_OPTIMIZERS(DT_ROW)
#undef DT_ROW

int32_t kernels::scale_by(const dt_stream* stream, const calls::ScaleBy& call) {
  if (!optim::all_floating(call.x) || !is_floating(call.factor.dtype)) return DT_KERNEL_UNSUPPORTED;
  const DeviceNumber factor = device_number(call.factor);
  return for_floating_types([&](auto type) {
    using T = typename decltype(type)::type;
    return for_each_pack<T, 1>({call.x.data}, call.k, [&](const Pack<1>& pack) {
      return launch(stream, scale_kernel<T>, dim3(pack.blocks), dim3(kThreads), 0, pack, factor);
    });
  });
}

}  // namespace dt::cuda
