// index, index_put, index_select, index_add and index_sum. All index values are checked before
// anything is written.
#include "kernels/cpu/index.h"
#include "kernels/cpu/index_read.h"

namespace dt::cpu {
namespace {

// ---- writing: strictly in logical order, since indices may repeat

struct Assign {
  template <class T>
  static T apply(T, T value, T) {
    return value;
  }
};

struct Accumulate {
  template <class T>
  static T apply(T old, T value, T alpha) {
    using Wide = Widened<T>;
    return static_cast<T>(static_cast<Wide>(old) +
                          static_cast<Wide>(alpha) * static_cast<Wide>(value));
  }
};

// bool's addition.
struct Unite {
  template <class T>
  static T apply(T old, T value, T alpha) {
    return old | (alpha & value);
  }
};

// y += alpha * x, for runs that are often shorter than a few vectors.
template <class T>
void accumulate_run(T* y, const T* x, int64_t n, T alpha) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T);
  const Vector<T> factor = alpha - Vector<T>{};
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(y + i, load(y + i) + factor * load(x + i));
  if (i == n) return;
  store_few(y + i, load_first(y + i, n - i) + factor * load_first(x + i, n - i), n - i);
}

template <class Op, class T>
void write_run(T* y, int64_t y_stride, const T* x, int64_t x_stride, int64_t n, T alpha) {
  if constexpr (std::is_same_v<Op, Accumulate> && !kIsNarrowFloat<T> && sizeof(T) >= 4) {
    // What a masked store wrote is slow to come back, if the same few elements are next.
    const bool fills = 2 * n * static_cast<int64_t>(sizeof(T)) >= kVectorBytes;
    if (fills && y_stride == 1 && x_stride == 1) return accumulate_run(y, x, n, alpha);
  } else if (y_stride == 1 && x_stride == 1) {
    if constexpr (std::is_same_v<Op, Assign>) return copy_run(y, x, n);
    for (int64_t i = 0; i < n; ++i) y[i] = Op::apply(y[i], x[i], alpha);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    y[i * y_stride] = Op::apply(y[i * y_stride], x[i * x_stride], alpha);
}

// `offsets` has room for a tile of them. If they are known, it has those of the whole list already.
template <class Op, class T>
void write_list(const IndexPlan& plan, const IndexLists& lists, const IndexWalk& walk, T* y,
                const T* x, T alpha, int64_t* offsets, bool known) {
  const int64_t x_step = lists.plain_step(plan);
  x += walk.plain;
  y += walk.indexed;
  for (int64_t first = 0; first < lists.size; first += kIndexTile) {
    const int64_t n = min(kIndexTile, lists.size - first);
    if (!known) selected_offsets(plan, lists.list, walk, first, n, offsets);
    const T* from = x + first * x_step;
    if (lists.run == 1) {
      for (int64_t i = 0; i < n; ++i)
        y[offsets[i]] = Op::apply(y[offsets[i]], from[i * x_step], alpha);
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      write_run<Op>(y + offsets[i], lists.indexed_stride, from + i * x_step, lists.plain_stride,
                    lists.run, alpha);
    }
  }
}

// The part of a plan with positions [begin, end) of dimension d, and where its operands start.
struct Part {
  IndexPlan plan;
  int64_t plain, indexed;

  Part(const IndexPlan& whole, int d, int64_t begin, int64_t end) : plan(whole) {
    plan.sizes[d] = end - begin;
    plain = begin * plan.plain[d];
    indexed = begin * plan.indexed[d];
  }
};

// The largest dimension along which only slices lie and the destination moves (an expanded index
// lets it stand still): its positions never write the same element.
inline int independent_dim(const IndexPlan& plan) {
  int best = -1;
  for (int d = 0; d < plan.ndim; ++d) {
    if (is_slice(plan, d) && plan.indexed[d] != 0 &&
        (best < 0 || plan.sizes[d] >= plan.sizes[best]))
      best = d;
  }
  return best;
}

template <class Op, class T>
void write_elements(const dt_stream* stream, const IndexPlan& plan, T* y, const T* x, T alpha) {
  const int d = independent_dim(plan);
  const int64_t size = d < 0 ? 1 : plan.sizes[d];
  // A tile walks all indices, so there are only as many as keep the threads busy. Their number does
  // not change a bit.
  const int64_t wanted = stream->threads > 1 ? 2 * stream->threads : 1;
  const int64_t width = max<int64_t>(ceil_div(size, wanted), d == plan.ndim - 1 ? 16 : 1);
  parallel_for(stream, ceil_div(size, width), plan.count(), [&](int64_t tile) {
    const Part part(plan, max(d, 0), d < 0 ? 0 : tile * width,
                    d < 0 ? plan.sizes[0] : min(size, (tile + 1) * width));
    const IndexLists lists(part.plan);
    IndexWalk walk(part.plan, max(lists.list, 0), 0);
    int64_t offsets[kIndexTile];
    const bool same = lists.fixed && lists.size <= kIndexTile;
    for (int64_t i = 0; i < lists.count; ++i, walk.next()) {
      write_list<Op>(part.plan, lists, walk, y + part.indexed, x + part.plain, alpha, offsets,
                     same && i > 0);
    }
  });
}

template <class Op, class T>
int32_t write_typed(const dt_stream* stream, const IndexPlan& plan, const dt_view& y,
                    const dt_view& x, T alpha) {
  write_elements<Op>(stream, plan, data<T>(y), data<const T>(x), alpha);
  return DT_KERNEL_OK;
}

int32_t assign(const dt_stream* stream, const IndexPlan& plan, const dt_view& y, const dt_view& x) {
  if (plan.count() == 0) return DT_KERNEL_OK;
  return visit_width(y.dtype, [&](auto type) {
    return write_typed<Assign, typename decltype(type)::type>(stream, plan, y, x, 0);
  });
}

// y += alpha * x. Integers wrap around: their arithmetic is unsigned.
int32_t accumulate(const dt_stream* stream, const IndexPlan& plan, const dt_view& y,
                   const dt_view& x, double alpha) {
  if (plan.count() == 0) return DT_KERNEL_OK;
  return visit_any(y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsBool<T>) {
      return write_typed<Unite, uint8_t>(stream, plan, y, x, alpha != 0);
    } else {
      return write_typed<Accumulate, WrapAround<T>>(stream, plan, y, x,
                                                    number_as<WrapAround<T>>(true, alpha, 0));
    }
  });
}

// Makes a contiguous tensor zero.
void clear(const dt_stream* stream, const dt_view& y) {
  constexpr int64_t kChunk = 1 << 16;  // bytes
  const int64_t bytes = count(y) * bytes_of(y.dtype);
  parallel_for(stream, ceil_div(bytes, kChunk), bytes / 4, [&](int64_t tile) {
    __builtin_memset(static_cast<char*>(y.data) + tile * kChunk, 0,
                     static_cast<size_t>(min(kChunk, bytes - tile * kChunk)));
  });
}

// ---- kernels

template <class Call>
bool check_indices(const dt_stream* stream, const Call& call) {
  for (int64_t k = 0; k < call.k; ++k) {
    if (!check_index(stream, call.index[k], -call.size[k], call.size[k])) return false;
  }
  return true;
}

// The size of dimension `dim`; a 0-d tensor behaves as if it had one of size 1.
int64_t size_of(const dt_view& x, int64_t dim) {
  return x.ndim == 0 ? 1 : x.sizes[dim];
}

}  // namespace

int32_t gather_slices(const dt_stream* stream, const calls::Gather& call) {
  return read(stream, plan_gather(call.y, call.x, call.index, call.dim), call.y, call.x);
}

int32_t kernels::index(const dt_stream* stream, const calls::Index& call) {
  if (!check_indices(stream, call)) return DT_KERNEL_INDEX;
  const IndexPlan plan = plan_index(call.y, call.x, call.index, call.size, call.stride);
  return read(stream, plan, call.y, call.x);
}

int32_t kernels::index_put(const dt_stream* stream, const calls::IndexPut& call) {
  const dt_view &y = call.y, &values = call.values;
  if (!check_indices(stream, call)) return DT_KERNEL_INDEX;
  const IndexPlan plan = plan_index(values, y, call.index, call.size, call.stride);
  return call.accumulate ? accumulate(stream, plan, y, values, 1) : assign(stream, plan, y, values);
}

int32_t kernels::index_select(const dt_stream* stream, const calls::IndexSelect& call) {
  if (!check_index(stream, call.index, 0, size_of(call.x, call.dim))) return DT_KERNEL_INDEX;
  return read(stream, plan_select(call.y, call.x, call.index, call.dim), call.y, call.x);
}

int32_t kernels::index_add(const dt_stream* stream, const calls::IndexAdd& call) {
  if (!check_index(stream, call.index, 0, size_of(call.y, call.dim))) return DT_KERNEL_INDEX;
  const IndexPlan plan = plan_select(call.source, call.y, call.index, call.dim);
  return accumulate(stream, plan, call.y, call.source, call.alpha);
}

int32_t kernels::index_sum(const dt_stream* stream, const calls::IndexSum& call) {
  if (!check_index(stream, call.index, 0, size_of(call.y, call.dim))) return DT_KERNEL_INDEX;
  clear(stream, call.y);
  const IndexPlan plan = plan_select(call.source, call.y, call.index, call.dim);
  return accumulate(stream, plan, call.y, call.source, 1);
}

}  // namespace dt::cpu
