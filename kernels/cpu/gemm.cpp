// Matrix products over arbitrary strides, blocked for the caches.
//
// Threads share nothing: a product is cut into parts, blocks of y, and whoever takes a part works
// it off alone, with packed copies of its own, which therefore stay in the caches of its core. A
// part walks over blocks of rows and of k. In a block it meets panels of b, kTileCols wide, which
// stay in the first-level cache while panels of a, up to kTileRows high, pass by from the second
// level. An operand whose strides the tile kernel cannot use well is packed first: b once, a block
// by block. How the work is cut does not change the order in which an element's products are added,
// so results do not depend on the number of threads.
#include "kernels/cpu/gemm.h"

#include "kernels/cpu/gemm_pack.h"
#include "kernels/cpu/gemm_parts.h"
#include "kernels/cpu_flags.h"

namespace dt::cpu {
namespace {

// How one part is worked off.
struct GemmPlan {
  int64_t height, a_panels, b_panels;  // panels of a are `height` rows high
  int64_t b_in_place;                  // the panels of b before this one are used where they are
  int64_t k_block;                     // how much of k a tile kernel works off at a time
  int64_t rows_per_block;              // whole panels
  int64_t batch_group, k_group;        // matrices and steps that share one packing of b
  bool pack_a;
};

// How much of b is packed at a time: what stays in the second-level cache until it is used, if y
// stays there too; else more, because each part of k costs a pass over y.
constexpr int64_t kNearBytes = int64_t{1} << 20, kFarBytes = int64_t{1} << 25;

// How much of k is packed at a time. Lanes that are contiguous are read as far as the panels reach,
// a few steps of k at a time, because reading a narrow strip of a wide matrix would touch a new
// page with every step; unless they are few pages.
template <class T>
inline int64_t pack_step(int64_t lane_stride, int64_t k_stride, int64_t k_count) {
  constexpr int64_t kFewPages = 131072;
  const int64_t bytes = k_count * k_stride * static_cast<int64_t>(sizeof(T));
  return lane_stride == 1 && bytes > kFewPages ? 8 : k_count;
}

// Calls pack(from, count, offset) for what of k lies in [begin, end) in steps, none of which
// reaches over the end of a piece; `offset` says where in memory a step begins.
template <class Pack>
inline void for_each_step(int64_t begin, int64_t end, int64_t step, int64_t piece, int64_t stride,
                          int64_t piece_stride, const Pack& pack) {
  for (int64_t k = begin, count = 0; k < end; k += count) {
    const int64_t whole = piece == 0 ? 0 : k / piece, inside = k - whole * piece;
    count = min(step, end - k);
    if (piece != 0) count = min(count, piece - inside);
    pack(k, count, whole * piece_stride + inside * stride);
  }
}

// Whether rows that lie `stride` elements apart crowd into a few sets of a first-level cache.
template <class T>
inline bool crowds_cache(int64_t stride) {
  return stride * static_cast<int64_t>(sizeof(T)) % 2048 == 0;
}

// Whether lines of a that lie so far apart crowd while tiles read them side by side. Half of a set
// has room for those that lie 2 KB apart, and one of twelve ways for the rows of an AVX-512 tile;
// small tiles spend too little time on a column to wait for the second level.
template <class T>
inline bool crowds_tile(const Gemm<T>& g, int64_t line) {
  const bool has_room = g.has_wide_cache && (g.a.col == 1 || kFetchInLoop);
  return !has_room && line * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
}

// a can stay where it is unless many panels of b will read it. Columns that are contiguous are read
// in strips, each from another cache line: they bear fewer readers than contiguous rows.
template <class T>
inline bool use_a_in_place(const Gemm<T>& g) {
  if (g.piece != 0) return false;
  if (g.n <= kTileCols<T>) return true;
  const int64_t line = g.a.col == 1 ? g.a.row : g.a.col;  // distance of two lines of a
  if (g.k * line * static_cast<int64_t>(sizeof(T)) <= 32768) return true;
  if (g.a.col != 1 && g.a.row != 1) return false;
  return !crowds_tile(g, line) && g.n <= (g.a.col == 1 ? 32 : 8) * kTileCols<T>;
}

constexpr int64_t kMostOfK = 256;  // terms that a tile kernel works off at a time
// From this size on b comes from memory, whose rate wide vectors outrun. For few rows of a, some
// rows of b are read side by side, each in the order in which it lies, as a processor foresees.
constexpr int64_t kFromMemory = kFetchInLoop ? int64_t{3} << 19 : Limits<int64_t>::kHighest;
constexpr int64_t kRowsFromMemory = 32;

template <class T>
inline int64_t bytes_of_b(const Gemm<T>& g) {
  return g.k * g.b.row * static_cast<int64_t>(sizeof(T));
}

// What holds for all parts of a product.
template <class T>
Gemm<T> with_ways(const dt_stream* stream, Gemm<T> g) {
  g.has_wide_cache = (stream->flags & DT_FLAG_TWELVE_WAYS) != 0;
  const bool streams = g.m <= 2 * kTileRows && g.b.col == 1 && bytes_of_b(g) >= kFromMemory;
  g.most_of_k = streams && g.piece == 0 ? kRowsFromMemory : kMostOfK;
  return g;
}

// b can stay where it is if its rows are contiguous, and it pays if few panels of a will read it or
// it is small.
template <class T>
inline bool use_b_in_place(const Gemm<T>& g) {
  if (g.b.col != 1 || g.piece != 0) return false;
  const int64_t bytes = bytes_of_b(g);
  if (g.m <= 2 * kTileRows) return bytes < kFromMemory || g.most_of_k == kRowsFromMemory;
  if (bytes <= 32768) return true;
  return g.m <= (bytes <= 262144 ? 12 : 6) * kTileRows && !crowds_cache<T>(g.b.row);
}

// A last panel of few columns is packed for a tile of one vector, whose whole reads may also stay
// inside of b.
template <class T>
inline int64_t panel_width(const Gemm<T>& g, int64_t panel) {
  return g.n - panel * kTileCols<T> <= kLanes<T> ? kLanes<T> : kTileCols<T>;
}

template <class T>
inline int64_t packed_lanes(const Gemm<T>& g, const GemmPlan& plan) {
  if (plan.b_in_place == plan.b_panels) return 0;
  const int64_t last = plan.b_panels - 1;
  return (last - plan.b_in_place) * kTileCols<T> + panel_width(g, last);
}

// Chooses how much of b is packed at a time.
template <class T>
void divide_packing(const Gemm<T>& g, GemmPlan* plan) {
  const int64_t lanes = packed_lanes(g, *plan);
  const int64_t y_bytes = g.m * g.n * static_cast<int64_t>(sizeof(T));
  const int64_t bytes = y_bytes <= kNearBytes ? kNearBytes : kFarBytes;
  const int64_t room = bytes / static_cast<int64_t>(sizeof(T)) / max<int64_t>(1, lanes);
  const bool is_whole = room >= g.k;
  plan->k_group = is_whole ? g.k : max<int64_t>(1, room / plan->k_block) * plan->k_block;
  plan->batch_group = is_whole && g.b.batch == 0 ? g.batch : 1;
}

constexpr int64_t kShortSum = 24, kShortSumBytes = 131072;  // terms; bytes of b

constexpr int64_t kMostPanels = 20;  // of a block of a, which fits into the second-level cache

// Blocks are of even height.
inline int64_t panels_per_block(int64_t a_panels) {
  return ceil_div(a_panels, ceil_div(a_panels, kMostPanels));
}

template <class T>
GemmPlan plan_gemm(const Gemm<T>& g) {
  GemmPlan plan = {};
  plan.height = ceil_div(g.m, ceil_div(g.m, kTileRows));
  plan.a_panels = ceil_div(g.m, plan.height);
  plan.b_panels = ceil_div(g.n, kTileCols<T>);
  // Tiles read whole vectors of b, so a last panel with an incomplete one is packed, with zeros
  // behind its columns.
  const bool is_whole = g.n % kTileCols<T> == kLanes<T>;
  plan.b_in_place = use_b_in_place(g) ? g.n / kTileCols<T> + is_whole : 0;
  const int64_t blocks = max<int64_t>(1, ceil_div(g.k, g.most_of_k));
  plan.k_block = max<int64_t>(1, ceil_div(g.k, blocks));
  plan.rows_per_block = plan.height * panels_per_block(plan.a_panels);
  plan.pack_a = !use_a_in_place(g);
  divide_packing(g, &plan);
  return plan;
}

template <class T>
struct GemmScratch {
  T *packed_b, *packed_a;

  GemmScratch(const Gemm<T>& g, const GemmPlan& plan, Workspace* workspace) {
    packed_b = workspace->take<T>(packed_lanes(g, plan) * plan.k_group);
    packed_a = workspace->take<T>(plan.pack_a ? plan.rows_per_block * plan.k_block : 0);
  }
};

// A panel of a or b from some k on. A lane is a row of a or a column of b.
template <class T>
struct Panel {
  const T* data;
  int64_t lane, k;  // strides
};

// What is multiplied with one packing of b: from one matrix of the batch on, a range of k.
template <class T>
struct GemmGroup {
  const Gemm<T>& g;
  const GemmPlan& plan;
  const GemmScratch<T>& scratch;
  int64_t batch_begin, k_begin, k_end;

  T* packed_b(int64_t panel, int64_t k) const {
    return scratch.packed_b + (panel - plan.b_in_place) * (k_end - k_begin) * kTileCols<T> +
           (k - k_begin) * panel_width(g, panel);
  }

  Panel<T> b_panel(int64_t batch, int64_t panel, int64_t k) const {
    if (panel >= plan.b_in_place) return {packed_b(panel, k), 1, panel_width(g, panel)};
    return {g.b.at(batch, k, panel * kTileCols<T>), g.b.col, g.b.row};
  }

  // Some rows of one matrix, in the block [k0, k1) of k.
  struct Block {
    int64_t batch, i0, i1, k0, k1;
  };

  void pack_b() const;
  Panel<T> pack_a(const Block& at) const;
  TileOutput<T> output(int64_t batch, int64_t i, int64_t j, int64_t k) const;
  Ahead<T> next_panel(const Block& at, int64_t j) const;
  Ahead<T> next_of_a(const Panel<T>& a, int64_t before, int64_t length) const;
  void tile(const Block& at, const Panel<T>& a, int64_t i, int64_t j, const Ahead<T>& ahead) const;
  void multiply_block(const Block& at, const Panel<T>& a) const;
  void multiply_rows(int64_t batch, int64_t i0) const;
};

template <class T>
void GemmGroup<T>::pack_b() const {
  const int64_t step = pack_step<T>(g.b.col, g.b.row, plan.k_block);
  const auto pack = [&](int64_t k, int64_t count, int64_t offset) {
    for (int64_t panel = plan.b_in_place; panel < plan.b_panels; ++panel) {
      const int64_t j = panel * kTileCols<T>;
      pack_panel(packed_b(panel, k), panel_width(g, panel), g.b.at(batch_begin, 0, j) + offset,
                 g.b.col, min<int64_t>(kTileCols<T>, g.n - j), g.b.row, count);
    }
  };
  for_each_step(k_begin, k_end, step, g.piece, g.b.row, g.b_piece, pack);
}

// The first panel of the block's rows of a; the others follow it at a distance of height * lane, or
// are packed densely.
template <class T>
Panel<T> GemmGroup<T>::pack_a(const Block& at) const {
  if (!plan.pack_a) return {g.a.at(at.batch, at.i0, at.k0), g.a.row, g.a.col};
  const int64_t step = pack_step<T>(g.a.row, g.a.col, at.k1 - at.k0);
  const auto pack = [&](int64_t k, int64_t count, int64_t offset) {
    for (int64_t i = at.i0; i < at.i1; i += plan.height) {
      T* panel = scratch.packed_a + (i - at.i0) * (at.k1 - at.k0);
      pack_panel(panel + (k - at.k0) * plan.height, plan.height, g.a.at(at.batch, i, 0) + offset,
                 g.a.row, min(plan.height, at.i1 - i), g.a.col, count);
    }
  };
  for_each_step(at.k0, at.k1, step, g.piece, g.a.col, g.a_piece, pack);
  return {scratch.packed_a, 1, plan.height};
}

// Where the sums of a tile go. All but the first block of k add to what is there; so does the first
// when y already holds beta * c.
template <class T>
TileOutput<T> GemmGroup<T>::output(int64_t batch, int64_t i, int64_t j, int64_t k) const {
  TileOutput<T> out = {g.y.at(batch, i, j), g.y.row, nullptr, 0, nullptr, g.alpha, T(1)};
  if (k == 0 && g.c.data != nullptr && g.c.col == 1) {
    out.c = g.c.at(batch, i, j), out.c_row = g.c.row, out.beta = g.beta;
  } else if (k > 0 || g.c.data != nullptr) {
    out.c = out.y, out.c_row = out.y_row;
  }
  return out;
}

// The tiles of one panel of b share the work of fetching the next one: of one that is packed each a
// piece, of one in place each a line of every row, which the processor does not foresee.
template <class T>
Ahead<T> GemmGroup<T>::next_panel(const Block& at, int64_t j) const {
  const int64_t next = j + kTileCols<T>, tiles = ceil_div(at.i1 - at.i0, plan.height);
  const int64_t panel = (next < g.n ? next : 0) / kTileCols<T>;
  if (panel < plan.b_in_place)
    return {b_panel(at.batch, panel, at.k0).data, kFetchInLoop ? g.b.row : 0, kLanes<T>};
  const int64_t step = ceil_div(kTileCols<T>, tiles);
  return {packed_b(panel, next < g.n ? at.k0 : at.k1), step, (at.k1 - at.k0) * step};
}

// What of a follows `before` rows. Rows side by side: a processor foresees few of so many short
// streams, and some of them are nearer than what is fetched in time. Expanded rows (of size 0) are
// there already. Strips of columns: each step reads another line, as far away as a whole row of a's
// memory, and the next tile's strip ends in a line that this one does not read.
template <class T>
Ahead<T> GemmGroup<T>::next_of_a(const Panel<T>& a, int64_t before, int64_t length) const {
  constexpr int64_t kLine = 64 / sizeof(T), kFar = 4096 / sizeof(T);
  const int64_t size = plan.height * a.lane, step = ceil_div(size, max<int64_t>(1, length));
  if (kFetchInLoop && !plan.pack_a && a.lane == 1)
    return {a.data + before + 2 * plan.height - 1, a.k};
  if (plan.pack_a || a.k != 1 || size == 0 || step > kLine) return {a.data, 0};
  return {a.data + before * a.lane + ceil_div(kFar, size) * size, step};
}

// One tile of the block, with rows from i and columns from j on.
template <class T>
void GemmGroup<T>::tile(const Block& at, const Panel<T>& a, int64_t i, int64_t j,
                        const Ahead<T>& ahead) const {
  const int64_t length = at.k1 - at.k0, before = i - at.i0;
  const T* const a_data = a.data + before * (plan.pack_a ? length : a.lane);
  const Panel<T> b = b_panel(at.batch, j / kTileCols<T>, at.k0);
  const int64_t rows = min(plan.height, at.i1 - i), cols = min<int64_t>(kTileCols<T>, g.n - j);
  const TileOutput<T> out = output(at.batch, i, j, at.k0);
  if (cols <= kLanes<T>) {
    outer_tile<T, 1>(rows, length, a_data, a.lane, a.k, b.data, EvenRows{b.k}, cols, out, ahead);
  } else {
    outer_tile<T, 2>(rows, length, a_data, a.lane, a.k, b.data, EvenRows{b.k}, cols, out, ahead);
  }
}

// y[i0:i1] (+)= alpha * a[i0:i1, k0:k1] @ b[k0:k1]. Short sums spend their time in writing y, which
// goes along its rows then, as far as panels of b stay in a near cache.
template <class T>
void GemmGroup<T>::multiply_block(const Block& at, const Panel<T>& a) const {
  const int64_t length = at.k1 - at.k0;
  if (length <= kShortSum && g.n > kTileCols<T>) {
    const int64_t panel_bytes = max<int64_t>(1, length) * kTileCols<T> * int64_t{sizeof(T)};
    const int64_t reach = kShortSumBytes / panel_bytes * kTileCols<T>;
    for (int64_t from = 0; from < g.n; from += reach) {
      const int64_t to = min(g.n, from + reach);
      for (int64_t i = at.i0; i < at.i1; i += plan.height) {
        for (int64_t j = from; j < to; j += kTileCols<T>)
          tile(at, a, i, j, j == 0 ? next_of_a(a, i - at.i0, length) : Ahead<T>{a.data, 0});
      }
    }
    return;
  }
  for (int64_t j = 0; j < g.n; j += kTileCols<T>) {
    Ahead<T> ahead = next_panel(at, j);
    for (int64_t i = at.i0; i < at.i1; i += plan.height) {
      if (j == 0) {  // a comes from memory; later panels find it in a cache
        const Ahead<T> of_a = next_of_a(a, i - at.i0, length);
        if (of_a.step != 0 || g.n <= kTileCols<T>) ahead = of_a;
      }
      tile(at, a, i, j, ahead);
      ahead.data += ahead.next;
    }
  }
}

// y = beta * c, for a c that the tile kernel cannot read in vectors.
template <class T>
void scale_c(const Gemm<T>& g, int64_t batch, int64_t i0, int64_t i1) {
  for (int64_t i = i0; i < i1; ++i) {
    for (int64_t j = 0; j < g.n; ++j) *g.y.at(batch, i, j) = g.beta * *g.c.at(batch, i, j);
  }
}

template <class T>
void GemmGroup<T>::multiply_rows(int64_t batch, int64_t i0) const {
  Block at = {batch, i0, min(i0 + plan.rows_per_block, g.m), k_begin, k_begin};
  if (k_begin == 0 && g.c.data != nullptr && g.c.col != 1) scale_c(g, batch, at.i0, at.i1);
  do {  // once even if k is empty: y = beta * c
    at.k1 = min(at.k0 + plan.k_block, k_end);
    multiply_block(at, pack_a(at));
    at.k0 = at.k1;
  } while (at.k0 < k_end);
  if (k_end == g.k) activate_block(g, batch, at.i0, at.i1, 0, g.n);
}

// The whole product, by the calling thread.
template <class T>
void run_part(const Gemm<T>& g, Workspace workspace) {
  const GemmPlan plan = plan_gemm(g);
  const GemmScratch<T> scratch(g, plan, &workspace);
  for (int64_t batch = 0; batch < g.batch; batch += plan.batch_group) {
    const int64_t batch_end = min(batch + plan.batch_group, g.batch);
    int64_t k = 0;
    do {
      const int64_t k_end = min(k + plan.k_group, g.k);
      const GemmGroup<T> group = {g, plan, scratch, batch, k, k_end};
      if (plan.b_in_place < plan.b_panels) group.pack_b();
      for (int64_t n = batch; n < batch_end; ++n) {
        for (int64_t i = 0; i < g.m; i += plan.rows_per_block) group.multiply_rows(n, i);
      }
      k = k_end;
    } while (k < g.k);
  }
}

// What any part may need: the last ones are smaller, and may be worked off in another way.
template <class T>
int64_t part_workspace(const Gemm<T>& g, const GemmParts& parts) {
  const auto to_last = [](int64_t count) { return max<int64_t>(1, count - 1); };
  int64_t bytes = 0;
  for (int64_t n = 0; n < parts.batch_parts; n += to_last(parts.batch_parts)) {
    for (int64_t r = 0; r < parts.row_parts; r += to_last(parts.row_parts)) {
      for (int64_t c = 0; c < parts.col_parts; c += to_last(parts.col_parts)) {
        const Gemm<T> part = part_at(g, parts, n, r, c);
        Workspace workspace(nullptr);
        GemmScratch<T>(part, plan_gemm(part), &workspace);
        bytes = max(bytes, workspace.bytes());
      }
    }
  }
  return bytes;
}

}  // namespace

template <class T>
int64_t gemm_workspace(const dt_stream* stream, const Gemm<T>& product) {
  const Gemm<T> g = with_ways(stream, product);
  const GemmParts parts = cut_gemm(stream, g);
  return min<int64_t>(parts.count(), stream->threads) * part_workspace(g, parts);
}

template <class T>
int64_t most_part_workspace(int64_t n, int64_t k) {
  Workspace workspace(nullptr);
  workspace.take<T>(ceil_div(n, kTileCols<T>) * kTileCols<T> * k);
  workspace.take<T>(kMostPanels * kTileRows * min(k, kMostOfK));
  return workspace.bytes();
}

template <class T>
void run_gemm(const dt_stream* stream, const Gemm<T>& product, void* workspace) {
  const Gemm<T> g = with_ways(stream, product);
  const GemmParts parts = cut_gemm(stream, g);
  const int64_t bytes = part_workspace(g, parts);
  char* const scratch = static_cast<char*>(workspace);
  for_each_item(stream, parts.count(), true, [&](int64_t index, int64_t worker) {
    const int64_t row = index % parts.row_parts, rest = index / parts.row_parts;
    run_part(part_at(g, parts, rest / parts.col_parts, row, rest % parts.col_parts),
             Workspace(scratch + worker * bytes));
  });
}

namespace {

// The tile of rows [i, i + rows) and of columns from j on.
template <class T>
void multiply_tile(const BlockProduct<T>& p, int64_t i, int64_t rows, int64_t j) {
  const int64_t cols = min<int64_t>(kTileCols<T>, p.n - j);
  const int64_t reach = i + rows + p.diagonal;  // behind what the last row has below the diagonal
  int64_t k0 = 0, k1 = p.k;
  if (p.above == Above::kUnused && j >= reach) return;
  if (p.above == Above::kZero) k1 = max<int64_t>(0, min(p.k, reach));
  if (p.above == Above::kZeroFlipped) k0 = max<int64_t>(0, min(p.k, i - p.diagonal));
  T* const y = p.y + i * p.y_row + j;
  const TileOutput<T> out = {y, p.y_row, p.adds ? y : nullptr, p.y_row, nullptr, p.alpha, T(1)};
  const T* const a = p.a + i * p.a_row + k0 * p.a_k;
  const T* const b = p.b + j * p.k + k0 * kTileCols<T>;
  const EvenRows b_rows = {kTileCols<T>};
  if (cols <= kLanes<T>) {
    outer_tile<T, 1>(rows, k1 - k0, a, p.a_row, p.a_k, b, b_rows, cols, out, Ahead<T>{b, 0});
  } else {
    outer_tile<T, 2>(rows, k1 - k0, a, p.a_row, p.a_k, b, b_rows, cols, out, Ahead<T>{b, 0});
  }
}

}  // namespace

template <class T>
void multiply_block(const BlockProduct<T>& p) {
  if (p.m == 0) return;
  const int64_t height = ceil_div(p.m, ceil_div(p.m, kTileRows));
  for (int64_t j = 0; j < p.n; j += kTileCols<T>) {
    for (int64_t i = 0; i < p.m; i += height) multiply_tile(p, i, min(height, p.m - i), j);
  }
}

template <class T>
int64_t panel_elements(int64_t k, int64_t n) {
  return k * ceil_div(n, kTileCols<T>) * kTileCols<T>;
}

template <class T>
void pack_panels(T* panels, const T* x, int64_t row, int64_t k, int64_t n) {
  for (int64_t j = 0; j < n; j += kTileCols<T>)
    pack_panel(panels + j * k, kTileCols<T>, x + j, 1, min<int64_t>(kTileCols<T>, n - j), row, k);
}

template <class T>
void pack_transposed(T* panels, const T* x, int64_t row, int64_t k, int64_t n) {
  for (int64_t j = 0; j < n; j += kTileCols<T>) {
    pack_panel(panels + j * k, kTileCols<T>, x + j * row, row, min<int64_t>(kTileCols<T>, n - j), 1,
               k);
  }
}

#define DT_BLOCKS(T)                                                  \
  template void multiply_block(const BlockProduct<T>&);               \
  template int64_t panel_elements<T>(int64_t, int64_t);               \
  template void pack_panels(T*, const T*, int64_t, int64_t, int64_t); \
  template void pack_transposed(T*, const T*, int64_t, int64_t, int64_t);
#if defined(__AVX__)  // attention has no kernels elsewhere
DT_BLOCKS(float)
DT_BLOCKS(double)
#endif
#undef DT_BLOCKS

template int64_t gemm_workspace(const dt_stream*, const Gemm<float>&);
template int64_t gemm_workspace(const dt_stream*, const Gemm<double>&);
template int64_t most_part_workspace<float>(int64_t, int64_t);
template int64_t most_part_workspace<double>(int64_t, int64_t);
template void run_gemm(const dt_stream*, const Gemm<float>&, void*);
template void run_gemm(const dt_stream*, const Gemm<double>&, void*);

}  // namespace dt::cpu
