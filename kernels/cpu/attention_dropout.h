// Dropout of attention's weights, whose numbers are those of the dropout kernel on a matrix of all
// weights: a function of the place alone, so that forward and backward agree whatever their blocks.
#pragma once

#include "kernels/cpu/attention_block.h"
#include "kernels/cpu/random_bits.h"

namespace dt::cpu {
namespace {

// The numbers of a row of a block of weights. A Philox block has those of four weights, and the row
// may begin within one.
struct RowNumbers {
  static constexpr int64_t kMost = 4 * kBlocks;
  static_assert(kMostKeys + 3 <= kMost, "a row has room");

  uint32_t bits[kMost];
};

template <class T>
class WeightDropout {
 public:
  template <class Call>
  explicit WeightDropout(const Call& call)
      : drops_(call.state != nullptr),
        rule_(call.p),
        keys_(drops_ ? data<uint64_t>(*call.state)[0] : 0),
        first_(drops_ ? data<uint64_t>(*call.state)[1] + static_cast<uint64_t>(call.advance) : 0),
        heads_(call.query.sizes[1]),
        queries_(call.query.sizes[2]),
        row_(call.key.sizes[2]) {}

  bool drops() const { return drops_; }

  // The numbers of the first n weights of row i, and what is made of these, or of what has their
  // places.
  __attribute__((noinline)) const uint32_t* draw(RowNumbers& numbers, const ScoreBlock& at,
                                                 int64_t i, int64_t n) const {
    const int64_t query = (at.batch * heads_ + at.head) * queries_ + at.query + i;
    const int64_t place = query * row_ + at.key, before = place % 4;
    make_bits<Order::kElements>(numbers.bits, first_ + static_cast<uint64_t>(place / 4), keys_,
                                ceil_div(before + n, 4));
    return numbers.bits + before;
  }
  void apply(T* x, const uint32_t* numbers, int64_t n) const { rule_.apply(x, x, numbers, n); }

 private:
  bool drops_;
  DropRule<T> rule_;
  RoundKeys keys_;
  uint64_t first_;
  int64_t heads_, queries_, row_;
};

}  // namespace
}  // namespace dt::cpu
