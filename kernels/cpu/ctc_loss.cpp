// Connectionist temporal classification: sequences in parallel, each in the order of time.
#include "kernels/calls/loss.gen.h"
#include "kernels/cpu/workers.h"
#include "kernels/ctc.h"

namespace dt::cpu {
namespace {

template <class T, class Call>
class Batch {
 public:
  explicit Batch(const Call& call) : call_(call) {}

  int64_t size() const { return call_.log_probs.sizes[1]; }
  int64_t classes() const { return call_.log_probs.sizes[2]; }
  int64_t room() const { return call_.log_alpha.sizes[2]; }  // for states
  T* alpha(int64_t n, int64_t t) const {
    return data<T>(call_.log_alpha) + (n * call_.log_alpha.sizes[1] + t) * room();
  }
  int64_t cycles() const { return 60 * count(call_.log_alpha) + count(call_.log_probs); }

  ctc::Sequence<T> operator[](int64_t n) const {
    const dt_view& x = call_.log_probs;
    return {data<const T>(x) + n * x.strides[1],
            x.strides[0],
            x.strides[2],
            data<const int64_t>(call_.targets) + data<const int64_t>(call_.starts)[n],
            call_.blank,
            min(data<const int64_t>(call_.input_lengths)[n], x.sizes[0]),
            min(data<const int64_t>(call_.target_lengths)[n], room() / 2)};
  }

 private:
  const Call& call_;
};

template <class T>
bool targets_are_valid(const dt_stream* stream, const Batch<T, calls::CtcLoss>& batch) {
  for (int64_t n = 0; n < batch.size(); ++n) {
    const ctc::Sequence<T> x = batch[n];
    for (int64_t i = 0; i < x.length; ++i) {
      if (x.target[i] >= 0 && x.target[i] < batch.classes()) continue;
      stream->fault->index = x.target[i];
      stream->fault->size = batch.classes();
      return false;
    }
  }
  return true;
}

template <class T>
int32_t forward(const dt_stream* stream, const calls::CtcLoss& call) {
  const Batch<T, calls::CtcLoss> batch(call);
  if (!targets_are_valid(stream, batch)) return DT_KERNEL_INDEX;
  for_each_item(stream, batch.size(), worth_threads(stream, batch.cycles()),
                [&](int64_t n, int64_t) {
                  const ctc::Sequence<T> x = batch[n];
                  for (int64_t t = 0; t < x.steps; ++t) {
                    const T* before = t > 0 ? batch.alpha(n, t - 1) : nullptr;
                    T* alpha = batch.alpha(n, t);
                    for (int64_t s = 0; s < x.states(); ++s) alpha[s] = ctc::alpha(x, t, s, before);
                  }
                  const int64_t last = x.steps > 0 ? x.steps - 1 : 0;
                  data<T>(call.loss)[n] = ctc::loss(x, batch.alpha(n, last));
                });
  return DT_KERNEL_OK;
}

// The backward variables lie in two rows, which take turns.
template <class T>
void sequence_backward(const calls::CtcLossBackward& call,
                       const Batch<T, calls::CtcLossBackward>& batch, int64_t n, T* beta,
                       T* after) {
  const ctc::Sequence<T> x = batch[n];
  const int64_t classes = batch.classes(), step = batch.size() * classes;
  const T loss = data<const T>(call.loss)[n * call.loss.strides[0]];
  const T g = data<const T>(call.g)[n * call.g.strides[0]];
  T* gx = data<T>(call.gx) + n * classes;
  const bool is_zero = call.zero_infinity && loss == math::kInfinity;
  const int64_t begin = is_zero ? 0 : x.steps;
  for (int64_t t = begin; t < call.gx.sizes[0]; ++t) {
    for (int64_t c = 0; c < classes; ++c) gx[t * step + c] = 0;
  }
  const T nowhere = loss == math::kInfinity ? loss - loss : T(0);  // no path: NaN, as in PyTorch
  for (int64_t t = begin - 1; t >= 0; --t) {
    T* row = gx + t * step;
    const T* alpha = batch.alpha(n, t);
    for (int64_t c = 0; c < classes; ++c) row[c] = math::exp(x.log_prob(t, c)) + nowhere;
    for (int64_t s = 0; s < x.states(); ++s) {
      beta[s] = ctc::beta(x, t, s, after);
      const int64_t label = x.label(s);
      row[label] -= math::exp(alpha[s] + beta[s] + loss - x.log_prob(t, label));
    }
    for (int64_t c = 0; c < classes; ++c) row[c] *= g;
    T* const last = after;
    after = beta;
    beta = last;
  }
}

template <class T>
void backward(const dt_stream* stream, const calls::CtcLossBackward& call) {
  const Batch<T, calls::CtcLossBackward> batch(call);
  T* rows = static_cast<T*>(call.workspace);
  for_each_item(stream, batch.size(), worth_threads(stream, batch.cycles()),
                [&](int64_t n, int64_t worker) {
                  T* beta = rows + worker * 2 * batch.room();
                  sequence_backward(call, batch, n, beta, beta + batch.room());
                });
}

}  // namespace

int32_t kernels::ctc_loss(const dt_stream* stream, const calls::CtcLoss& call) {
  return visit_floating(call.loss.dtype, [&](auto type) {
    return forward<typename decltype(type)::type>(stream, call);
  });
}

int32_t kernels::ctc_loss_backward(const dt_stream* stream, const calls::CtcLossBackward& call) {
  return visit_floating(call.gx.dtype,
                        [&](auto type) { backward<typename decltype(type)::type>(stream, call); });
}

int64_t kernels::ctc_loss_backward_workspace(const dt_stream* stream,
                                             const calls::CtcLossBackward& call) {
  return stream->threads * 2 * call.log_alpha.sizes[2] * bytes_of(call.gx.dtype);
}

}  // namespace dt::cpu
