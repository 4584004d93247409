// What host code around the libraries needs to know about stream capture, and how it measures.
#pragma once

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

// Which of `count` works is fastest; -1 if each failed. The first is the library's own choice:
// another one must be clearly faster, so that the choice, and with it the last bits of the
// results, does not hang on the noise of a measurement. `work(i)` starts work i on the stream and
// says whether that went well; it must do no harm when repeated.
template <class Work>
int fastest(cudaStream_t stream, int count, const Work& work) {
  constexpr float kEnough = 0.25f, kClearly = 0.95f;  // milliseconds; ratio
  constexpr int kRepeats = 5;
  Stopwatch watch(stream);
  int best = -1;
  float best_time = 0;
  for (int i = 0; i < count; ++i) {
    const auto run = [&] { return work(i); };
    // The first run loads the kernel, so only a long one is a measurement.
    float time = watch.milliseconds(1, run);
    if (time >= 0 && time < 4 * kEnough) {
      time = watch.milliseconds(1, run);
      if (time >= 0 && time < kEnough) time = watch.milliseconds(kRepeats, run) / kRepeats;
    }
    if (time < 0) continue;
    if (best < 0 || time < kClearly * best_time) best = i, best_time = time;
  }
  cudaGetLastError();  // what a rejected candidate left behind
  return best;
}

}  // namespace dt::cuda
