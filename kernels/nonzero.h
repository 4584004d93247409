// How nonzero cuts its elements into chunks. They are counted first, at the same time; when the sum
// of the counts is known, and with it how much room the coordinates take, every chunk is read again
// and writes its own.
#pragma once

#include <stdint.h>

namespace dt {

struct NonzeroChunks {
  static constexpr int64_t kMost = 8192, kGrain = 2048;
  int64_t elements, per_chunk, chunks;  // at least one chunk

  explicit NonzeroChunks(int64_t elements) : elements(elements) {
    const int64_t grains = (elements + kGrain - 1) / kGrain;
    per_chunk = kGrain * (grains > kMost ? (grains + kMost - 1) / kMost : 1);
    chunks = elements > 0 ? (elements + per_chunk - 1) / per_chunk : 1;
  }

  int64_t begin(int64_t chunk) const { return chunk * per_chunk; }
  int64_t end(int64_t chunk) const {
    return chunk + 1 < chunks ? (chunk + 1) * per_chunk : elements;
  }
};

}  // namespace dt
