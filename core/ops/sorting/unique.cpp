// unique and unique_consecutive. Where equal elements are neighbours, what occurs are the first
// elements of runs.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/sorting/checks.h"
#include "core/ops/sorting/rows.h"

namespace dt {
namespace {

using Unique = std::tuple<Tensor, Tensor, Tensor>;

struct Wanted {
  bool inverse, counts;
};

// Which of x's slices along dimension 0 is another than the one before: of elements, or of rows
// [n, m].
Tensor run_begins(const Tensor& x) {
  const int64_t n = x.sizes()[0], first = n < 1 ? n : 1;
  Tensor differs = ne(narrow(x, 0, first, n - first), narrow(x, 0, 0, n - first));
  if (x.ndim() > 1) differs = any(differs, {{1}});
  return cat({ones({first}, kMaskDType, x.device()), differs}, 0);
}

// The number of each element's run.
Tensor run_numbers(const Tensor& begins) {
  return sub(cumsum(begins, 0), 1);
}

Tensor lengths_of(const Tensor& starts, int64_t n) {
  const Tensor end = full({1}, n, kIndexDType, starts.device());
  const int64_t runs = starts.numel();
  return sub(cat({narrow(starts, 0, runs < 1 ? runs : 1, runs < 1 ? 0 : runs - 1), end}, 0),
             starts);
}

// The slices of x along `dim` where runs begin, when they are taken in the given order; `order` is
// undefined if that is their own. In memory each slice lies by itself.
Unique first_of_runs(const Tensor& x, int dim, const Tensor& begins, const Tensor& order,
                     const Wanted& wanted) {
  const Tensor nothing = make_empty({0}, kIndexDType, x.device());
  const Tensor starts = reshape(nonzero(begins), {-1});
  const Tensor chosen = order.defined() ? index_select(order, 0, starts) : starts;
  Tensor inverse = nothing;
  if (wanted.inverse) {
    inverse = run_numbers(begins);
    if (order.defined()) inverse = scatter(empty_like(inverse), 0, order, inverse);
  }
  const Tensor counts =
      !wanted.counts || starts.numel() == 0 ? nothing : lengths_of(starts, begins.numel());
  const Tensor found = index_select(movedim(x, {dim}, {0}), 0, chosen);
  return {movedim(found, {0}, {dim}).detach(), inverse, counts};
}

// The order that brings equal rows of x [n, m] together, the smallest first: column by column,
// groups of rows that were equal so far are sorted, until every row is a group of its own.
Tensor order_of_rows(const Tensor& x) {
  const int64_t n = x.sizes()[0];
  Tensor order = arange(0, n, 1, kIndexDType, x.device());
  Tensor group = zeros({n}, kIndexDType, x.device());
  for (int64_t j = 0; j < x.sizes()[1]; ++j) {
    const Tensor column = index_select(select(x, 1, j), 0, order);
    Tensor by = argsort(column, 0, false, true);
    by = index_select(by, 0, argsort(index_select(group, 0, by), 0, false, true));
    order = index_select(order, 0, by);
    group = index_select(group, 0, by);
    const Tensor begins = logical_or(run_begins(index_select(column, 0, by)), run_begins(group));
    group = run_numbers(begins);
    if (n == 0 || item(select(group, 0, n - 1)).to_int64() == n - 1) break;
  }
  return order;
}

// x's slices along `dim` as rows of elements.
Tensor slices(const Tensor& x, int dim) {
  const int64_t n = x.sizes()[dim];
  return reshape(movedim(x, {dim}, {0}), {n, n == 0 ? 0 : x.numel() / n});
}

// PyTorch has no derivative of these.
Unique recorded(const char* node, const char* op, const Tensor& input, const Unique& y) {
  record(node, std::get<0>(y), {input}, [op](BackwardCall&) {
    fail(Code::kNotImplemented, "the derivative for '", op, "' is not implemented.");
  });
  return y;
}

// A table of integers, among which are all that x has.
struct Table {
  int64_t first, size;
};

// x's, if looking into it costs less than sorting: integers that lie close together. Of marks, a
// byte each, there may be more than of numbers, and on a GPU more than a cache holds.
std::optional<Table> table_of(const Tensor& x, bool of_numbers) {
  constexpr int64_t kLeast = 4096;
  if (is_floating(x.dtype()) || x.numel() < kLeast) return {};
  if (info(x.dtype()).bytes == 1) return Table{-128, 384};  // signed or not
  const auto [low, high] = extremes_of(x);
  const uint64_t last = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const int64_t most = (of_numbers ? 2 : x.device() == kCpu ? 4 : 16) * x.numel();
  if (last >= static_cast<uint64_t>(most)) return {};
  return Table{low, static_cast<int64_t>(last) + 1};
}

// What of the table occurs.
std::optional<Unique> looked_up(const Tensor& x, const Wanted& wanted) {
  const std::optional<Table> table = table_of(x, wanted.inverse || wanted.counts);
  if (!table) return {};
  const Tensor found = zeros({table->size}, wanted.counts ? kIndexDType : kMaskDType, x.device());
  if (!count_integers(found, is_bool(x.dtype()) ? to_dtype(x, kByteDType) : x, table->first))
    return {};
  const Tensor places = reshape(nonzero(found), {-1});
  Tensor inverse = make_empty({0}, kIndexDType, x.device()), counts = inverse;
  if (wanted.inverse) {
    const Tensor begins = wanted.counts ? ne(found, 0) : found;
    inverse = index_select(run_numbers(begins), 0, sub(to_dtype(x, kIndexDType), table->first));
  }
  if (wanted.counts) counts = index_select(found, 0, places);
  return Unique(to_dtype(add(places, table->first), x.dtype()), inverse, counts);
}

Unique unique_elements(const Tensor& input, const Wanted& wanted) {
  const Tensor x = reshape(input, {-1});
  if (auto found = looked_up(x, wanted)) {
    auto& [output, inverse, counts] = *found;
    if (wanted.inverse) inverse = unsafe_view(inverse, input.sizes());
    return *found;
  }
  Tensor sorted, order;
  if (wanted.inverse) {
    std::tie(sorted, order) = sort(x, 0, false, true);
  } else {
    sorted = sorted_elements(x);
  }
  auto [output, inverse, counts] = first_of_runs(sorted, 0, run_begins(sorted), {}, wanted);
  if (wanted.inverse)
    inverse = unsafe_view(scatter(empty_like(inverse), 0, order, inverse), input.sizes());
  return {output, inverse, counts};
}

}  // namespace

Unique unique(const Tensor& input, bool, bool return_inverse, bool return_counts,
              std::optional<int64_t> dim) {
  check_unique(input, dim);
  const Wanted wanted = {return_inverse, return_counts};
  const Tensor x = input.detach();
  if (!dim) return recorded("Unique2Backward0", "_unique2", input, unique_elements(x, wanted));
  const int d = wrap_dim(*dim, x.ndim());
  const Tensor rows = slices(x, d), order = order_of_rows(rows);
  const Tensor begins = run_begins(index_select(rows, 0, order));
  return recorded("UniqueDimBackward0", "unique_dim", input,
                  first_of_runs(x, d, begins, order, wanted));
}

Unique unique_consecutive(const Tensor& input, bool return_inverse, bool return_counts,
                          std::optional<int64_t> dim) {
  check_unique(input, dim);
  const Wanted wanted = {return_inverse, return_counts};
  const Tensor x = dim ? input.detach() : reshape(input.detach(), {-1});
  const int d = dim ? wrap_dim(*dim, x.ndim()) : 0;
  const Tensor begins = run_begins(dim ? slices(x, d) : x);
  Unique y = first_of_runs(x, d, begins, {}, wanted);
  if (!dim && return_inverse) std::get<1>(y) = unsafe_view(std::get<1>(y), input.sizes());
  if (dim) return recorded("UniqueDimConsecutiveBackward0", "unique_dim_consecutive", input, y);
  return recorded("UniqueConsecutiveBackward0", "unique_consecutive", input, y);
}

}  // namespace dt
