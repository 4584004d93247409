// The same elements in other places, or several times: roll, rot90, fliplr, flipud, tile,
// repeat_interleave.
#include <algorithm>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// Adds the parts of which y is x, moved by shift[d] places from dimension d on.
void add_rolled(std::vector<Copied>* parts, const Tensor& y, const Tensor& x, const Dims& shift,
                int d = 0) {
  while (d < x.ndim() && shift[d] == 0) ++d;
  if (d == x.ndim()) return parts->push_back({y, x});
  const int64_t n = x.sizes()[d], s = shift[d];
  add_rolled(parts, narrow(y, d, s, n - s), narrow(x, d, 0, n - s), shift, d + 1);
  add_rolled(parts, narrow(y, d, 0, s), narrow(x, d, n - s, s), shift, d + 1);
}

int64_t wrapped(int64_t shift, int64_t size) {
  const int64_t rest = shift % std::max<int64_t>(size, 1);
  return rest < 0 ? rest + size : rest;
}

// The steps of a roll: dimensions, and by how much, at least 0 and less than their sizes.
struct Rolls {
  Dims dims, shifts;
};

// Whether channels lie last in the result: PyTorch joins two parts of x for each step, and these
// may be empty, which has no order.
bool joins_channels_last(const Tensor& x, int d, int64_t shift) {
  const int64_t rest = x.sizes()[d] - shift;
  return shift != 0 && is_channels_last(narrow(x, d, 0, rest)) &&
         is_channels_last(narrow(x, d, rest, shift));
}

Tensor roll_by(const Tensor& x, const Rolls& steps) {
  Dims shift(x.ndim(), 0);
  bool channels_last = true;
  for (int i = 0; i < steps.dims.size(); ++i) {
    const int d = static_cast<int>(steps.dims[i]);
    shift[d] = wrapped(shift[d] + steps.shifts[i], x.sizes()[d]);
    channels_last = channels_last && joins_channels_last(x, d, steps.shifts[i]);
  }
  const Tensor y = empty_image(x.sizes(), x, channels_last);
  {
    const GradMode no_grad(false);
    std::vector<Copied> parts;
    add_rolled(&parts, y, x, shift);
    copy_each(parts);
  }
  return record("RollBackward0", y, {x}, [steps](BackwardCall& b) {
    Rolls back = steps;
    for (int i = 0; i < back.dims.size(); ++i)
      back.shifts[i] = wrapped(-back.shifts[i], b.grad().sizes()[back.dims[i]]);
    b.results[0] = roll_by(b.grad(), back);
  });
}

}  // namespace

Tensor roll(const Tensor& input, IntList shifts, IntList dims) {
  check_roll(input, shifts, dims);
  if (input.numel() == 0) return clone(input);  // nobody looks at dims
  if (dims.empty()) {
    const Tensor flat = reshape(contiguous(input, MemoryFormat::kContiguous), {-1});
    return unsafe_view(roll(flat, shifts, {0}), input.sizes());
  }
  Rolls steps{dims, shifts};
  for (int i = 0; i < steps.dims.size(); ++i) {
    const int d = wrap_dim(dims[i], input.ndim());
    steps.dims[i] = d;
    steps.shifts[i] = wrapped(shifts[i], input.sizes()[d]);
  }
  return roll_by(input, steps);
}

Tensor rot90(const Tensor& input, int64_t k, IntList dims) {
  check_rot90(input, dims);
  const auto turned = [&](int64_t flipped) {
    const Tensor y = flip(input, {flipped});
    return transpose_(y, dims[0], dims[1]);  // of this result, not a view of another
  };
  switch (wrapped(k, 4)) {
    case 1:
      return turned(dims[1]);
    case 2:
      return flip(input, dims);
    case 3:
      return turned(dims[0]);
    default:
      return clone(input, MemoryFormat::kContiguous);
  }
}

Tensor fliplr(const Tensor& input) {
  check_flip_along(input, 1);
  return flip(input, {1});
}

Tensor flipud(const Tensor& input) {
  check_flip_along(input, 0);
  return flip(input, {0});
}

Tensor tile(const Tensor& input, IntList dims) {
  Dims repeats(dims);
  while (repeats.size() < input.ndim()) repeats.insert(0, 1);
  return repeat(input, repeats);
}

namespace {

// Slice i as often as the number i of `repeats` says: 0, 0, 2 for 2, 0, 1.
Tensor repeated_positions(const Tensor& repeats, std::optional<int64_t> wanted) {
  const Tensor counts = contiguous(to_dtype(on_host(repeats), kIndexDType));
  const int64_t* count = counts.data_as<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    check_repeat_count(count[i]);
    total = count_elements({total}) + count[i];
  }
  check_repeated_size(total, wanted);
  const Tensor positions = make_empty({total}, kIndexDType, kCpu);
  int64_t* at = positions.data_as<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i) at = std::fill_n(at, count[i], i);
  return to(positions, repeats.device());
}

Tensor repeat_each(const Tensor& input, int d, int64_t count) {
  check_repeat_count(count);
  const Tensor apart = unsqueeze(input, d + 1);
  Dims wide = apart.sizes(), sizes = input.sizes();
  wide[d + 1] = count;
  sizes[d] = count_elements({sizes[d], count});
  return reshape(clone(expand(apart, wide), MemoryFormat::kContiguous), sizes);
}

}  // namespace

Tensor repeat_interleave(const Tensor& input, const Operand& repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  const Tensor x = dim ? input : flatten(input);
  const int d = wrap_dim(dim.value_or(0), x.ndim());
  const int64_t n = x.ndim() == 0 ? 1 : x.sizes()[d];
  if (repeats.is_number()) {
    const int64_t count = repeats.number().to_int64();
    if (output_size) check_repeated_size(count_elements({n, count}), output_size);
    return repeat_each(x, d, count);
  }
  check_repeats(repeats.tensor(), n, d);
  const Tensor each = n == repeats.tensor().numel() ? repeats.tensor()
                                                    : expand(reshape(repeats.tensor(), {1}), {n});
  return index_select(x, d, repeated_positions(each, output_size));
}

}  // namespace dt
