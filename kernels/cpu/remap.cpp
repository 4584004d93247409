// Elements that come from elsewhere along some dimensions: padding, and resizing by repetition.
// Lines along the innermost axis are copied, or added up, by one table of where they come from.
#include "kernels/remap.h"

#include "kernels/calls/vision.gen.h"
#include "kernels/cpu/copy_run.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// Lines of y and what they are made of.
struct LineSources {
  int64_t n, y_step, x_step;
  int64_t* source;     // -1: none
  int64_t begin, end;  // neighbours here, which come from neighbours

  LineSources(const remap::Axis<int64_t>& axis, Workspace* memory)
      : n(axis.map.to),
        y_step(axis.y_step),
        x_step(axis.x_step),
        source(memory->take<int64_t>(axis.map.to)),
        begin(0),
        end(0) {
    if (!source) return;
    for (int64_t i = 0; i < n; ++i) source[i] = axis.map.source(i);
    if (y_step == 1 && x_step == 1 && axis.map.mode != RemapMode::kNearest)
      begin = axis.map.before, end = begin + axis.map.from;
  }

  // body(i, its source) for all but the neighbours.
  template <class Body>
  void for_each_other(const Body& body) const {
    for (int64_t i = 0; i < begin; ++i) body(i, source[i]);
    for (int64_t i = end; i < n; ++i) body(i, source[i]);
  }
};

// Ranges of the outermost axis, where they are independent: f(begin, end).
template <class F>
void in_ranges(const dt_stream* stream, const remap::RemapPlan<int64_t>& plan, int64_t work,
               const F& f) {
  const remap::Axis<int64_t>& outermost = plan.axis[plan.n - 1];
  const bool splits = plan.n > 1 && outermost.map.is_plain();
  const int64_t n = outermost.size;
  const int64_t tasks =
      splits && worth_threads(stream, work) ? min<int64_t>(n, stream->threads * 8) : 1;
  parallel_for(stream, tasks, work,
               [&](int64_t task) { f(splits, n * task / tasks, n * (task + 1) / tasks); });
}

// ---- forwards

template <class T>
struct Forward {
  remap::RemapPlan<int64_t> plan;
  LineSources lines;

  // `from` is null where nothing is.
  void line(T* y, const T* from) const {
    if (!from) {
      for (int64_t i = 0; i < lines.n; ++i) y[i * lines.y_step] = T(0);
      return;
    }
    copy_run(y + lines.begin, from + lines.begin - plan.axis[0].map.before,
             lines.end - lines.begin);
    lines.for_each_other([&](int64_t i, int64_t at) {
      y[i * lines.y_step] = at < 0 ? T(0) : from[at * lines.x_step];
    });
  }

  void fill(int a, T* y, const T* from) const {
    if (a == 0) return line(y, from);
    fill(a, 0, plan.axis[a].size, y, from);
  }

  // Whether lines that are neighbours on both sides are one run: such as the pixels of an image
  // with channels last.
  bool runs_on() const {
    const remap::Axis<int64_t>& axis = plan.axis[1];
    return lines.end - lines.begin == lines.n && axis.y_step == lines.n && axis.x_step == lines.n &&
           axis.map.mode != RemapMode::kNearest && axis.map.from > 0;
  }

  // Elements [begin, end) of an axis. A line that is its neighbour again is copied from there.
  void fill(int a, int64_t begin, int64_t end, T* y, const T* from) const {
    const remap::Axis<int64_t>& axis = plan.axis[a];
    int64_t last = -2;
    for (int64_t i = begin; i < end; ++i) {
      T* const to = y + i * axis.y_step;
      int64_t at = axis.map.source(i);
      if (a == 1 && from && i == axis.map.before && runs_on()) {
        copy_run(to, from, axis.map.from * lines.n);
        at = axis.map.from - 1, i += at;
      } else if (a == 1 && at == last && lines.y_step == 1) {
        copy_run(to, to - axis.y_step, lines.n);
      } else {
        fill(a - 1, to, from && at >= 0 ? from + at * axis.x_step : nullptr);
      }
      last = at;
    }
  }
};

// ---- gradients

template <class T>
struct Backward {
  remap::RemapPlan<int64_t> plan;
  LineSources lines;

  void clear(int a, T* gx) const {
    const remap::Axis<int64_t>& axis = plan.axis[a];
    if (a == 0 && axis.x_step == 1) {
      __builtin_memset(gx, 0, static_cast<size_t>(axis.size) * sizeof(T));
      return;
    }
    for (int64_t j = 0; j < axis.size; ++j) {
      T* const at = gx + j * axis.x_step;
      if (a == 0) {
        *at = T(0);
      } else {
        clear(a - 1, at);
      }
    }
  }

  void add_line(T* gx, const T* g) const {
    T* const to = gx - plan.axis[0].map.before;
    for (int64_t i = lines.begin; i < lines.end; ++i) to[i] += g[i];
    lines.for_each_other([&](int64_t i, int64_t at) {
      if (at >= 0) gx[at * lines.x_step] += g[i * lines.y_step];
    });
  }

  // What the elements of an axis are made of gets their gradients, in their order.
  void add(int a, T* gx, const T* g) const {
    if (a == 0) return add_line(gx, g);
    const remap::Axis<int64_t>& axis = plan.axis[a];
    for (int64_t i = 0; i < axis.map.to; ++i) {
      const int64_t at = axis.map.source(i);
      if (at >= 0) add(a - 1, gx + at * axis.x_step, g + i * axis.y_step);
    }
  }

  void run(bool splits, int64_t begin, int64_t end, T* gx, const T* g) const {
    const int last = plan.n - 1;
    if (!splits) return clear(last, gx), add(last, gx, g);
    for (int64_t i = begin; i < end; ++i) {
      T* const to = gx + i * plan.axis[last].x_step;
      clear(last - 1, to);
      add(last - 1, to, g + i * plan.axis[last].y_step);
    }
  }
};

}  // namespace

int32_t kernels::remap(const dt_stream* stream, const calls::Remap& call) {
  if (count(call.y) == 0) return DT_KERNEL_OK;
  return visit_width(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto plan = remap::RemapPlan<int64_t>::of_y(call, call.y, call.x);
    Workspace memory(call.workspace);
    const Forward<T> forward = {plan, LineSources(plan.axis[0], &memory)};
    in_ranges(stream, plan, count(call.y), [&](bool splits, int64_t begin, int64_t end) {
      T* const y = data<T>(call.y);
      const T* const x = data<const T>(call.x);
      if (splits) return forward.fill(plan.n - 1, begin, end, y, x);
      forward.fill(plan.n - 1, y, x);
    });
  });
}

int64_t kernels::remap_workspace(const dt_stream*, const calls::Remap& call) {
  Workspace sizes(nullptr);
  LineSources(remap::RemapPlan<int64_t>::of_y(call, call.y, call.x).axis[0], &sizes);
  return sizes.bytes();
}

int32_t kernels::remap_backward(const dt_stream* stream, const calls::RemapBackward& call) {
  if (count(call.gx) == 0) return DT_KERNEL_OK;
  return visit_floating(call.gx.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto plan = remap::RemapPlan<int64_t>::of_x(call, call.g, call.gx);
    Workspace memory(call.workspace);
    const Backward<T> backward = {plan, LineSources(plan.axis[0], &memory)};
    in_ranges(stream, plan, count(call.g), [&](bool splits, int64_t begin, int64_t end) {
      backward.run(splits, begin, end, data<T>(call.gx), data<const T>(call.g));
    });
  });
}

int64_t kernels::remap_backward_workspace(const dt_stream*, const calls::RemapBackward& call) {
  Workspace sizes(nullptr);
  LineSources(remap::RemapPlan<int64_t>::of_x(call, call.g, call.gx).axis[0], &sizes);
  return sizes.bytes();
}

}  // namespace dt::cpu
