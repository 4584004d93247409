// What host code around the libraries needs to know about stream capture, and how it measures.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

// While a stream is captured nothing may wait for it, so nothing can be timed on it.
inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) != cudaSuccess ||
         status != cudaStreamCaptureStatusNone;
}

// Two events around work on a stream.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    if (cudaEventCreate(&start_) != cudaSuccess) start_ = nullptr;
    if (cudaEventCreate(&end_) != cudaSuccess) end_ = nullptr;
  }
  ~Stopwatch() {
    if (start_ != nullptr) cudaEventDestroy(start_);
    if (end_ != nullptr) cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Milliseconds that `count` runs of the work take; negative if anything failed.
  template <class Work>
  float milliseconds(int count, const Work& work) {
    float elapsed = -1;
    if (start_ == nullptr || end_ == nullptr) return elapsed;
    bool fine = cudaEventRecord(start_, stream_) == cudaSuccess;
    for (int i = 0; i < count && fine; ++i) fine = work();
    fine = fine && cudaEventRecord(end_, stream_) == cudaSuccess &&
           cudaEventSynchronize(end_) == cudaSuccess &&
           cudaEventElapsedTime(&elapsed, start_, end_) == cudaSuccess;
    return fine ? elapsed : -1;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
};

// Milliseconds of a run at its best; negative if it failed. What is clearly slower than `best` is
// not measured twice.
template <class Run>
float shortest_time(Stopwatch& watch, float best, const Run& run) {
  constexpr float kSlow = 1.5f, kLong = 20, kShort = 0.25f;  // a ratio; milliseconds
  constexpr int kMeasurements = 3, kRepeats = 5;
  // The first run loads the kernel, which can take longer than anything that is measured.
  if (watch.milliseconds(1, run) < 0) return -1;
  float time = watch.milliseconds(1, run);
  if (time < 0 || time > kSlow * best || time > kLong) return time;
  const int repeats = time < kShort ? kRepeats : 1;
  for (int i = 0; i < kMeasurements; ++i)
    time = std::min(time, watch.milliseconds(repeats, run) / static_cast<float>(repeats));
  return time;
}

// Which of `count` works is fastest; -1 if each failed. The first is the library's own choice:
// another one must be clearly faster, so that the choice, and with it the last bits of the
// results, does not hang on the noise of a measurement. `work(i)` starts work i on the stream and
// says whether that went well; it must do no harm when repeated. `times`, unless null, gets the
// milliseconds of each.
template <class Work>
int fastest(cudaStream_t stream, int count, const Work& work, float* times = nullptr) {
  constexpr float kClearly = 0.97f;
  Stopwatch watch(stream);
  int best = -1;
  float best_time = std::numeric_limits<float>::infinity();
  for (int i = 0; i < count; ++i) {
    const float time = shortest_time(watch, best_time, [&] { return work(i); });
    if (times != nullptr) times[i] = time;
    if (time >= 0 && time < kClearly * best_time) best = i, best_time = time;
  }
  cudaGetLastError();  // what a rejected candidate left behind
  return best;
}

}  // namespace dt::cuda
