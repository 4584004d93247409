// Depthwise convolutions of small images in planes by way of a stage in which channels lie side by
// side, as conv_depthwise.h takes them: of rows that do not fill vectors, what is done at their
// ends would be most of the time.
#pragma once

#include "kernels/cpu/conv_depthwise.h"

namespace dt::cpu {
namespace {

// Correlations of the same images, of which each output has one: those of a gradient's phases. Some
// channels of an image at a time are copied to the stage, and what they come to from there.
template <class T>
class PlaneStage {
 public:
  static constexpr int kMostPhases = DepthwisePhases<T>::kMost;

  // Rows whose outputs fill a line are better read where they are, and so is what is only scaled.
  // The stage and its results stay in the second-level cache. Phases agree: of several, no taps
  // count.
  static bool serves(const Correlation<T>& k) {
    constexpr int64_t kMost = (256 << 10) / (kChannels * int64_t{sizeof(T)});
    const int64_t width = k.cols.in_step * 64 / int64_t{sizeof(T)};
    const bool is_scaled = k.rows.out_step * k.cols.out_step == 1 && k.rows.taps * k.cols.taps == 1;
    return kHasDepthwise && k.groups >= kLanes<T> / 4 && k.y.w < width && !is_scaled &&
           k.x.h * k.x.w <= kMost && k.y.h * k.y.w <= kMost - k.x.h * k.x.w;
  }

  PlaneStage(const dt_stream* stream, const Correlation<T>* phases, int count, Workspace workspace)
      : phases_(phases),
        count_(count),
        x_(phases[0].x),
        y_(phases[0].y),
        channels_(min(kChannels, phases[0].groups)) {
    for (int p = 0; p < count; ++p) taps_ = max(taps_, phases[p].rows.taps * phases[p].cols.taps);
    Workspace area(nullptr);
    take_stage(&area);
    for (int p = 0; p < kMostPhases; ++p) area.take<T>((taps_ + 1) * channels_);
    area_size_ = area.bytes() / int64_t{sizeof(T)};
    areas_ = workspace.take<T>(stream->threads * area_size_);
    bytes_ = workspace.bytes();
  }

  int64_t bytes() const { return bytes_; }

  void run(const dt_stream* stream) const {
    const int64_t groups = phases_[0].groups, pixels = y_.h * y_.w;
    const int64_t images = min(y_.n, max<int64_t>(1, kItem / (channels_ * pixels)));
    const int64_t parts = ceil_div(y_.n, images);
    const int64_t cycles = y_.n * groups * (pixels * (taps_ + 4) + x_.h * x_.w * 4) / kLanes<T>;
    for_each_item(stream, ceil_div(groups, channels_) * parts, worth_threads(stream, cycles),
                  [&](int64_t item, int64_t worker) {
                    const int64_t c = item / parts * channels_, n = item % parts * images;
                    run_item(c, min(channels_, groups - c), n, min(y_.n, n + images),
                             areas_ + worker * area_size_);
                  });
  }

 private:
  static constexpr int64_t kChannels = 2 * kLanes<T>;
  static constexpr int64_t kItem = 8192;  // elements of the output that an item has at least

  // The stage, and the results behind it.
  T* take_stage(Workspace* area) const {
    area->take<T>(channels_ * x_.h * x_.w);
    return area->take<T>(channels_ * y_.h * y_.w);
  }

  void run_item(int64_t c, int64_t channels, int64_t begin, int64_t end, T* area) const {
    Workspace rest(area);
    T* const results = take_stage(&rest);
    Correlation<T> staged[kMostPhases];
    const T* weights[kMostPhases];
    for (int p = 0; p < count_; ++p) {
      Correlation<T>& k = staged[p] = phases_[p];
      k.groups = channels;
      k.x = {area, 1, channels, x_.h, x_.w, 0, 1, x_.w * channels, channels};
      k.y = {results, 1, channels, y_.h, y_.w, 0, 1, y_.w * channels, channels};
      k.weights.data += c * k.weights.group_step;
      if (k.bias != nullptr) k.bias += c * k.bias_step;
      weights[p] = pack_depthwise(k, &rest);
    }
    for (int64_t n = begin; n < end; ++n) {
      for_each_line(x_, [&](int64_t row, int64_t pixels) {
        copy_transposed(area + row * x_.w * channels, channels, x_.at(n, c, row, 0), x_.c_step,
                        channels, pixels);
      });
      for (int p = 0; p < count_; ++p) {
        for (int64_t i = 0; i < staged[p].rows.out_count; ++i)
          depthwise_row(staged[p], 0, i, weights[p]);
      }
      for_each_line(y_, [&](int64_t row, int64_t pixels) {
        copy_transposed(y_.at(n, c, row, 0), y_.c_step, results + row * y_.w * channels, channels,
                        pixels, channels);
      });
    }
  }

  // Rows that follow each other are one.
  template <class Element, class Body>
  static void for_each_line(const Images<Element>& images, const Body& body) {
    if (images.h_step == images.w) return body(int64_t{0}, images.h * images.w);
    for (int64_t i = 0; i < images.h; ++i) body(i, images.w);
  }

  const Correlation<T>* phases_;
  int count_;
  const Images<const T>& x_;
  const Images<T>& y_;
  int64_t channels_, taps_ = 0, area_size_, bytes_;
  T* areas_;
};

}  // namespace
}  // namespace dt::cpu
