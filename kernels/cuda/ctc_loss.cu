// Connectionist temporal classification: a block for each sequence, a thread for each state. Steps
// of time follow each other.
#include "kernels/calls/loss.gen.h"
#include "kernels/ctc.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
struct Batch {
  const T* log_probs;
  T* log_alpha;
  const int64_t *targets, *starts, *input_lengths, *target_lengths;
  int64_t strides[3];
  int64_t time, size, classes, room, entries, blank;
  Complaint complaint;

  template <class Call>
  Batch(const dt_stream* stream, const Call& call)
      : log_probs(static_cast<const T*>(call.log_probs.data)),
        log_alpha(static_cast<T*>(call.log_alpha.data)),
        targets(static_cast<const int64_t*>(call.targets.data)),
        starts(static_cast<const int64_t*>(call.starts.data)),
        input_lengths(static_cast<const int64_t*>(call.input_lengths.data)),
        target_lengths(static_cast<const int64_t*>(call.target_lengths.data)),
        strides{call.log_probs.strides[0], call.log_probs.strides[1], call.log_probs.strides[2]},
        time(call.log_probs.sizes[0]),
        size(call.log_probs.sizes[1]),
        classes(call.log_probs.sizes[2]),
        room(call.log_alpha.sizes[2]),
        entries(numel(call.targets)),
        blank(call.blank),
        complaint(stream, call) {}

  // The host has not looked at the lengths, for it would have to wait for them.
  __device__ __forceinline__ bool has_target(int64_t start, int64_t length) const {
    if (!complaint.accepts(length, room / 2 + 1)) return false;
    return length == 0 ||
           (complaint.accepts(start, entries) && complaint.accepts(start + length - 1, entries));
  }

  // Of this block. A target that is not all there, or has a bad class, counts as empty.
  __device__ __forceinline__ ctc::Sequence<T> sequence() const {
    const int64_t n = blockIdx.x, steps = input_lengths[n], length = target_lengths[n];
    ctc::Sequence<T> x = {log_probs + n * strides[1],
                          strides[0],
                          strides[2],
                          targets + starts[n],
                          blank,
                          complaint.accepts(steps, time + 1) ? steps : 0,
                          has_target(starts[n], length) ? length : 0};
    for (int64_t i = 0; i < x.length; ++i) {
      if (!complaint.accepts(x.target[i], classes)) x.length = 0;
    }
    return x;
  }
  __device__ __forceinline__ T* alpha(int64_t t) const {
    return log_alpha + (blockIdx.x * time + t) * room;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    forward(const __grid_constant__ Batch<T> batch, T* loss) {
  begin_kernel();
  const ctc::Sequence<T> x = batch.sequence();
  for (int64_t t = 0; t < x.steps; ++t) {
    const T* before = t > 0 ? batch.alpha(t - 1) : nullptr;
    for (int64_t s = threadIdx.x; s < x.states(); s += kThreads)
      batch.alpha(t)[s] = ctc::alpha(x, t, s, before);
    __syncthreads();
  }
  if (threadIdx.x == 0) loss[blockIdx.x] = ctc::loss(x, batch.alpha(x.steps > 0 ? x.steps - 1 : 0));
}

template <class T>
struct Backward {
  Batch<T> batch;
  T *gx, *rows;  // rows: two of backward variables for each sequence, which take turns
  const T *g, *loss;
  int64_t g_stride, loss_stride;
  bool zero_infinity;
};

// The first state of a class adds up all of that class, in their order.
template <class T>
__device__ void subtract_states(const ctc::Sequence<T>& x, int64_t t, const T* alpha, const T* beta,
                                T loss, T* row) {
  for (int64_t s = threadIdx.x; s < x.states(); s += kThreads) {
    const int64_t label = x.label(s);
    bool is_first = true;
    for (int64_t r = 0; r < s && is_first; ++r) is_first = x.label(r) != label;
    if (!is_first) continue;
    const T own = x.log_prob(t, label);
    T sum = row[label];
    for (int64_t r = s; r < x.states(); ++r) {
      if (x.label(r) == label) sum -= math::exp(alpha[r] + beta[r] + loss - own);
    }
    row[label] = sum;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) backward(const __grid_constant__ Backward<T> call) {
  begin_kernel();
  const Batch<T>& batch = call.batch;
  const int64_t n = blockIdx.x, classes = batch.classes, step = batch.size * classes;
  const ctc::Sequence<T> x = batch.sequence();
  const T loss = call.loss[n * call.loss_stride], g = call.g[n * call.g_stride];
  T* gx = call.gx + n * classes;
  const bool is_zero = call.zero_infinity && loss == math::kInfinity;
  const int64_t begin = is_zero ? 0 : x.steps;
  for (int64_t t = begin; t < batch.time; ++t) {
    for (int64_t c = threadIdx.x; c < classes; c += kThreads) gx[t * step + c] = 0;
  }
  const T nowhere = loss == math::kInfinity ? loss - loss : T(0);  // no path: NaN, as in PyTorch
  T *beta = call.rows + n * 2 * batch.room, *after = beta + batch.room;
  for (int64_t t = begin - 1; t >= 0; --t) {
    T* row = gx + t * step;
    for (int64_t c = threadIdx.x; c < classes; c += kThreads)
      row[c] = math::exp(x.log_prob(t, c)) + nowhere;
    for (int64_t s = threadIdx.x; s < x.states(); s += kThreads)
      beta[s] = ctc::beta(x, t, s, after);
    __syncthreads();
    subtract_states(x, t, batch.alpha(t), beta, loss, row);
    __syncthreads();
    for (int64_t c = threadIdx.x; c < classes; c += kThreads) row[c] *= g;
    T* const last = after;
    after = beta;
    beta = last;
  }
}

}  // namespace

int32_t kernels::ctc_loss(const dt_stream* stream, const calls::CtcLoss& call) {
  return visit_floating(call.loss.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return launch(stream, forward<T>, dim3(static_cast<unsigned>(call.log_probs.sizes[1])),
                  dim3(kThreads), 0, Batch<T>(stream, call), static_cast<T*>(call.loss.data));
  });
}

int32_t kernels::ctc_loss_backward(const dt_stream* stream, const calls::CtcLossBackward& call) {
  return visit_floating(call.gx.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const Backward<T> kernel = {Batch<T>(stream, call),
                                static_cast<T*>(call.gx.data),
                                static_cast<T*>(call.workspace),
                                static_cast<const T*>(call.g.data),
                                static_cast<const T*>(call.loss.data),
                                call.g.strides[0],
                                call.loss.strides[0],
                                call.zero_infinity};
    return launch(stream, backward<T>, dim3(static_cast<unsigned>(call.log_probs.sizes[1])),
                  dim3(kThreads), 0, kernel);
  });
}

int64_t kernels::ctc_loss_backward_workspace(const dt_stream*, const calls::CtcLossBackward& call) {
  return call.log_probs.sizes[1] * 2 * call.log_alpha.sizes[2] * bytes_of(call.gx.dtype);
}

}  // namespace dt::cuda
