// count_bins: how many elements lie in each bin, or whether any does.
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

// Calls use(bin) for elements [begin, end). find(bin, begin, n) writes the bins of n elements; the
// number behind the last of `bins` stands for none.
template <class Find, class Use>
void for_each_bin(int64_t bins, int64_t begin, int64_t end, const Find& find, const Use& use) {
  int64_t bin[kTile];
  for (int64_t n; begin < end; begin += n) {
    n = min(kTile, end - begin);
    find(bin, begin, n);
    for (int64_t i = 0; i < n; ++i) {
      if (bin[i] < bins) use(bin[i]);
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
  const auto in_pieces = [&](const auto& body) {
    parallel_for(stream, ceil_div(n, piece), n,
                 [&](int64_t i) { body(i * piece, min(n, (i + 1) * piece)); });
  };
  if (!holds<int64_t>(call.y.dtype)) {
    auto* const y = data<uint8_t>(call.y);
    const auto mark = [y](int64_t bin) { __atomic_store_n(y + bin, uint8_t{1}, __ATOMIC_RELAXED); };
    in_pieces([&](int64_t begin, int64_t end) { for_each_bin(bins, begin, end, find, mark); });
    return DT_KERNEL_OK;
  }
  int64_t* const y = data<int64_t>(call.y);
  if (bins > kFewBins || n < 2 * kTables * bins)
    for_each_bin(bins, 0, n, find, [y](int64_t bin) { ++y[bin]; });
  else
    in_pieces([&](int64_t begin, int64_t end) { count_few(y, bins, begin, end, find); });
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
  const auto bins = static_cast<uint64_t>(count(call.y)), first = static_cast<uint64_t>(call.first);
  return count_all(stream, call, [=](int64_t* bin, int64_t begin, int64_t n) {
    load_run(bin, data<const char>(x) + begin * bytes_of(x.dtype), x.dtype, 1, n);
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t number = static_cast<uint64_t>(bin[i]) - first;
      bin[i] = static_cast<int64_t>(number < bins ? number : bins);
    }
  });
}

}  // namespace dt::cpu
