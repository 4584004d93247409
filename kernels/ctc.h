// Connectionist temporal classification: what all backends share. (Graves et al., "Connectionist
// temporal classification", ICML 2006.)
#pragma once

#include "kernels/math.h"

namespace dt::ctc {

// One sequence. A state is a class of the target or one of the blanks around them.
template <class T>
struct Sequence {
  const T* log_probs;  // of its first step
  int64_t time_step, class_step;
  const int64_t* target;
  int64_t blank, steps, length;  // of the target

  DT_MATH int64_t states() const { return 2 * length + 1; }
  DT_MATH int64_t label(int64_t state) const { return state % 2 == 0 ? blank : target[state / 2]; }
  DT_MATH T log_prob(int64_t t, int64_t label) const {
    return log_probs[t * time_step + label * class_step];
  }
  // Whether a path may leave out the blank between two states, the later one being `state`.
  DT_MATH bool skips_to(int64_t state) const {
    return state >= 2 && label(state) != label(state - 2);
  }
};

// log(exp(a) + exp(b) + exp(c)).
template <class T>
DT_MATH T log_sum(T a, T b, T c) {
  const T pair = a < b ? b : a, top = pair < c ? c : pair;
  if (top == -math::kInfinity) return a + b + c;  // one may be NaN
  return math::log(math::exp(a - top) + math::exp(b - top) + math::exp(c - top)) + top;
}

// The forward variable of a state, of those of the step before.
template <class T>
DT_MATH T alpha(const Sequence<T>& x, int64_t t, int64_t s, const T* before) {
  const T none = -math::kInfinity, own = x.log_prob(t, x.label(s));
  if (t == 0) return s < 2 ? own : none;
  return own +
         log_sum(before[s], s > 0 ? before[s - 1] : none, x.skips_to(s) ? before[s - 2] : none);
}

// The backward variable of a state, of those of the step after.
template <class T>
DT_MATH T beta(const Sequence<T>& x, int64_t t, int64_t s, const T* after) {
  const T none = -math::kInfinity, own = x.log_prob(t, x.label(s));
  const int64_t states = x.states();
  if (t == x.steps - 1) return s >= states - 2 ? own : none;
  return own + log_sum(after[s], s + 1 < states ? after[s + 1] : none,
                       s + 2 < states && x.skips_to(s + 2) ? after[s + 2] : none);
}

// Of the last step's forward variables.
template <class T>
DT_MATH T loss(const Sequence<T>& x, const T* last) {
  const T none = -math::kInfinity;
  if (x.steps == 0) return x.length == 0 ? T(0) : -none;
  return -log_sum(last[x.states() - 1], x.length > 0 ? last[x.states() - 2] : none, none);
}

}  // namespace dt::ctc
