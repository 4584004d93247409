#include "kernels/cpu/brain_block.h"

#include "kernels/cpu/brain_tile.h"

namespace dt::cpu {

#if defined(__AVX512F__)

namespace {

constexpr int64_t kMostPairs = 128;  // of a that are packed at a time

// y (+)= alpha * sums, of which rows and cols are the first.
inline void add_sums(const BlockProduct<float>& p, const float* sums, int64_t i, int64_t j,
                     bool adds) {
  const int64_t rows = min(BrainTiles::kRows, p.m - i), cols = min(kBrainCols, p.n - j);
  for (int64_t r = 0; r < rows; ++r) {
    float* const y = p.y + (i + r) * p.y_row + j;
    for (int64_t c = 0; c < cols; c += kLanes<float>) {
      const int64_t n = min<int64_t>(kLanes<float>, cols - c);
      VectorF32 v = load(sums + r * kBrainCols + c) * p.alpha;
      if (adds) v += load_first(y + c, n);
      store_first(y + c, v, n);
    }
  }
}

const BrainPair* panel_at(const BlockProduct<float>& p, int64_t j, int64_t k) {
  return reinterpret_cast<const BrainPair*>(p.b) + j * packed_pairs<BrainTiles>(p.k) +
         k / 2 * kBrainCols;
}

// Some rows of a, packed for one unit or the other as far as one of them holds, and their products
// with panels of b.
class RowsForTiles {
 public:
  static constexpr int64_t kRows = BrainTiles::kRows;

  void pack(const BlockProduct<float>& p, int64_t i, int64_t rows, int64_t k, int64_t count) {
    pairs_ = packed_pairs<BrainTiles>(count);
    BrainTiles::pack_a(a_, p.a + i * p.a_row + k * p.a_k, p.a_row, rows, p.a_k, count, pairs_);
  }

  void multiply(const BlockProduct<float>& p, int64_t i, int64_t rows, int64_t j, int64_t k,
                bool adds) const {
    const BrainPair* const b = panel_at(p, j, k);
    if (p.alpha == 1 && rows == kRows && j + kBrainCols <= p.n) {
      BrainTiles::multiply(pairs_, a_, b, p.y + i * p.y_row + j, adds, p.y_row);
    } else {
      alignas(64) float sums[kRows * kBrainCols];
      BrainTiles::multiply(pairs_, a_, b, sums, false);
      add_sums(p, sums, i, j, adds);
    }
  }

 private:
  alignas(64) BrainPair a_[kRows * kMostPairs];
  int64_t pairs_;
};

class RowsForVectors {
 public:
  static constexpr int64_t kRows = BrainVectors::kRows;

  void pack(const BlockProduct<float>& p, int64_t i, int64_t rows, int64_t k, int64_t count) {
    pairs_ = ceil_div(count, 2);
    BrainVectors::pack_a(a_, p.a + i * p.a_row + k * p.a_k, p.a_row, rows, p.a_k, count, pairs_);
    rows_ = BrainVectors::rows_at(a_, p.a_k, pairs_, 0);
  }

  void multiply(const BlockProduct<float>& p, int64_t i, int64_t rows, int64_t j, int64_t k,
                bool adds) const {
    const int64_t cols = min(kBrainCols, p.n - j);
    BrainVectors::multiply(rows, pairs_, rows_, panel_at(p, j, k),
                           {p.y + i * p.y_row + j, p.y_row, cols, p.alpha, adds});
  }

 private:
  alignas(64) BrainPair a_[kRows * (kMostPairs + 16)];
  BrainRows rows_;
  int64_t pairs_;
};

// Rows from i on: those of a are packed as far as they are not known to be 0.
template <class Rows>
void multiply_rows(const BlockProduct<float>& p, int64_t i, int64_t rows) {
  Rows a;
  const int64_t reach = i + rows + p.diagonal;
  int64_t k0 = 0, k1 = p.k;
  if (p.above == Above::kZero) k1 = max<int64_t>(0, min(p.k, reach));
  if (p.above == Above::kZeroFlipped) {
    k0 = max<int64_t>(0, min(p.k, i - p.diagonal));
    k0 -= k0 % (2 * BrainTiles::kPairs);
  }
  bool adds = p.adds;
  do {  // once even if nothing is added
    const int64_t count = max<int64_t>(0, min(2 * kMostPairs, k1 - k0));
    a.pack(p, i, rows, k0, count);
    for (int64_t j = 0; j < p.n && !(p.above == Above::kUnused && j >= reach); j += kBrainCols)
      a.multiply(p, i, rows, j, k0, adds);
    adds = true;
    k0 += count;
  } while (k0 < k1);
}

// Rows in groups that are as even as they can be.
template <class Rows>
void multiply_groups(const BlockProduct<float>& p) {
  if (p.m == 0) return;
  const int64_t height = ceil_div(p.m, ceil_div(p.m, Rows::kRows));
  for (int64_t i = 0; i < p.m; i += height) multiply_rows<Rows>(p, i, min(height, p.m - i));
}

void pack_brain(float* panels, const float* x, int64_t lane, int64_t along, int64_t k, int64_t n) {
  const int64_t pairs = packed_pairs<BrainTiles>(k);
  for (int64_t j = 0; j < n; j += kBrainCols) {
    pack_pairs(reinterpret_cast<BrainPair*>(panels) + j * pairs, kBrainCols, x + j * lane, lane,
               min(kBrainCols, n - j), along, k, pairs);
  }
}

}  // namespace

void multiply_brain_block(BrainUnit unit, const BlockProduct<float>& p) {
  if (unit == BrainUnit::kVectors) return multiply_groups<RowsForVectors>(p);
  BrainTiles::begin();
  for (int64_t i = 0; i < p.m; i += BrainTiles::kRows)
    multiply_rows<RowsForTiles>(p, i, min(BrainTiles::kRows, p.m - i));
  BrainTiles::end();
}

void pack_brain_panels(float* panels, const float* x, int64_t row, int64_t k, int64_t n) {
  pack_brain(panels, x, 1, row, k, n);
}

void pack_brain_transposed(float* panels, const float* x, int64_t row, int64_t k, int64_t n) {
  pack_brain(panels, x, row, 1, k, n);
}

#elif defined(__AVX__)  // never called: no flag says that there is a unit

void multiply_brain_block(BrainUnit, const BlockProduct<float>&) {}
void pack_brain_panels(float*, const float*, int64_t, int64_t, int64_t) {}
void pack_brain_transposed(float*, const float*, int64_t, int64_t, int64_t) {}

#endif

}  // namespace dt::cpu
