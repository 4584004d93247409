// nll_loss of log-probabilities [N, C, S] against classes [N, S], and its gradient. A position is a
// pair (n, s). Few elements are read, so numbers are doubles, whatever holds them.
#include "kernels/cpu/nll_loss_once.h"

#include <string.h>

#include <atomic>

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 4096;         // positions
constexpr int64_t kClearBytes = 65536;  // of a gradient, cleared at a time

// Elements of a floating dtype.
struct Floats {
  void* data;
  int32_t dtype;

  explicit Floats(const dt_view& view) : data(view.data), dtype(view.dtype) {}

  double load(int64_t i) const {
    double value = 0;
    visit_stored_floating(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      value = static_cast<double>(static_cast<Widened<T>>(static_cast<const T*>(data)[i]));
    });
    return value;
  }
  void store(int64_t i, double value) const {
    visit_stored_floating(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      static_cast<T*>(data)[i] = static_cast<T>(static_cast<Widened<T>>(value));
    });
  }
};

struct Targets {
  const int64_t* data;
  const dt_view* weight;  // or null
  int64_t n_stride, s_stride, count, size, classes, ignore_index;

  // Of either kernel's call; `x` is the operand [N, C, S].
  template <class Call>
  Targets(const Call& call, const dt_view& x)
      : data(cpu::data<const int64_t>(call.target)),
        weight(call.weight),
        n_stride(call.target.strides[0]),
        s_stride(call.target.strides[1]),
        count(x.sizes[0] * x.sizes[2]),
        size(x.sizes[2]),
        classes(x.sizes[1]),
        ignore_index(call.ignore_index) {}

  int64_t tiles() const { return ceil_div(count, kTile); }
  double weight_of(int64_t t) const { return weight ? Floats(*weight).load(t) : 1; }
  bool is_valid(int64_t t) const { return t >= 0 && t < classes; }

  // Calls body(n, s, target) for the positions of a tile.
  template <class Body>
  void for_each(int64_t tile, const Body& body) const {
    const int64_t begin = tile * kTile, end = min(count, begin + kTile);
    int64_t n = begin / size, s = begin - n * size;
    for (int64_t i = begin; i < end; ++i) {
      body(n, s, data[n * n_stride + s * s_stride]);
      if (++s == size) ++n, s = 0;
    }
  }

  // What the kernel returns; of targets that are not all right the first that is no class is the
  // fault.
  int32_t verdict(const dt_stream* stream, bool all_right) const {
    bool is_found = all_right;
    for (int64_t tile = 0; !is_found && tile < tiles(); ++tile) {
      for_each(tile, [&](int64_t, int64_t, int64_t t) {
        if (is_found || t == ignore_index || is_valid(t)) return;
        stream->fault->index = t;
        stream->fault->size = classes;
        is_found = true;
      });
    }
    return all_right ? DT_KERNEL_OK : DT_KERNEL_INDEX;
  }
};

// What a reduced loss is made of: sums over the positions that count, of their losses and weights.
struct LossSums {
  double loss, weight;
};

// Positions whose elements are fetched together: they lie far apart, so none waits for another.
constexpr int64_t kTogether = 64;

// The losses of a tile. Each is stored only if they are not reduced.
template <class T>
LossSums losses_of(const calls::NllLoss& call, const Targets& targets, int64_t tile,
                   std::atomic<bool>* all_right) {
  const Floats y(call.loss);
  const T* const x = data<const T>(call.x);
  const int64_t x_n = call.x.strides[0], x_c = call.x.strides[1], x_s = call.x.strides[2];
  const int64_t y_n = call.loss.strides[0], y_s = call.loss.strides[1];
  const Targets of = targets;  // a copy, which no loss that is stored might be part of
  const int64_t begin = tile * kTile, end = min(of.count, begin + kTile);
  const bool reduces = call.reduces, has_weight = of.weight != nullptr;
  double losses = 0, weights = 0;
  int64_t n = begin / of.size, s = begin - n * of.size, target[kTogether], place[kTogether];
  const T* element[kTogether];  // null: not picked
  double value[kTogether];
  bool is_right = true;
  for (int64_t first = begin; first < end; first += kTogether) {
    const int64_t count = min(kTogether, end - first);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t t = of.data[n * of.n_stride + s * of.s_stride];
      const bool is_class = of.is_valid(t), is_ignored = t == of.ignore_index;
      is_right &= is_class | is_ignored;
      element[i] = is_class & !is_ignored ? x + (n * x_n + t * x_c + s * x_s) : nullptr;
      target[i] = t, place[i] = n * y_n + s * y_s;
      if (++s == of.size) ++n, s = 0;
    }
    for (int64_t i = 0; i < count; ++i)
      value[i] = element[i] ? static_cast<double>(static_cast<Widened<T>>(*element[i])) : 0;
    for (int64_t i = 0; i < count; ++i) {
      if (element[i] == nullptr) continue;
      const double weight = has_weight ? of.weight_of(target[i]) : 1;
      value[i] *= -weight;
      weights += weight, losses += value[i];
    }
    for (int64_t i = 0; !reduces && i < count; ++i) y.store(place[i], value[i]);
  }
  if (!is_right) all_right->store(false, std::memory_order_relaxed);
  return {losses, weights};
}

void store_reduced(const calls::NllLoss& call, const LossSums* sums, int64_t tiles) {
  LossSums total = {0, 0};
  for (int64_t tile = 0; tile < tiles; ++tile) {
    total.loss += sums[tile].loss;
    total.weight += sums[tile].weight;
  }
  const bool divides = call.divisor != nullptr;
  Floats(call.loss).store(0, divides ? total.loss / total.weight : total.loss);
  if (divides) Floats(*call.divisor).store(0, total.weight);
}

// Makes a contiguous operand zero.
void clear(const dt_stream* stream, const dt_view& y) {
  const int64_t bytes = count(y) * bytes_of(y.dtype);
  char* const memory = data<char>(y);
  parallel_for(stream, ceil_div(bytes, kClearBytes), bytes / 16, [&](int64_t tile) {
    const int64_t begin = tile * kClearBytes;
    memset(memory + begin, 0, static_cast<size_t>(min(kClearBytes, bytes - begin)));
  });
}

}  // namespace
}  // namespace dt::cpu

using namespace dt::cpu;

int32_t dt_pick_losses(const dt_stream* stream, const dt::calls::NllLoss& call) {
  const Targets targets(call, call.x);
  const int64_t tiles = targets.tiles();
  LossSums one = {0, 0};
  LossSums* const sums = tiles > 1 && call.reduces ? static_cast<LossSums*>(call.workspace) : &one;
  std::atomic<bool> all_right{true};
  parallel_for(stream, tiles, 8 * targets.count, [&](int64_t tile) {
    dt::visit_stored_floating(call.x.dtype, [&](auto type) {
      const LossSums of_tile =
          losses_of<typename decltype(type)::type>(call, targets, tile, &all_right);
      if (call.reduces) sums[tile] = of_tile;
    });
  });
  if (call.reduces) store_reduced(call, sums, tiles);
  return targets.verdict(stream, all_right);
}

// The sums of the tiles.
int64_t dt_pick_losses_workspace(const dt::calls::NllLoss& call) {
  const int64_t tiles = Targets(call, call.x).tiles();
  return call.reduces && tiles > 1 ? tiles * static_cast<int64_t>(sizeof(LossSums)) : 0;
}

int32_t dt_pick_losses_backward(const dt_stream* stream, const dt::calls::NllLossBackward& call) {
  const Targets targets(call, call.gx);
  const Floats g(call.g), gx(call.gx);
  const int64_t* const g_stride = call.g.strides;
  const double divisor = call.divisor ? Floats(*call.divisor).load(0) : 1;
  clear(stream, call.gx);
  std::atomic<bool> all_right{true};
  parallel_for(stream, targets.tiles(), 8 * targets.count, [&](int64_t tile) {
    targets.for_each(tile, [&](int64_t n, int64_t s, int64_t t) {
      if (t == targets.ignore_index) return;
      if (!targets.is_valid(t)) return all_right.store(false, std::memory_order_relaxed);
      const double grad =
          call.g.immediate ? call.g.number.f : g.load(n * g_stride[0] + s * g_stride[1]);
      gx.store((n * targets.classes + t) * targets.size + s,
               -targets.weight_of(t) * (grad / divisor));
    });
  });
  return targets.verdict(stream, all_right);
}
