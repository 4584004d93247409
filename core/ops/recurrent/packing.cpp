// Sequences of several lengths: padded to one length, or packed, where nothing is padding. What
// goes from the one to the other is computed on the host, and then all rows move at once.
#include "core/ops/recurrent/packing.h"

#include <algorithm>
#include <numeric>

#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/recurrent.gen.h"
#include "core/ops/recurrent/checks.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/views.gen.h"

namespace dt {

std::vector<int64_t> ints_of(const Tensor& x) {
  const Tensor ints = contiguous(on_host(to_dtype(x.detach(), kIndexDType)));
  const auto* first = ints.data_as<const int64_t>();
  return {first, first + ints.numel()};
}

namespace {

using Numbers = std::vector<int64_t>;
using PackedParts = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Tensor tensor_of(const Numbers& ints, Device device = kCpu) {
  const Tensor x = make_empty({static_cast<int64_t>(ints.size())}, kIndexDType, kCpu);
  std::copy(ints.begin(), ints.end(), x.data_as<int64_t>());
  return to(x, device);
}

Numbers counted(int64_t n) {
  Numbers list(static_cast<size_t>(n));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

// `leading`, then the sizes of x behind its first `replaced` dimensions.
Dims with_sizes_of(std::initializer_list<int64_t> leading, const Tensor& x, int replaced) {
  Dims sizes = leading;
  for (int d = replaced; d < x.ndim(); ++d) sizes.push_back(x.sizes()[d]);
  return sizes;
}

// Sequences of the first one's dtype and sizes, each with a length of its own.
std::vector<Tensor> made_alike(TensorList sequences) {
  check_any_sequences(sequences);
  std::vector<Tensor> alike;
  for (const Tensor& x : sequences) {
    const Dims sizes = with_sizes_of({x.size(0)}, sequences[0], 1);
    check_written_sizes(sizes, broadcast_sizes(sizes, x.sizes()));
    alike.push_back(to_dtype(x.sizes() == sizes ? x : expand(x, sizes), sequences[0].dtype()));
  }
  return alike;
}

Numbers lengths_of(TensorList sequences) {
  Numbers lengths;
  for (const Tensor& x : sequences) lengths.push_back(x.size(0));
  return lengths;
}

// Packs rows, of which `place` says where an element of a sequence at a time step is.
template <class Place>
PackedParts pack(const Tensor& rows, const Numbers& lengths, bool enforce_sorted,
                 const Place& place) {
  const Numbers order = enforce_sorted ? counted(static_cast<int64_t>(lengths.size()))
                                       : ints_of(argsort(tensor_of(lengths), 0, true, true));
  Numbers falling, batch_sizes, places;
  for (const int64_t i : order) falling.push_back(lengths[i]);
  check_falling_lengths(falling);
  int64_t running = static_cast<int64_t>(order.size());
  for (int64_t step = 0; step < falling[0]; ++step) {
    while (falling[running - 1] <= step) --running;
    batch_sizes.push_back(running);
    for (int64_t i = 0; i < running; ++i) places.push_back(place(order[i], step));
  }
  const Tensor data = index_select(rows, 0, tensor_of(places, rows.device()));
  if (enforce_sorted) return {data, tensor_of(batch_sizes), Tensor(), Tensor()};
  Numbers inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return {data, tensor_of(batch_sizes), tensor_of(order, rows.device()),
          tensor_of(inverse, rows.device())};
}

// What packed sequences are, from the longest to the shortest.
struct Sequences {
  Numbers batch_sizes, lengths;
};

Sequences sequences_of(const Tensor& data, const Tensor& batch_sizes) {
  check_lengths(batch_sizes);
  Sequences s{ints_of(batch_sizes), {}};
  check_batch_sizes(data, s.batch_sizes);
  int64_t length = static_cast<int64_t>(s.batch_sizes.size());
  for (int64_t i = 0; i < s.batch_sizes[0]; ++i) {
    while (s.batch_sizes[length - 1] <= i) --length;
    s.lengths.push_back(length);
  }
  return s;
}

}  // namespace

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value,
                    const std::string& padding_side) {
  const std::vector<Tensor> all = made_alike(sequences);
  check_padding_side(padding_side);
  const Numbers lengths = lengths_of(all);
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  const int64_t longest = *most, batch = static_cast<int64_t>(all.size());
  const Tensor padding =
      new_full(all[0], with_sizes_of({longest - *least}, all[0], 1), padding_value);
  std::vector<Tensor> pieces;
  for (const Tensor& x : all) {
    const Tensor margin = narrow(padding, 0, 0, longest - x.size(0));
    if (padding_side == "left") pieces.push_back(margin);
    pieces.push_back(x);
    if (padding_side == "right") pieces.push_back(margin);
  }
  const Tensor y = unsafe_view(cat(pieces), with_sizes_of({batch, longest}, all[0], 1));
  return batch_first ? y : row_major(transpose(y, 0, 1));
}

PackedParts pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first,
                                 bool enforce_sorted) {
  check_not_empty(input);
  const Tensor whole = to_dtype(lengths, kIndexDType);
  check_lengths(whole);
  const Numbers given = ints_of(whole);
  const int64_t batch = input.size(batch_first ? 0 : 1), steps = input.size(batch_first ? 1 : 0);
  check_padded_lengths(given, batch, steps);
  const Tensor rows = reshape(input, with_sizes_of({batch * steps}, input, 2));
  return pack(rows, given, enforce_sorted, [=](int64_t sequence, int64_t step) {
    return batch_first ? sequence * steps + step : step * batch + sequence;
  });
}

PackedParts pack_sequence(TensorList sequences, bool enforce_sorted) {
  const std::vector<Tensor> all = made_alike(sequences);
  const Tensor rows = cat(all);
  check_not_empty(rows);
  const Numbers lengths = lengths_of(all);
  Numbers starts(lengths.size());
  std::partial_sum(lengths.begin(), lengths.end() - 1, starts.begin() + 1);
  return pack(rows, lengths, enforce_sorted,
              [&](int64_t sequence, int64_t step) { return starts[sequence] + step; });
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes,
                                               const Tensor& unsorted_indices, bool batch_first,
                                               const Scalar& padding_value,
                                               std::optional<int64_t> total_length) {
  const Sequences s = sequences_of(data, batch_sizes);
  const int64_t batch = s.batch_sizes[0];
  const int64_t longest = static_cast<int64_t>(s.batch_sizes.size());
  const int64_t steps = total_length.value_or(longest);
  check_total_length(steps, longest, batch);
  Numbers places;
  for (int64_t step = 0; step < longest; ++step) {
    for (int64_t i = 0; i < s.batch_sizes[step]; ++i) places.push_back(step * batch + i);
  }
  const Tensor rows = new_full(data, with_sizes_of({steps * batch}, data, 1), padding_value);
  index_copy_(rows, 0, tensor_of(places, data.device()), data);
  Tensor padded = unsafe_view(rows, with_sizes_of({steps, batch}, data, 1));
  if (batch_first) padded = transpose(padded, 0, 1);
  const Tensor lengths = tensor_of(s.lengths);
  if (!unsorted_indices.defined()) return {padded, lengths};
  return {index_select(padded, batch_first ? 0 : 1, unsorted_indices),
          index_select(lengths, 0, on_host(unsorted_indices))};
}

std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths,
                                   bool batch_first) {
  const Tensor x = batch_first ? padded_sequences : transpose(padded_sequences, 0, 1);
  check_unpadded(x, lengths);
  // Of each sequence, what is before its length: nothing, or all of it, where that lies outside.
  const Tensor steps = arange(0, x.size(1), 1, kIndexDType, lengths.device());
  const Numbers counts = ints_of(sum(lt(steps, unsqueeze(lengths, 1)), IntList{1}));
  std::vector<Tensor> sequences = unbind(x);
  for (size_t i = 0; i < sequences.size(); ++i)
    sequences[i] = clone(narrow(sequences[i], 0, 0, counts[i]), MemoryFormat::kContiguous);
  return sequences;
}

std::vector<Tensor> unpack_sequence(const Tensor& data, const Tensor& batch_sizes,
                                    const Tensor& unsorted_indices) {
  const Sequences s = sequences_of(data, batch_sizes);
  const int64_t batch = s.batch_sizes[0];
  Numbers order = counted(batch);
  if (unsorted_indices.defined())
    order = ints_of(index_select(tensor_of(order), 0, on_host(unsorted_indices)));
  Numbers starts(s.batch_sizes.size()), lengths, places;
  std::partial_sum(s.batch_sizes.begin(), s.batch_sizes.end() - 1, starts.begin() + 1);
  for (const int64_t i : order) {
    lengths.push_back(s.lengths[i]);
    for (int64_t step = 0; step < s.lengths[i]; ++step) places.push_back(starts[step] + i);
  }
  const Tensor rows = index_select(data, 0, tensor_of(places, data.device()));
  std::vector<Tensor> sequences = split_with_sizes(rows, lengths);
  for (Tensor& x : sequences) x = clone(x);
  return sequences;
}

}  // namespace dt
