// Selection by a sample (R. W. Floyd, R. L. Rivest, Comm. ACM 18 (1975), 165), of floats of up to
// 32 bits: a sorted sample of a row says between which two keys the wanted element lies, all but
// surely. The row is read once: what lies between them is listed in shared memory, the rest is only
// counted. The wanted element is then found in the list by digits, and what comes first is sorted
// there.
//
// What a row has is always selected exactly. Counts say whether the sample was wrong, or a list too
// short; then the row is read again, a digit at a time (digit_select.cuh). Of many elements that
// are equal to the wanted one the first are looked for in the row, as far as needed.
//
// A row belongs to a block, or, where rows are few, to a cluster: its first block gets the others'
// lists and counts.
#include "kernels/cuda/row_sample.cuh"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/digit_select.cuh"
#include "kernels/cuda/sort_network.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kMostOfThread = 4;    // elements of a thread that are sorted in its registers
constexpr int kBlocksTogether = 3;  // on a multiprocessor
constexpr int kWidest = 4;      // bytes of an element; wider ones would need kernels of their own
constexpr uint32_t kFew = 256;  // candidates that are compared with each other

// An element by its key, and by its position, which tells equal ones apart.
template <class Key>
struct alignas(8) Candidate {
  Key key;
  uint32_t position;
  __device__ __forceinline__ bool operator<(const Candidate& other) const {
    return key < other.key || (key == other.key && position < other.position);
  }
};

// Bytes of shared memory: three such blocks leave room in a multiprocessor's, and CUDA grants them
// unasked. Each warp has a list of its own.
constexpr uint32_t kCandidateBytes = 8;
constexpr uint32_t kListOfWarp = 28 * 1024 / kCandidateBytes / kWarps;
constexpr uint32_t kMostChosen = 16 * 1024 / kCandidateBytes;

struct Sampled {
  Select exact;
  int size_bits;  // of the size of the sample, which is a power of two
  int low, high;  // places in the sorted sample; -1 and its size: there is no such border
};

// Elements that are not listed: less than the lower border, no more than it, as the upper one, NaN.
struct Tally {
  uint32_t less, below, equal, nan;

  // A template, since what is none must have a use, also where there is no code of the kernel.
  template <class All>
  __device__ __forceinline__ void add_to(All* all) const {
    if (less > 0) atomicAdd(&all->less, less);
    if (below > 0) atomicAdd(&all->below, below);
    if (equal > 0) atomicAdd(&all->equal, equal);
    if (nan > 0) atomicAdd(&all->nan, nan);
  }
};

// What a block has in shared memory.
template <class T>
struct Space {
  using Element = Candidate<KeyOf<T>>;
  static_assert(sizeof(Element) == kCandidateBytes);

  Element listed[kWarps][kListOfWarp];
  union {
    KeyOf<T> sample[kMostOfThread * kThreads];
    Counts counts;
    Element chosen[kMostChosen];
  };
  uint32_t of_warp[kWarps];  // listed, or more if there was no room
  Tally tally;
  uint32_t choices;
};

template <class T>
__device__ __forceinline__ Space<T>& shared_space() {
  __shared__ Space<T> space;
  return space;
}

// ---- sorting in shared memory

// Compares neighbouring halves of runs, the elements whose numbers differ in the bits of `mask`.
template <class W>
__device__ __forceinline__ void put_in_order(W* words, uint32_t size, uint32_t half,
                                             uint32_t mask) {
  for (uint32_t pair = threadIdx.x; pair < size / 2; pair += kThreads) {
    const uint32_t i = 2 * pair - (pair & (half - 1)), j = i ^ mask;
    const W first = words[i], second = words[j];
    if (second < first) words[i] = second, words[j] = first;
  }
  if (half > kWarp)
    __syncthreads();
  else
    __syncwarp();
}

// The network of sort_network.cuh where words stay in shared memory: few keep few warps busy. Where
// halves are no longer than a warp, its pairs stay among the same words.
template <class W>
__device__ __forceinline__ void sort_few(W* words, uint32_t size) {
  for (uint32_t run = 2; run <= size; run *= 2) {
    if (run / 2 > kWarp) __syncthreads();
    put_in_order(words, size, run / 2, run - 1);
    for (uint32_t half = run / 4; half > 0; half /= 2) put_in_order(words, size, half, half);
  }
}

// As many words as threads, or twice or four times as many: between these are most of the steps,
// and no more than registers are exchanged in them.
template <int kItems, class W>
__device__ __noinline__ void sort_many(W* words) {
  W word[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) word[i] = words[threadIdx.x * kItems + i];
  __syncthreads();
  Network<W, kThreads, kItems>::sort(word, words);
#pragma unroll
  for (int i = 0; i < kItems; ++i) words[threadIdx.x * kItems + i] = word[i];
}

// Of a power of two, which may be as much as kMost.
template <uint32_t kMost, class W>
__device__ __forceinline__ void sort_words(W* words, uint32_t size) {
  static_assert(kMost <= kMostOfThread * kThreads);
  if (size < kThreads)
    sort_few(words, size);
  else if (size == kThreads)
    sort_many<1>(words);
  else if (size == 2 * kThreads)
    sort_many<2>(words);
  else if constexpr (kMost > 2 * kThreads)
    sort_many<4>(words);
  __syncthreads();
}

// ---- the sample

// Keys from `first` to below `end` are listed; `low`, the lower border, is the key before them.
template <class T>
struct Bracket {
  KeyOf<T> low, first, end;
};

// Reads an element of each of as many strides as the sample is large, but at no regular distance:
// rows may be periodic.
template <class T>
__device__ __forceinline__ void read_sample(const Sampled& call, int64_t row, KeyOf<T>* sample) {
  const Part<T, false, int32_t> whole(call.exact.sort, row, 0, 1);
  const uint64_t n = static_cast<uint64_t>(whole.count);
  KeyOf<T> key[kMostOfThread];
#pragma unroll
  for (uint32_t j = 0; j < kMostOfThread; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    const uint64_t within = __umulhi(i * 0x9e3779b1u, static_cast<uint32_t>(n));
    if (i >> call.size_bits == 0) key[j] = whole.key((i * n + within) >> call.size_bits);
  }
#pragma unroll
  for (uint32_t j = 0; j < kMostOfThread; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    if (i >> call.size_bits == 0) sample[i] = key[j];
  }
}

// How many of the sorted sample are NaN.
template <class T>
__device__ __forceinline__ int count_nan(const KeyOf<T>* sample, int size) {
  if (sample[size - 1] != kLargestKey<T>) return 0;
  int numbers = 0;
  for (int step = size / 2; step > 0; step /= 2) {
    if (sample[numbers + step - 1] != kLargestKey<T>) numbers += step;
  }
  return size - numbers;
}

template <class T>
__device__ __forceinline__ Bracket<T> bracket_of(const Sampled& call, int64_t row,
                                                 Space<T>* space) {
  read_sample<T>(call, row, space->sample);
  __syncthreads();
  const int size = 1 << call.size_bits;
  sort_words<kMostOfThread * kThreads>(space->sample, static_cast<uint32_t>(size));
  const Statistic& which = call.exact.sort.which;
  int low = call.low, high = call.high;
  if (which.median && which.skip_nan) {
    const int lower = count_nan<T>(space->sample, size) / 2;
    low -= lower, high -= lower;
  }
  Bracket<T> bracket = {0, 0, kLargestKey<T>};
  if (low >= 0) bracket.low = space->sample[low], bracket.first = bracket.low + 1;
  if (high < size) bracket.end = space->sample[high];
  bracket.end = max(bracket.first, bracket.end);  // both borders may be the same key
  return bracket;
}

// ---- the list

// Lists and counts the part's elements. Each warp's are from all over the part: where the wanted
// ones lie side by side, they are many warps'.
template <bool kIsStatistic, class T>
__device__ __forceinline__ void list_candidates(const Part<T, false, int32_t>& part,
                                                const Bracket<T>& bracket, Space<T>* space) {
  auto* const list = space->listed[threadIdx.x / kWarp];
  const KeyOf<T> width = bracket.end - bracket.first;
  uint32_t listed = 0;
  Tally own = {};
  part.template each_together<kThreads>(0, part.count, [&](int32_t i, bool exists, KeyOf<T> key) {
    const bool is_listed = exists && static_cast<KeyOf<T>>(key - bracket.first) < width;
    const uint32_t lanes = __ballot_sync(kAllLanes, is_listed);
    const uint32_t to = listed + count_lower_lanes(lanes);
    if (is_listed && to < kListOfWarp) list[to] = {key, static_cast<uint32_t>(part.begin + i)};
    listed += __popc(lanes);
    own.equal += exists && key == bracket.end;
    if constexpr (kIsStatistic) {
      own.less += exists && key < bracket.low;
      own.below += exists && key < bracket.first;
      own.nan += exists && key == kLargestKey<T>;
    }
  });
  const Tally of_warp = {lanes_sum(own.less), lanes_sum(own.below), lanes_sum(own.equal),
                         lanes_sum(own.nan)};
  if (lane_of_warp() > 0) return;
  of_warp.add_to(&space->tally);
  space->of_warp[threadIdx.x / kWarp] = listed;
}

// Gives the lists and counts of a cluster's blocks to its first one.
template <class T>
__device__ __forceinline__ void merge_in_cluster(const ClusterPlace& place, Space<T>* space) {
#if __CUDA_ARCH__ >= 900
  if (place.blocks == 1) return;
  const auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  if (place.rank > 0) {
    Space<T>* const first = cluster.map_shared_rank(space, 0);
    const uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const uint32_t listed = space->of_warp[warp];
    const uint32_t before = lane == 0 ? atomicAdd(&first->of_warp[warp], listed) : 0;
    const uint32_t to = __shfl_sync(kAllLanes, before, 0);
    for (uint32_t i = lane; i < listed && to + i < kListOfWarp; i += kWarp)
      first->listed[warp][to + i] = space->listed[warp][i];
    if (threadIdx.x == 0) space->tally.add_to(&first->tally);
  }
  cluster.sync();
#endif
}

// ---- the key

// Calls use(a candidate, whether there is one) for the warp's list, side by side.
template <class T, class Use>
__device__ __forceinline__ void each_listed(const Space<T>& space, const Use& use) {
  const uint32_t warp = threadIdx.x / kWarp, listed = space.of_warp[warp];
  for (uint32_t first = 0; first < listed; first += kWarp) {
    const uint32_t i = first + threadIdx.x % kWarp;
    use(space.listed[warp][min(i, listed - 1)], i < listed);
  }
}

// Finds the highest digits of the wanted key's distance from the first one that is listed, until
// few candidates have them or no digit is left. Returns how many bits of it are not known.
template <class T>
__device__ __forceinline__ int narrow(const Bracket<T>& bracket, Space<T>* space,
                                      Wanted<T>* wanted) {
  const KeyOf<T> last = bracket.end - bracket.first - 1;
  const int bits = 32 - __clz(static_cast<int32_t>(last));
  int shift = max(0, bits - kMostDigitBits);
  KeyOf<T> known = 0;  // a mask
  while (true) {
    for (int i = static_cast<int>(threadIdx.x); i < kMostValues; i += kThreads)
      space->counts.of_value[i] = 0;
    __syncthreads();
    DigitCounter counter(space->counts.of_value);
    each_listed(*space, [&](const Candidate<KeyOf<T>>& candidate, bool exists) {
      const KeyOf<T> distance = candidate.key - bracket.first;
      if (exists && ((distance ^ wanted->key) & known) == 0)
        counter.count(static_cast<uint32_t>(distance >> shift) & (kMostValues - 1));
    });
    counter.flush();
    __syncthreads();
    find_digit(space->counts, kMostValues, shift, wanted);
    if (wanted->equal <= kFew || shift == 0) return shift;
    known = ~((static_cast<KeyOf<T>>(1) << shift) - 1);
    shift = max(0, shift - kMostDigitBits);
  }
}

// Where the wanted element is, as far as counts say: in the list, with those that come before it;
// with a known key; or neither.
enum class Where { kListed, kKnown, kElsewhere };

// Of a listed element `wanted` gets the place in the list.
template <class T>
__device__ __forceinline__ Where locate(const RowSort& sort, const Bracket<T>& bracket,
                                        const Space<T>& space, Wanted<T>* wanted) {
  const Tally& tally = space.tally;
  const int lane = lane_of_warp();
  const uint32_t of_warp = lane < kWarps ? space.of_warp[lane] : 0, listed = lanes_sum(of_warp);
  const bool has_all = !__any_sync(kAllLanes, of_warp > kListOfWarp);
  const uint32_t place = place_in_row<T>(sort, tally.nan);
  const uint32_t numbers = static_cast<uint32_t>(sort.rows.n) - tally.nan;
  if (sort.is_statistic && place >= numbers) {
    *wanted = {kLargestKey<T>, place - numbers, tally.nan};
    return Where::kKnown;
  }
  if (place < tally.less) return Where::kElsewhere;
  if (place < tally.below) {
    *wanted = {bracket.low, place - tally.less, tally.below - tally.less};
    return Where::kKnown;
  }
  if (place - tally.below < listed) {
    *wanted = {0, place - tally.below, 0};
    return has_all ? Where::kListed : Where::kElsewhere;
  }
  *wanted = {bracket.end, place - tally.below - listed, tally.equal};
  const bool has_less = sort.is_statistic || has_all;
  return has_less && wanted->place < tally.equal ? Where::kKnown : Where::kElsewhere;
}

// ---- what is written

// All lanes of a warp must ask.
template <class T>
__device__ __forceinline__ void choose(bool is_chosen, const Candidate<KeyOf<T>>& candidate,
                                       Space<T>* space) {
  const uint32_t lanes = __ballot_sync(kAllLanes, is_chosen);
  if (lanes == 0) return;
  const uint32_t before = lane_of_warp() == 0 ? atomicAdd(&space->choices, __popc(lanes)) : 0;
  const uint32_t to = __shfl_sync(kAllLanes, before, 0) + count_lower_lanes(lanes);
  if (is_chosen) space->chosen[to] = candidate;
}

// Candidates whose distance from the first key is at least `from`, and at most `last`.
template <class T>
__device__ __forceinline__ void choose_listed(const Bracket<T>& bracket, KeyOf<T> from,
                                              KeyOf<T> last, Space<T>* space) {
  each_listed(*space, [&](const Candidate<KeyOf<T>>& candidate, bool exists) {
    const KeyOf<T> distance = candidate.key - bracket.first;
    choose(exists && distance >= from && distance <= last, candidate, space);
  });
  __syncthreads();
}

// Sorts the candidates that were chosen, of which the row's first ones are written.
template <class T>
__device__ __forceinline__ void write_sorted(const RowSort& sort, int64_t row, uint32_t count,
                                             Space<T>* space) {
  uint32_t size = 2;
  while (size < count) size *= 2;
  for (uint32_t i = count + threadIdx.x; i < size; i += kThreads)
    space->chosen[i] = {static_cast<KeyOf<T>>(~KeyOf<T>(0)), UINT32_MAX};
  __syncthreads();
  sort_words<kMostChosen>(space->chosen, size);
  int64_t offset[3];
  sort.rows.kept.at(static_cast<uint64_t>(row), offset);
  const T* const x = static_cast<const T*>(sort.x) + offset[0];
  for (uint32_t i = threadIdx.x; i < sort.rows.first; i += kThreads) {
    const Candidate<KeyOf<T>> candidate = space->chosen[i];
    if (sort.indices) sort.indices[offset[2] + i * sort.rows.index_stride] = candidate.position;
    if (!sort.values) continue;
    T element;
    const KeyOf<T> key = sort.descending ? ~candidate.key & kLargestKey<T> : candidate.key;
    if (!element_of(key, &element)) element = x[candidate.position * sort.rows.x_stride];
    static_cast<T*>(sort.values)[offset[1] + i * sort.rows.value_stride] = element;
  }
}

// Writes the one of few candidates that has so many before it.
template <class T>
__device__ __forceinline__ void write_placed(const RowSort& sort, int64_t row,
                                             const Wanted<T>& wanted, const Space<T>& space) {
  if (threadIdx.x >= wanted.equal) return;
  const Candidate<KeyOf<T>> own = space.chosen[threadIdx.x];
  uint32_t before = 0;
  for (uint32_t i = 0; i < wanted.equal; ++i) before += space.chosen[i] < own;
  const Part<T, false, int32_t> whole(sort, row, 0, 1);
  if (before == wanted.place) write_statistic(sort, whole, row, static_cast<int32_t>(own.position));
}

// Looks for the first of those that have the wanted key, in their order and as far as needed, when
// those with lesser ones were chosen. Functions of their own leave their registers to the way that
// rows ordinarily go.
template <class T>
__device__ __noinline__ void write_equal(const RowSort& sort, int64_t row, Wanted<T> wanted) {
  constexpr int32_t kStretch = 8 * kThreads;
  Space<T>& space = shared_space<T>();
  const Part<T, false, int32_t> whole(sort, row, 0, 1);
  const uint32_t less = space.choices;
  uint32_t passed = 0;
  for (int32_t first = 0; first < whole.count && passed <= wanted.place; first += kStretch) {
    const int32_t end = min(whole.count, first + kStretch);
    whole.template each_together<kThreads>(first, end, [&](int32_t i, bool exists, KeyOf<T> key) {
      const bool is_equal = exists && key == wanted.key;
      const uint32_t lanes = __ballot_sync(kAllLanes, is_equal);
      const uint32_t place = passed + sum_before(__popc(lanes)) + count_lower_lanes(lanes);
      if (is_equal && !sort.is_statistic && place <= wanted.place)
        space.chosen[less + place] = {key, static_cast<uint32_t>(i)};
      if (is_equal && sort.is_statistic && place == wanted.place)
        write_statistic(sort, whole, row, i);
      passed += __syncthreads_count(is_equal);
    });
  }
  if (!sort.is_statistic) write_sorted(sort, row, less + wanted.place + 1, &space);
}

// Reads the row again, for each digit of the wanted key and for what comes before it.
template <class T>
__device__ __noinline__ void select_from_row(const Sampled& call, int64_t row) {
  Space<T>& space = shared_space<T>();
  const RowSort& sort = call.exact.sort;
  const Part<T, false, int32_t> whole(sort, row, 0, 1);
  const Wanted<T> wanted = find_key(call.exact, whole, row, &space.counts);
  if (!sort.is_statistic) {
    whole.template each_together<kThreads>(
        0, whole.count, [&](int32_t i, bool exists, KeyOf<T> key) {
          choose<T>(exists && key < wanted.key, {key, static_cast<uint32_t>(i)}, &space);
        });
    __syncthreads();
  }
  write_equal(sort, row, wanted);
}

template <bool kIsStatistic, class T>
__device__ __forceinline__ void write_selected(const Sampled& call, int64_t row,
                                               const Bracket<T>& bracket, Space<T>* space) {
  const RowSort& sort = call.exact.sort;
  Wanted<T> wanted = {};
  const Where where = locate(sort, bracket, *space, &wanted);
  if (where == Where::kElsewhere) return select_from_row<T>(call, row);
  if (where == Where::kListed) {
    const int unknown = narrow(bracket, space, &wanted);
    if (wanted.equal <= kFew) {
      const KeyOf<T> last = wanted.key | ((static_cast<KeyOf<T>>(1) << unknown) - 1);
      choose_listed(bracket, kIsStatistic ? wanted.key : 0, last, space);
      if constexpr (kIsStatistic)
        write_placed(sort, row, wanted, *space);
      else
        write_sorted(sort, row, space->choices, space);
      return;
    }
    wanted.key += bracket.first;
  }
  if constexpr (!kIsStatistic) {
    const KeyOf<T> distance = wanted.key - bracket.first;
    if (distance > 0) choose_listed(bracket, 0, distance - 1, space);
  }
  write_equal(sort, row, wanted);
}

template <class T, bool kIsStatistic>
__global__ void __launch_bounds__(kThreads, kBlocksTogether)
    select_from_sample(const __grid_constant__ Sampled call) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // elsewhere rows are selected by digits
  begin_kernel();
  Space<T>& space = shared_space<T>();
  const ClusterPlace place;
  if (threadIdx.x == 0) space.tally = {}, space.choices = 0;
  const Bracket<T> bracket = bracket_of(call, place.number, &space);
  const Part<T, false, int32_t> part(call.exact.sort, place.number, place.rank, place.blocks);
  list_candidates<kIsStatistic>(part, bracket, &space);
  __syncthreads();
  merge_in_cluster(place, &space);
  if (place.rank == 0) write_selected<kIsStatistic>(call, place.number, bracket, &space);
#endif
}

// ---- launches

// How large a sample is, and which places of it, when it is sorted, the wanted element lies
// between: four standard deviations from where it is to be expected, and a few more, since what is
// rare is not distributed normally.
struct Places {
  int size_bits, low, high;

  Places(const RowSort& sort, int size_bits) : size_bits(size_bits) {
    const int size = 1 << size_bits;
    const double n = static_cast<double>(sort.rows.n);
    const double place = static_cast<double>(
        sort.is_statistic ? sort.which.place(sort.rows.n, sort.rows.n) : sort.rows.first - 1);
    const double mean = place * size / n;
    const double spread = 4 * std::sqrt(mean * (1 - mean / size)) + 3;
    low = sort.is_statistic ? std::max(-1, static_cast<int>(std::floor(mean - spread))) : -1;
    high = std::min(size, static_cast<int>(std::ceil(mean + spread)));
  }

  // Whether each warp's list has room for what lies between the borders, in all but one row of some
  // ten thousand: so long takes a row that is read again. The distance of borders has the deviation
  // of a sum of exponential distributions, and more to its right; a warp's share is Poisson's.
  bool have_room(const RowSort& sort) const {
    const double size = std::exp2(size_bits), between = high - low;
    const double most = between + 6 + 3.5 * std::sqrt(between * (1 - between / size));
    const double of_warp = most * static_cast<double>(sort.rows.n) / size / kWarps;
    return of_warp + 3 * std::sqrt(of_warp) <= kListOfWarp;
  }
};

constexpr int kLeastBits = 9, kMostBits = 11;
static_assert(1 << kLeastBits == kThreads && 1 << kMostBits == kMostOfThread * kThreads);

// The smallest sample that will do, of no more than a third of the row.
Places places_of(const RowSort& sort) {
  Places places(sort, kLeastBits);
  while (!places.have_room(sort) && places.size_bits < kMostBits &&
         int64_t{6} << places.size_bits <= sort.rows.n)
    places = Places(sort, places.size_bits + 1);
  return places;
}

// The blocks of a cluster. Until all multiprocessors have one, they may have little each: several
// on a multiprocessor must be worth that each sorts the sample.
int blocks_of_row(const dt_stream* stream, const Rows& rows) {
  constexpr int64_t kGrain = 4096, kGrainOfSeveral = 16384;
  const int64_t wide = multiprocessors(stream->device);
  int blocks = 1;
  while (blocks < kMostInCluster) {
    const int64_t together = rows.count * blocks * 2;
    const int64_t grain = together <= wide ? kGrain : kGrainOfSeveral;
    if (together > kBlocksTogether * wide || rows.n < 2 * blocks * grain) break;
    blocks *= 2;
  }
  return blocks;
}

}  // namespace

bool can_select_by_sample(const dt_stream* stream, const RowSort& sort) {
  const Rows& rows = sort.rows;
  // 32 bits count what is read at once behind a row's end, too.
  constexpr int64_t kShortest = 4096, kLongest = INT32_MAX - 16 * kThreads;
  if (!has_clusters(stream->device) || !is_floating(sort.dtype) || sort.bytes > kWidest)
    return false;
  if (rows.n <= kShortest || rows.n > kLongest || rows.count > INT32_MAX) return false;
  return places_of(sort).have_room(sort) && (sort.is_statistic || rows.first <= kMostChosen - kFew);
}

int32_t select_by_sample(const dt_stream* stream, const RowSort& sort) {
  return visit_stored_floating(sort.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    if constexpr (sizeof(T) > kWidest) {
      return DT_KERNEL_UNSUPPORTED;
    } else {
      const Places places = places_of(sort);
      const Sampled call = {
          {sort, Digits(sort.rows.n, kKeyBits<T>)}, places.size_bits, places.low, places.high};
      const auto kernel =
          sort.is_statistic ? select_from_sample<T, true> : select_from_sample<T, false>;
      return launch_clusters(stream, kernel, sort.rows.count, blocks_of_row(stream, sort.rows),
                             dim3(kThreads), call);
    }
  });
}

}  // namespace dt::cuda
