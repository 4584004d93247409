// What all formats with tensors in them share: how elements come into a file and out of it.
#pragma once

#include <algorithm>
#include <string>

#include "core/tensor/callbacks.h"
#include "core/tensor/tensor.h"

namespace dt {

inline int64_t bytes_of(const Tensor& x) {
  return count_bytes(x.sizes(), x.numel(), x.dtype());
}

// The elements, row-major, in the processor's memory.
Tensor plain(const Tensor& x);

// Any byte but 0 and 1 is no bool: other code would read it in its own way.
void check_bools(const Tensor& x, const std::string& name);

// Names become C strings and text in other languages: they must be UTF-8 and have no NUL.
void check_name(const std::string& name);

// Moves bytes in pieces, tells how far it has come and stops when it is asked to.
class Meter {
 public:
  Meter(const Progress& progress, int64_t total) : progress_(progress), total_(total) { report(); }

  // Calls move(offset, n) for each piece of `bytes` bytes.
  template <class Move>
  void run(int64_t bytes, Move move) {
    for (int64_t at = 0; at < bytes; at += kPiece) {
      const int64_t n = std::min(kPiece, bytes - at);
      move(at, n);
      done_ += n;
      if (done_ - reported_ >= kPiece || done_ == total_) report();
    }
  }

 private:
  static constexpr int64_t kPiece = 16 << 20;

  void report() {
    reported_ = done_;
    const bool stop = progress_ && progress_(done_, total_);
    DT_CHECK(!stop, kCancelled, "the progress function asked to stop after ", done_, " of ", total_,
             " bytes");
  }

  const Progress& progress_;
  const int64_t total_;
  int64_t done_ = 0, reported_ = 0;
};

}  // namespace dt
