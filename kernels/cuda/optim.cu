// Optimizer steps over lists of tensors, many tensors in one launch: their addresses travel in the
// kernel's parameters, and a block finds its tensor by its number.
//
// Step counters and, if given, the learning rate are on the device, so that a captured graph goes
// on counting and follows a schedule.
#include <cstddef>

#include "kernels/calls/optim.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/types.cuh"

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

// Whether the elements fill a range of memory without gaps, in whatever order.
bool is_filled(const dt_view& view) {
  int64_t reach = 1;
  for (int d = 0; d < view.ndim; ++d) {
    if (view.strides[d] < 0) return false;
    reach += (view.sizes[d] - 1) * view.strides[d];
  }
  return reach == numel(view);
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
  pack.is_aligned[slot] = is_filled(lists[0][i]);
  for (int k = 0; k < kLists; ++k) {
    pack.data[slot][k] = lists[k][i].data;
    pack.is_aligned[slot] &= is_aligned(lists[k][i].data, kPacketBytes);
  }
  pack.first_block[slot] = pack.blocks;
  pack.blocks += static_cast<uint32_t>(divide_up(n, kBlockElements<T>));
  pack.first_block[slot + 1] = pack.blocks;
}

// Calls body(pack) for packs of the tensors of one dtype. Stops at an error.
template <class T, int kLists, class Body>
int32_t for_each_pack(const dt_view* const (&lists)[kLists], int64_t k, int32_t dtype,
                      const Body& body) {
  constexpr uint32_t kManyBlocks = 1u << 30;
  Pack<kLists> pack;
  const auto flush = [&]() -> int32_t {
    const int32_t code = pack.count > 0 ? body(pack) : static_cast<int32_t>(DT_KERNEL_OK);
    pack = Pack<kLists>();
    return code;
  };
  for (int64_t i = 0; i < k; ++i) {
    const dt_view& view = lists[0][i];
    if (view.dtype != dtype || numel(view) == 0) continue;
    const bool has_gaps = !is_filled(view);
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

bool is_floating(const dt_view& view) {
  return view.dtype == DT_FLOAT32 || view.dtype == DT_FLOAT64;
}

bool all_floating(const calls::Views& views) {
  for (const dt_view& view : views) {
    if (!is_floating(view)) return false;
  }
  return true;
}

// Calls body(Type<float>()) and body(Type<double>()): each handles the tensors of its own dtype.
template <class Body>
int32_t for_both_types(const Body& body) {
  if (const int32_t code = body(Type<float>(), DT_FLOAT32)) return code;
  return body(Type<double>(), DT_FLOAT64);
}

// ---- SGD

template <class T>
struct Sgd {
  DeviceNumber lr;
  T momentum, keep, weight_decay, sign;  // keep = 1 - dampening
  bool nesterov, first_step;

  explicit Sgd(const calls::Sgd& call)
      : lr(device_number(call.lr)),
        momentum(static_cast<T>(call.momentum)),
        keep(static_cast<T>(1 - call.dampening)),
        weight_decay(static_cast<T>(call.weight_decay)),
        sign(call.maximize ? T(-1) : T(1)),
        nesterov(call.nesterov),
        first_step(call.first_step) {}

  __device__ __forceinline__ T gradient(T grad, T param) const {
    const T g = sign * grad;
    return weight_decay != T(0) ? g + weight_decay * param : g;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    sgd_kernel(const __grid_constant__ Pack<2> pack, const __grid_constant__ Sgd<T> sgd) {
  const Place place = find_place(pack, kBlockElements<T>);
  begin_kernel();
  update_block<T, 1>(pack, place, [&] {
    const T lr = static_cast<T>(sgd.lr.get());
    return [&sgd, lr](T(&x)[2]) { x[0] -= lr * sgd.gradient(x[1], x[0]); };
  });
}

// The first buffer is the gradient itself, undampened.
template <class T>
__global__ void __launch_bounds__(kThreads)
    momentum_kernel(const __grid_constant__ Pack<3> pack, const __grid_constant__ Sgd<T> sgd) {
  const Place place = find_place(pack, kBlockElements<T>);
  begin_kernel();
  update_block<T, 2>(pack, place, [&] {
    const T lr = static_cast<T>(sgd.lr.get());
    return [&sgd, lr](T(&x)[3]) {
      const T g = sgd.gradient(x[2], x[0]);
      const T b = sgd.first_step ? g : sgd.momentum * x[1] + sgd.keep * g;
      x[1] = b;
      x[0] -= lr * (sgd.nesterov ? g + sgd.momentum * b : b);
    };
  });
}

// ---- Adam

// base^n. One thread computes while its block waits: squaring takes a fraction of pow's time.
__device__ __forceinline__ double power(double base, int n) {
  double result = 1;
  for (; n > 0; n >>= 1, base *= base) {
    if (n & 1) result *= base;
  }
  return result;
}

struct Corrections {
  double step_size, inverse_root;  // lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)
};

struct Adam {
  DeviceNumber lr;
  double beta1, beta2, eps, weight_decay;
  bool decoupled, maximize;
  Corrections* corrections;  // of every tensor of the call, unless a block is alone with its tensor

  __device__ __forceinline__ Corrections correct(float step) const {
    const int n = static_cast<int>(step);
    return {lr.get() / (1 - power(beta1, n)), 1 / sqrt(1 - power(beta2, n))};
  }
};

// Counts a step for every tensor and works out its corrections, once for all blocks that share it.
constexpr int kMaxSteps = 256;
struct Steps {
  int32_t count = 0;
  int32_t index[kMaxSteps];
  float* step[kMaxSteps];
};

__global__ void __launch_bounds__(kMaxSteps)
    count_steps(const __grid_constant__ Steps steps, const __grid_constant__ Adam adam) {
  begin_kernel();
  if (threadIdx.x >= steps.count) return;
  const float step = *steps.step[threadIdx.x] += 1.0f;
  adam.corrections[steps.index[threadIdx.x]] = adam.correct(step);
}

// A tensor of one block counts its own step, which saves small networks a launch.
template <class T>
__device__ __forceinline__ bool is_alone(int64_t numel) {
  return numel <= kBlockElements<T>;
}

// Every thread of the block gets them.
template <class T>
__device__ __forceinline__ Corrections find_corrections(const Adam& adam, int64_t numel,
                                                        int32_t index, float* step) {
  if (!is_alone<T>(numel)) return adam.corrections[index];
  __shared__ Corrections mine;
  if (threadIdx.x == 0) mine = adam.correct(*step += 1.0f);
  __syncthreads();
  return mine;
}

// The operands are param, exp_avg, exp_avg_sq, with kAmsgrad max_exp_avg_sq, then grad.
template <bool kAmsgrad>
constexpr int kAdamLists = kAmsgrad ? 5 : 4;

template <class T, bool kAmsgrad>
struct AdamUpdate {
  T decay, coupled_decay, sign, beta1_rest, beta2, beta2_rest, eps, step_size, inverse_root;

  __device__ __forceinline__ AdamUpdate(const Adam& a, const Corrections& c)
      : decay(static_cast<T>(a.decoupled ? 1 - a.lr.get() * a.weight_decay : 1)),
        coupled_decay(static_cast<T>(a.decoupled ? 0 : a.weight_decay)),
        sign(a.maximize ? T(-1) : T(1)),
        beta1_rest(static_cast<T>(1 - a.beta1)),
        beta2(static_cast<T>(a.beta2)),
        beta2_rest(static_cast<T>(1 - a.beta2)),
        eps(static_cast<T>(a.eps)),
        step_size(static_cast<T>(c.step_size)),
        inverse_root(static_cast<T>(c.inverse_root)) {}

  __device__ __forceinline__ void operator()(T (&x)[kAdamLists<kAmsgrad>]) const {
    const T p = x[0] * decay, signed_grad = sign * x[kAdamLists<kAmsgrad> - 1];
    const T g = coupled_decay != T(0) ? signed_grad + coupled_decay * p : signed_grad;
    const T m = x[1] + beta1_rest * (g - x[1]);
    const T v = beta2 * x[2] + beta2_rest * g * g;
    T scale = v;
    x[1] = m;
    x[2] = v;
    if constexpr (kAmsgrad) {
      scale = x[3] > v || x[3] != x[3] ? x[3] : v;
      x[3] = scale;
    }
    x[0] = p - step_size * m / (sqrt(scale) * inverse_root + eps);
  }
};

template <int kLists>
struct AdamPack {
  Pack<kLists> pack;
  float* step[kMaxTensors];
};

template <class T, bool kAmsgrad>
__global__ void __launch_bounds__(kThreads)
    adam_kernel(const __grid_constant__ AdamPack<kAdamLists<kAmsgrad>> call,
                const __grid_constant__ Adam adam) {
  const Place place = find_place(call.pack, kBlockElements<T>);
  const int tensor = place.tensor;
  begin_kernel();
  update_block<T, kAdamLists<kAmsgrad> - 1>(call.pack, place, [&] {
    return AdamUpdate<T, kAmsgrad>(
        adam, find_corrections<T>(adam, call.pack.numel[tensor], call.pack.index[tensor],
                                  call.step[tensor]));
  });
}

// Counts the steps of the tensors that are shared out between blocks, and of empty ones.
int32_t run_count_steps(const dt_stream* stream, const calls::Adam& call, const Adam& adam) {
  Steps steps;
  const auto flush = [&]() -> int32_t {
    if (steps.count == 0) return DT_KERNEL_OK;
    const int32_t code = launch(stream, count_steps, dim3(1), dim3(kMaxSteps), 0, steps, adam);
    steps.count = 0;
    return code;
  };
  for (int64_t i = 0; i < call.k; ++i) {
    const int64_t n = numel(call.param[i]);
    const bool alone = call.param[i].dtype == DT_FLOAT32 ? n <= kBlockElements<float>
                                                         : n <= kBlockElements<double>;
    if (alone && n > 0) continue;
    if (steps.count == kMaxSteps) {
      if (const int32_t code = flush()) return code;
    }
    steps.index[steps.count] = static_cast<int32_t>(i);
    steps.step[steps.count++] = static_cast<float*>(call.step[i].data);
  }
  return flush();
}

template <class T, bool kAmsgrad>
int32_t run_adam(const dt_stream* stream, const calls::Adam& call, int32_t dtype,
                 const Adam& adam) {
  constexpr int kLists = kAdamLists<kAmsgrad>;
  const dt_view* lists[kLists] = {call.param.data, call.exp_avg.data, call.exp_avg_sq.data};
  if constexpr (kAmsgrad) lists[kLists - 2] = call.max_exp_avg_sq.data;
  lists[kLists - 1] = call.grad.data;
  return for_each_pack<T, kLists>(lists, call.k, dtype, [&](const Pack<kLists>& pack) {
    AdamPack<kLists> kernel = {pack, {}};
    for (int i = 0; i < pack.count; ++i)
      kernel.step[i] = static_cast<float*>(call.step[pack.index[i]].data);
    return launch(stream, adam_kernel<T, kAmsgrad>, dim3(pack.blocks), dim3(kThreads), 0, kernel,
                  adam);
  });
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

static_assert(sizeof(AdamPack<5>) + sizeof(Adam) <= 4096 && sizeof(Steps) + sizeof(Adam) <= 4096,
              "kernel parameters are limited to 4 KiB");

}  // namespace

int32_t kernels::sgd(const dt_stream* stream, const calls::Sgd& call) {
  if (!all_floating(call.grad) || !is_floating(call.lr)) return DT_KERNEL_UNSUPPORTED;
  return for_both_types([&](auto type, int32_t dtype) {
    using T = typename decltype(type)::type;
    const Sgd<T> step(call);
    const dt_view *param = call.param.data, *grad = call.grad.data;
    if (call.momentum_buffer.empty()) {
      return for_each_pack<T, 2>({param, grad}, call.k, dtype, [&](const Pack<2>& pack) {
        return launch(stream, sgd_kernel<T>, dim3(pack.blocks), dim3(kThreads), 0, pack, step);
      });
    }
    return for_each_pack<T, 3>({param, call.momentum_buffer.data, grad}, call.k, dtype,
                               [&](const Pack<3>& pack) {
                                 return launch(stream, momentum_kernel<T>, dim3(pack.blocks),
                                               dim3(kThreads), 0, pack, step);
                               });
  });
}

int32_t kernels::adam(const dt_stream* stream, const calls::Adam& call) {
  if (!all_floating(call.grad) || !is_floating(call.lr)) return DT_KERNEL_UNSUPPORTED;
  if (call.k == 0) return DT_KERNEL_OK;
  const Adam step = {device_number(call.lr),
                     call.beta1,
                     call.beta2,
                     call.eps,
                     call.weight_decay,
                     call.decoupled,
                     call.maximize,
                     static_cast<Corrections*>(call.workspace)};
  if (const int32_t code = run_count_steps(stream, call, step)) return code;
  return for_both_types([&](auto type, int32_t dtype) {
    using T = typename decltype(type)::type;
    return call.max_exp_avg_sq.empty() ? run_adam<T, false>(stream, call, dtype, step)
                                       : run_adam<T, true>(stream, call, dtype, step);
  });
}

int64_t kernels::adam_workspace(const dt_stream*, const calls::Adam& call) {
  return call.k * static_cast<int64_t>(sizeof(Corrections));
}

int32_t kernels::scale_by(const dt_stream* stream, const calls::ScaleBy& call) {
  if (!all_floating(call.x) || !is_floating(call.factor)) return DT_KERNEL_UNSUPPORTED;
  const DeviceNumber factor = device_number(call.factor);
  return for_both_types([&](auto type, int32_t dtype) {
    using T = typename decltype(type)::type;
    return for_each_pack<T, 1>({call.x.data}, call.k, dtype, [&](const Pack<1>& pack) {
      return launch(stream, scale_kernel<T>, dim3(pack.blocks), dim3(kThreads), 0, pack, factor);
    });
  });
}

}  // namespace dt::cuda
