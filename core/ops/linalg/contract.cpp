// Products over named dimensions: einsum, and tensordot, which is one of two factors. A pair of
// factors becomes one product of matrices, or of batches of them, whose strides the kernel takes as
// they are where dimensions do not have to be joined.
#include <algorithm>
#include <set>

#include "core/ops/autocast.gen.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/linalg/equation.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"

namespace dt {
namespace {

// A factor and the label of each of its dimensions, which are all different.
struct Term {
  Tensor x;
  Dims labels;
};

bool has(IntList labels, int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int place_of(IntList labels, int64_t label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

Dims joined(std::initializer_list<IntList> lists) {
  Dims all;
  for (IntList list : lists) {
    for (int64_t label : list) all.push_back(label);
  }
  return all;
}

Tensor in_order(const Term& term, const Dims& labels) {
  if (labels == term.labels) return term.x;
  Dims order;
  for (int64_t label : labels) order.push_back(place_of(term.labels, label));
  return permute(term.x, order);
}

int64_t count(const Term& term, const Dims& labels) {
  int64_t n = 1;
  for (int64_t label : labels) n *= term.x.sizes()[place_of(term.labels, label)];
  return n;
}

// The sum over the dimensions that nobody else has.
Term summed(const Term& term, IntList keep) {
  Dims dims;
  Term y;
  for (int d = 0; d < term.labels.size(); ++d) {
    if (has(keep, term.labels[d])) {
      y.labels.push_back(term.labels[d]);
    } else {
      dims.push_back(d);
    }
  }
  if (dims.empty()) return term;
  y.x = sum(term.x, IntList(dims));
  return y;
}

// The labels in the order of `walk`, where all of them are.
Dims in_walk(IntList labels, IntList walk) {
  Dims ordered;
  for (int64_t label : walk) {
    if (has(labels, label)) ordered.push_back(label);
  }
  return ordered;
}

Term walked(const Term& term, IntList walk) {
  const Dims labels = in_walk(term.labels, walk);
  return {in_order(term, labels), labels};
}

// Its sum over all but these labels, with dimensions of size 1 for those that it has not.
Tensor laid_out(const Term& term, const Dims& labels) {
  const Term y = walked(summed(term, labels), labels);
  Tensor x = y.x;
  for (int d = 0; d < labels.size(); ++d) {
    if (!has(y.labels, labels[d])) x = unsqueeze(x, d);
  }
  return x;
}

// What the labels of two factors are to their product [batch, rows, columns]: `rows` are the first
// one's alone, `columns` the second one's, `sums` both have and the product has not.
struct Roles {
  Dims batch, rows, columns, sums;
};

Roles roles_of(const Term& a, const Term& b, IntList keep) {
  Roles roles;
  for (int64_t label : a.labels)
    (!has(b.labels, label) ? roles.rows
     : !has(keep, label)   ? roles.sums
                           : roles.batch)
        .push_back(label);
  for (int64_t label : b.labels)
    if (!has(a.labels, label)) roles.columns.push_back(label);
  return roles;
}

// Whether autocast takes a product for one of matrices.
enum class Casts : bool { kNo, kYes };

// Dimensions of one role are joined to one of a matrix.
Tensor matrix_product(const Term& a, const Term& b, const Roles& roles, Casts casts) {
  const int64_t n = count(a, roles.batch), m = count(a, roles.rows), k = count(a, roles.sums),
                l = count(b, roles.columns);
  const Tensor x = in_order(a, joined({roles.batch, roles.rows, roles.sums}));
  const Tensor z = in_order(b, joined({roles.batch, roles.sums, roles.columns}));
  const Tensor y = !roles.batch.empty()
                       ? autocast::bmm(reshape(x, {n, m, k}), reshape(z, {n, k, l}))
                   : casts == Casts::kYes ? autocast::mm(reshape(x, {m, k}), reshape(z, {k, l}))
                                          : mm(reshape(x, {m, k}), reshape(z, {k, l}));
  const Dims from_x = x.sizes(), from_z = z.sizes();
  Dims sizes;
  for (int i = 0; i < roles.batch.size() + roles.rows.size(); ++i) sizes.push_back(from_x[i]);
  for (int i = roles.batch.size() + roles.sums.size(); i < z.ndim(); ++i)
    sizes.push_back(from_z[i]);
  return y.sizes() == sizes ? y : unsafe_view(y, sizes);
}

// Whether the rows come last of all, so that the product is row-major if they are its columns.
bool rows_come_last(const Roles& roles, IntList walk) {
  bool found = false;
  for (int64_t label : walk) {
    found |= has(roles.rows, label);
    const bool of_rows = has(roles.rows, label) || has(roles.batch, label);
    if (found && !of_rows && !has(roles.sums, label)) return false;
  }
  return found;
}

// `keep` are the labels that the product has; they lie in the order of `walk`.
Term multiplied(const Term& left, const Term& right, IntList keep, IntList walk,
                Casts casts = Casts::kYes) {
  const Term a = summed(left, joined({keep, right.labels}));
  const Term b = summed(right, joined({keep, left.labels}));
  const Roles roles = roles_of(a, b, keep);
  const Dims labels = joined({roles.batch, roles.rows, roles.columns});
  if (roles.sums.empty()) {
    const Dims ordered = in_walk(labels, walk);
    return {mul(laid_out(a, ordered), laid_out(b, ordered)), ordered};
  }
  if (rows_come_last(roles, walk)) {
    const Roles swapped = {roles.batch, roles.columns, roles.rows, roles.sums};
    return walked(
        {matrix_product(b, a, swapped, casts), joined({roles.batch, roles.columns, roles.rows})},
        walk);
  }
  return walked({matrix_product(a, b, roles, casts), labels}, walk);
}

// An operand with one dimension for each of its labels: the diagonal where one stands twice.
Term as_term(const Tensor& operand, const Dims& labels) {
  Term term{operand, labels};
  for (int d = 0; d < term.labels.size(); ++d) {
    for (int other = term.labels.size() - 1; other > d; --other) {
      if (term.labels[other] != term.labels[d]) continue;
      term.x = movedim(diagonal(term.x, 0, d, other), {-1}, {d});
      term.labels.erase(other);
    }
  }
  return term;
}

// A factor without its dimensions of size 1, which broadcast.
Term as_factor(const Tensor& operand, const Dims& labels, IntList walk) {
  Term term = as_term(operand, labels);
  for (int d = term.labels.size() - 1; d >= 0; --d) {
    if (term.x.sizes()[d] != 1) continue;
    term.x = squeeze(term.x, {{d}});
    term.labels.erase(d);
  }
  return walked(term, walk);
}

// The order in which PyTorch has dimensions: the result's, then the others by their labels.
Dims walk_of(const Equation& e) {
  std::set<int64_t> others;
  for (const Dims& labels : e.inputs) others.insert(labels.begin(), labels.end());
  Dims walk = e.output;
  for (int64_t label : others) {
    if (!has(e.output, label)) walk.push_back(label);
  }
  return walk;
}

Dims wrapped(IntList dims, int ndim) {
  Dims all;
  for (int64_t d : dims) all.push_back(wrap_dim(d, ndim));
  return all;
}

}  // namespace

Tensor einsum(const std::string& equation, TensorList operands) {
  const Equation e = read_equation(equation, operands);
  const Dims walk = walk_of(e);
  if (operands.size() == 1) {
    const Tensor y = laid_out(walked(as_term(operands[0], e.inputs[0]), walk), e.output);
    return y.impl() == operands[0].impl() ? view_as(y, y) : y;  // never the operand itself
  }
  Term y = as_factor(operands[0], e.inputs[0], walk);
  for (int64_t i = 1; i < operands.size(); ++i) {
    Dims keep = e.output;
    for (int64_t later = i + 1; later < operands.size(); ++later) {
      for (int64_t label : e.inputs[later]) {
        if (!has(keep, label)) keep.push_back(label);
      }
    }
    y = multiplied(y, as_factor(operands[i], e.inputs[i], walk), keep, walk);
  }
  const Tensor product = laid_out(y, e.output);
  return unsafe_view(product, product.sizes());
}

Tensor tensordot_dims(const Tensor& a, const Tensor& b, IntList dims_a, IntList dims_b) {
  check_tensordot(a, b, dims_a, dims_b);
  const Dims from_a = wrapped(dims_a, a.ndim()), from_b = wrapped(dims_b, b.ndim());
  Term left{a, {}}, right{b, {}};
  Dims keep;
  for (int d = 0; d < a.ndim(); ++d) left.labels.push_back(d);
  for (int d = 0; d < b.ndim(); ++d) {
    const int i = place_of(from_b, d);
    right.labels.push_back(i < from_b.size() ? from_a[i] : a.ndim() + d);
  }
  for (const Term* term : {&left, &right}) {
    for (int64_t label : term->labels) {
      if (!has(left.labels, label) || !has(right.labels, label)) keep.push_back(label);
    }
  }
  // What meets one element is summed by itself, also where it is one: of a sum nothing is kept.
  for (int i = 0; i < from_a.size(); ++i) {
    const bool one_in_b = b.sizes()[from_b[i]] == 1;
    if (one_in_b || a.sizes()[from_a[i]] == 1) {
      Term& longer = one_in_b ? left : right;
      const int d = place_of(longer.labels, from_a[i]);
      longer.x = sum(longer.x, {{d}}, true, a.dtype());
    }
  }
  const Casts casts = keep.empty() ? Casts::kNo : Casts::kYes;  // to one number, as dot
  return row_major(multiplied(left, right, keep, keep, casts).x);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t dims) {
  DT_CHECK(dims >= 0, kRuntimeError, "tensordot expects dims >= 0, but got dims=", dims);
  DT_CHECK(dims <= std::min(a.ndim(), b.ndim()), kRuntimeError,
           "tensordot expects dims < ndim_a or ndim_b, but got dims=", dims);
  Dims last, first;
  for (int64_t d = 0; d < dims; ++d) {
    last.push_back(d - dims);
    first.push_back(d);
  }
  return tensordot_dims(a, b, last, first);
}

// input1 meets the weight in one product, whose rows then meet those of input2.
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  check_bilinear(input1, input2, weight, bias);
  const int64_t k = weight.sizes()[0], n = weight.sizes()[1], m = weight.sizes()[2];
  const Tensor rows1 = reshape(input1, {-1, n}), rows2 = reshape(input2, {-1, m});
  const Tensor half = mm(rows1, reshape(transpose(weight, 0, 1), {n, k * m}));
  const Tensor y = bmm(reshape(half, {rows1.size(0), k, m}), unsqueeze(rows2, 2));
  Dims sizes = input1.sizes();
  sizes[sizes.size() - 1] = k;
  const Tensor product = unsafe_view(y, sizes);
  return bias.defined() ? add(product, bias) : product;
}

}  // namespace dt
