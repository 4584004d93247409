// count_bins: how many elements lie in each bin.
//
// Whose bin an element is in is found for a tile at a time, in vectors. Where bins are few and
// elements many, neighbours are counted in tables of their own: one that was counted just now would
// have to be waited for.
#include "kernels/calls/sorting.gen.h"
#include "kernels/cpu/convert.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 512, kTilesPerPiece = 128;
constexpr int64_t kTables = 4, kFewBins = 512;

// Counts elements [begin, end). find(bin, begin, n) writes the bins of n elements; the number
// behind the last of `bins` stands for none.
template <class Find>
void count_piece(int64_t* y, int64_t bins, int64_t begin, int64_t end, const Find& find) {
  int64_t bin[kTile];
  for (int64_t n; begin < end; begin += n) {
    n = min(kTile, end - begin);
    find(bin, begin, n);
    for (int64_t i = 0; i < n; ++i) {
      if (bin[i] < bins) ++y[bin[i]];
    }
  }
}

template <class Find>
void count_few(int64_t* y, int64_t bins, int64_t begin, int64_t end, const Find& find) {
  static_assert(kTile % kTables == 0, "the tables take turns");
  int64_t bin[kTile], tables[kTables][kFewBins + 1];
  for (auto& table : tables) {
    for (int64_t i = 0; i <= bins; ++i) table[i] = 0;
  }
  for (int64_t n; begin < end; begin += n) {
    n = min(kTile, end - begin);
    find(bin, begin, n);
    int64_t i = 0;
    for (; i + kTables <= n; i += kTables) {
#pragma GCC unroll 4
      for (int64_t k = 0; k < kTables; ++k) ++tables[k][bin[i + k]];
    }
    for (; i < n; ++i) ++tables[0][bin[i]];
  }
  for (int64_t i = 0; i < bins; ++i) {
    int64_t sum = 0;
    for (const auto& table : tables) sum += table[i];
    __atomic_fetch_add(y + i, sum, __ATOMIC_RELAXED);
  }
}

template <class Find>
int32_t count_all(const dt_stream* stream, const calls::CountBins& call, const Find& find) {
  const int64_t n = count(call.x), bins = count(call.y), piece = kTile * kTilesPerPiece;
  int64_t* const y = data<int64_t>(call.y);
  if (bins > kFewBins || n < 2 * kTables * bins) {
    count_piece(y, bins, 0, n, find);
  } else {
    parallel_for(stream, ceil_div(n, piece), n,
                 [&](int64_t i) { count_few(y, bins, i * piece, min(n, (i + 1) * piece), find); });
  }
  return DT_KERNEL_OK;
}

// Bins of equal width, in the steps that an op for each would take.
template <class T>
int32_t count_equal(const dt_stream* stream, const calls::CountBins& call) {
  const T* const x = data<const T>(call.x);
  const T low = static_cast<T>(call.low), high = static_cast<T>(call.high);
  const int64_t bins = count(call.y);
  const T number = static_cast<T>(bins);
  return count_all(stream, call, [=](int64_t* bin, int64_t begin, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const T element = x[begin + i], place = (element - low) * number / (high - low);
      const bool is_inside = (element >= low) & (element <= high);
      // What overflows is past the last bin; 0 / 0, of bounds that rounding made one, is the first.
      const bool is_last = place >= number, is_first = !(place >= T(0)) | !is_inside;
      const auto found = static_cast<int64_t>(is_last | is_first ? T(0) : place);
      bin[i] = !is_inside ? bins : is_last ? bins - 1 : found;
    }
  });
}

}  // namespace

int32_t kernels::count_bins(const dt_stream* stream, const calls::CountBins& call) {
  const dt_view& x = call.x;
  if (call.equal) {
    return visit_floating(x.dtype, [&](auto type) {
      return count_equal<typename decltype(type)::type>(stream, call);
    });
  }
  const auto bins = static_cast<uint64_t>(count(call.y));
  return count_all(stream, call, [=](int64_t* bin, int64_t begin, int64_t n) {
    load_run(bin, data<const char>(x) + begin * bytes_of(x.dtype), x.dtype, 1, n);
    for (int64_t i = 0; i < n; ++i) {
      const auto number = static_cast<uint64_t>(bin[i]);
      bin[i] = static_cast<int64_t>(number < bins ? number : bins);
    }
  });
}

}  // namespace dt::cpu
