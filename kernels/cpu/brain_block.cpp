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

// Rows from i on: those of a are packed as far as they are not known to be 0.
void multiply_rows(const BlockProduct<float>& p, int64_t i) {
  alignas(64) BrainPair a[BrainTiles::kRows * kMostPairs];
  alignas(64) float sums[BrainTiles::kRows * kBrainCols];
  const int64_t rows = min(BrainTiles::kRows, p.m - i), reach = i + rows + p.diagonal;
  int64_t k0 = 0, k1 = p.k;
  if (p.above == Above::kZero) k1 = max<int64_t>(0, min(p.k, reach));
  if (p.above == Above::kZeroFlipped) {
    k0 = max<int64_t>(0, min(p.k, i - p.diagonal));
    k0 -= k0 % (2 * BrainTiles::kPairs);
  }
  bool adds = p.adds;
  do {  // once even if nothing is added
    const int64_t count = max<int64_t>(0, min(2 * kMostPairs, k1 - k0));
    const int64_t pairs = packed_pairs<BrainTiles>(count);
    BrainTiles::pack_a(a, p.a + i * p.a_row + k0 * p.a_k, p.a_row, rows, p.a_k, count, pairs);
    for (int64_t j = 0; j < p.n && !(p.above == Above::kUnused && j >= reach); j += kBrainCols) {
      const auto* const b = reinterpret_cast<const BrainPair*>(p.b) +
                            j * packed_pairs<BrainTiles>(p.k) + k0 / 2 * kBrainCols;
      if (p.alpha == 1 && rows == BrainTiles::kRows && j + kBrainCols <= p.n) {
        BrainTiles::multiply(pairs, a, b, p.y + i * p.y_row + j, adds, p.y_row);
      } else {
        BrainTiles::multiply(pairs, a, b, sums, false);
        add_sums(p, sums, i, j, adds);
      }
    }
    adds = true;
    k0 += count;
  } while (k0 < k1);
}

void pack_brain(float* panels, const float* x, int64_t lane, int64_t along, int64_t k, int64_t n) {
  const int64_t pairs = packed_pairs<BrainTiles>(k);
  for (int64_t j = 0; j < n; j += kBrainCols) {
    pack_pairs(reinterpret_cast<BrainPair*>(panels) + j * pairs, kBrainCols, x + j * lane, lane,
               min(kBrainCols, n - j), along, k, pairs);
  }
}

}  // namespace

void multiply_brain_block(const BlockProduct<float>& p) {
  BrainTiles::begin();
  for (int64_t i = 0; i < p.m; i += BrainTiles::kRows) multiply_rows(p, i);
  BrainTiles::end();
}

void pack_brain_panels(float* panels, const float* x, int64_t row, int64_t k, int64_t n) {
  pack_brain(panels, x, 1, row, k, n);
}

void pack_brain_transposed(float* panels, const float* x, int64_t row, int64_t k, int64_t n) {
  pack_brain(panels, x, row, 1, k, n);
}

#elif defined(__AVX__)  // never called: no flag says that there are tiles

void multiply_brain_block(const BlockProduct<float>&) {}
void pack_brain_panels(float*, const float*, int64_t, int64_t, int64_t) {}
void pack_brain_transposed(float*, const float*, int64_t, int64_t, int64_t) {}

#endif

}  // namespace dt::cpu
