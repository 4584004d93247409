#include "core/ops/recurrent/at_once.h"

#include <algorithm>
#include <utility>

#include "core/autograd/fused.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg/multiply.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/linalg.gen.h"
#include "core/runtime/calls/recurrent.gen.h"
#include "core/runtime/transfer.h"

namespace dt {
namespace {

// The inputs of the op, in this order.
enum InputIndex {
  kRows,
  kInputWeight,
  kHiddenWeight,
  kInputBias,
  kHiddenBias,
  kFirstH,
  kFirstC,
  kInputs
};
using Tensors = std::vector<Tensor>;

struct Pass {
  Recurrence kind;
  std::vector<int64_t> batch_sizes;
  bool reverse;
  int64_t elements, hidden;

  bool is_gru() const { return kind == Recurrence::kGru; }
  bool is_lstm() const { return kind == Recurrence::kLstm; }
  int64_t products() const { return gates_of(kind) * hidden; }
  // What the kernel calls gates.
  int64_t gates() const { return is_gru() ? 4 * hidden : products(); }
  Activation activation() const {
    return kind == Recurrence::kTanh   ? Activation::kTanh
           : kind == Recurrence::kRelu ? Activation::kRelu
                                       : Activation::kDefault;
  }
  Tensor sizes_tensor() const {
    const int64_t steps = static_cast<int64_t>(batch_sizes.size());
    const Tensor sizes = make_empty({steps}, kIndexDType, kCpu);
    std::copy(batch_sizes.begin(), batch_sizes.end(), sizes.data_as<int64_t>());
    return sizes;
  }
};

// What the backward needs of the forward, without a history.
struct Kept {
  Tensor gates, before, cells_before;
};

bool is_vector(const Tensor& x, int64_t n) {
  return x.ndim() == 1 && x.size(0) == n;
}

// Kernels trust what they are given. What is odd is composed of other ops, and refused by these if
// need be.
bool has_kernel(const Pass& p, const Tensors& in, const Tensor& projection) {
  // Fewer elements are not worth packing a weight that is not small.
  constexpr int64_t kLeastElements = 8, kSmallWeight = 1 << 16;
  const Tensor& rows = in[kRows];
  const Tensor &b = in[kInputBias], &other = in[kHiddenBias];
  if (projection.defined() || rows.numel() == 0 || p.hidden == 0 ||
      (p.elements < kLeastElements && in[kHiddenWeight].numel() > kSmallWeight))
    return false;
  // PyTorch's lstm_cell makes the hidden state of the cells that it returns: it has a gradient by
  // these.
  if (p.batch_sizes.size() == 1) return false;
  for (const Tensor& x : in) {
    if (x.defined() && (x.dtype() != rows.dtype() || x.device() != rows.device())) return false;
  }
  const bool has_biases = b.defined() && other.defined();
  return is_floating(rows.dtype()) && !is_narrow(rows.dtype()) &&
         rows.size(1) == in[kInputWeight].size(1) &&
         (has_biases ? is_vector(b, p.products()) && is_vector(other, p.products())
                     : !b.defined() && !other.defined());
}

// Some columns of a contiguous matrix, as a product's kernel sees them.
View columns_of(const Tensor& x, int64_t column, int64_t columns) {
  const int64_t sizes[] = {1, x.size(0), columns}, strides[] = {0, x.size(1), 1};
  return View(x, {sizes, 3}, {strides, 3}, column);
}

// What does not depend on the hidden state, where the kernel expects it.
Tensor input_side(const Pass& p, const Tensors& in) {
  const Tensor& x = in[kRows];
  const Tensor gates = make_empty({p.elements, p.gates()}, x.dtype(), x.device());
  const int64_t n = p.is_gru() ? 2 * p.hidden : p.products();  // where sums have both biases
  Tensor bias;
  MatmulCall call;
  call.y = columns_of(gates, 0, p.products());
  call.a = Factor{x, false}.view();
  call.b = Factor{in[kInputWeight], true}.view();
  call.alpha = 1;
  if (in[kInputBias].defined()) {
    bias = clone(in[kInputBias]);
    add_(narrow(bias, 0, 0, n), narrow(in[kHiddenBias], 0, 0, n));
    const int64_t sizes[] = {1, p.elements, p.products()}, strides[] = {0, 0, 1};
    call.c = View(bias, {sizes, 3}, {strides, 3}, 0);
    call.beta = 1;
  }
  run(op::matmul, call);
  if (p.is_gru()) {
    const Tensor last = narrow(gates, 1, 3 * p.hidden, p.hidden);
    if (bias.defined()) {
      copy_(last, narrow(in[kHiddenBias], 0, 2 * p.hidden, p.hidden));
    } else {
      zero_(last);
    }
  }
  return gates;
}

// An operand that the host reads, whatever device the others are on.
View on_the_host(const Tensor& x) {
  View view(x);
  view.device = -1;
  return view;
}

Tensor copied(const Tensor& x) {
  return clone(x, MemoryFormat::kContiguous);
}

// `kept` says which of what it holds is asked for.
RecurrentRun forward_at_once(const Pass& p, const Tensors& in, const Kept& kept) {
  const Tensor& x = in[kRows];
  const RecurrentRun run = {make_empty({p.elements, p.hidden}, x.dtype(), x.device()),
                            {copied(in[kFirstH]), p.is_lstm() ? copied(in[kFirstC]) : Tensor()}};
  const Tensor weight = contiguous(in[kHiddenWeight]), sizes = p.sizes_tensor();
  RecurrentCall call;
  call.gates = kept.gates;
  call.y = run.rows;
  call.h = run.last.h;
  call.c = run.last.c;
  call.before = kept.before;
  call.cells_before = kept.cells_before;
  call.weight = weight;
  call.batch_sizes = on_the_host(sizes);
  call.activation = p.activation();
  call.reverse = p.reverse;
  return run_shortcut(op::recurrent, call) ? run : RecurrentRun();
}

// The gradients of the sums that the gates are made of.
struct GateGradients {
  Tensor input_side, hidden_side;  // one tensor, but of a GRU
  RecurrentState first;
};

Tensor gradient_of_state(const Tensor& g, const Pass& p, const Tensor& like) {
  return g.defined() ? copied(g) : zeros({p.batch_sizes[0], p.hidden}, like.dtype(), like.device());
}

GateGradients through_steps(const BackwardCall& b, const Pass& p, const Tensor& hidden_weight,
                            const Kept& kept) {
  const Tensor& gates = kept.gates;
  const auto side = [&] {
    return make_empty({p.elements, p.products()}, gates.dtype(), gates.device());
  };
  GateGradients to;
  to.input_side = side();
  to.hidden_side = p.is_gru() ? side() : to.input_side;
  to.first.h = gradient_of_state(b.grads[1], p, gates);
  if (p.is_lstm()) to.first.c = gradient_of_state(b.grads[2], p, gates);
  const Tensor weight = contiguous(hidden_weight), sizes = p.sizes_tensor();
  const Tensor g = b.grads[0].defined() ? contiguous(b.grads[0]) : Tensor();
  RecurrentBackwardCall call;
  call.ggates = to.input_side;
  if (p.is_gru()) call.ghidden = to.hidden_side;
  call.gh = to.first.h;
  call.gc = to.first.c;
  call.g = g;
  call.weight = weight;
  call.gates = gates;
  call.before = kept.before;
  call.cells_before = kept.cells_before;
  call.batch_sizes = on_the_host(sizes);
  call.activation = p.activation();
  call.reverse = p.reverse;
  run(op::recurrent_backward, call);
  return to;
}

// What a node keeps. PyTorch's backward asks whether what it reads was written since, and lets
// alone what it does not read: of small ones the composition reads copies then.
struct SavedPass {
  std::vector<Saved> inputs;
  Saved places[kInputs];  // may have been written
  Tensor copies[kInputs];
  Saved gates, before, cells_before;
  Order of_rows, of_weight;  // as `linear` has them

  Kept kept(Node* owner) const {
    return {gates.get(owner), before.get(owner), cells_before.get(owner)};
  }
};

bool is_read(InputIndex i, const BackwardCall& b) {
  switch (i) {
    case kRows:
      return b.wants(kInputWeight);
    case kInputWeight:
      return b.wants(kRows);
    case kHiddenWeight:
      return true;
    case kFirstH:
      return b.wants(kHiddenWeight);
    case kFirstC:  // a forget gate's gradient reads it
      for (const InputIndex other :
           {kRows, kInputWeight, kHiddenWeight, kInputBias, kHiddenBias, kFirstH})
        if (b.wants(other)) return true;
      return false;
    default:
      return false;
  }
}

Tensor alias_of(InputIndex i, const BackwardCall& b, const SavedPass& saved) {
  if (saved.copies[i].defined() && !is_read(i, b))
    return alias_with(saved.places[i].get(b.node), saved.copies[i]);
  const Tensor x = saved.inputs[i].get(b.node);
  return x.defined() ? alias(x) : x;
}

void backward_at_once(BackwardCall& b, const Pass& p, const SavedPass& saved) {
  const auto input = [&](InputIndex i) {
    return is_read(i, b) ? saved.inputs[i].get(b.node) : Tensor();
  };
  input(kFirstH);  // its copy serves, but PyTorch asks
  input(kFirstC);
  const Kept kept = saved.kept(b.node);
  const GateGradients g = through_steps(b, p, input(kHiddenWeight), kept);
  const Tensor &x = g.input_side, &h = g.hidden_side;
  if (b.wants(kRows))
    b.results[kRows] = mm_product({x, false}, {input(kInputWeight), false}, saved.of_rows);
  if (b.wants(kInputWeight))
    b.results[kInputWeight] = mm_product({x, true}, {input(kRows), false}, saved.of_weight);
  if (b.wants(kHiddenWeight)) b.results[kHiddenWeight] = multiply({h, true}, {kept.before, false});
  if (b.wants(kInputBias)) b.results[kInputBias] = addend_gradient(x, 1);
  if (b.wants(kHiddenBias)) {
    const bool is_known = b.wants(kInputBias) && !p.is_gru();
    b.results[kHiddenBias] = is_known ? clone(b.results[kInputBias]) : addend_gradient(h, 1);
  }
  b.results[kFirstH] = g.first.h;
  if (p.is_lstm()) b.results[kFirstC] = g.first.c;
}

Tensors outputs_of(const RecurrentRun& run) {
  Tensors outputs = {run.rows, run.last.h};
  if (run.last.c.defined()) outputs.push_back(run.last.c);
  return outputs;
}

// The composition: each step is many ops.
void backward_by_steps(BackwardCall& b, const Pass& p, const SavedPass& saved) {
  Tensors x;
  for (int i = 0; i < kInputs; ++i) x.push_back(alias_of(static_cast<InputIndex>(i), b, saved));
  const RecurrentWeights w = {x[kInputWeight], x[kHiddenWeight], x[kInputBias], x[kHiddenBias],
                              Tensor()};
  const RecurrentRun run =
      run_by_steps(p.kind, x[kRows], p.batch_sizes, {x[kFirstH], x[kFirstC]}, w, p.reverse);
  const Tensors gradients = gradients_by(x, outputs_of(run), b);
  for (int i = 0; i < kInputs; ++i) b.results[i] = gradients[i];
}

const char* node_name(Recurrence kind) {
  return kind == Recurrence::kLstm  ? "LstmBackward0"
         : kind == Recurrence::kGru ? "GruBackward0"
                                    : "RnnBackward0";
}

void record_pass(const Pass& p, const Tensors& in, const RecurrentRun& run, const Kept& kept) {
  SavedPass saved;
  for (const Tensor& x : in) saved.inputs.push_back(Saved::input(x));
  for (const InputIndex i : {kInputBias, kHiddenBias, kFirstH}) {
    if (!in[i].defined()) continue;
    saved.places[i] = Saved::place(in[i]);
    saved.copies[i] = copied(in[i].detach());
  }
  saved.of_rows = order_of(in[kRows]);
  saved.of_weight = order_of(in[kInputWeight]);
  saved.gates = Saved::input(kept.gates);
  saved.before = Saved::input(kept.before);
  saved.cells_before = Saved::input(kept.cells_before);
  record_all(
      node_name(p.kind), outputs_of(run), in, [p, saved = std::move(saved)](BackwardCall& b) {
        return b.create_graph ? backward_by_steps(b, p, saved) : backward_at_once(b, p, saved);
      });
}

}  // namespace

RecurrentRun run_at_once(Recurrence kind, const Tensor& rows, IntList batch_sizes,
                         const RecurrentState& first, const RecurrentWeights& w, bool reverse) {
  const Pass p = {kind, batch_sizes.to_vector(), reverse, rows.size(0), w.hidden.size(1)};
  const Tensors in = {rows, w.input, w.hidden, w.input_bias, w.hidden_bias, first.h, first.c};
  if (!has_kernel(p, in, w.projection)) return {};
  const bool has_backward = needs_graph(in);
  Kept kept;
  RecurrentRun run;
  {
    const GradMode no_grad(false);
    const auto rows_if = [&](bool wanted) {
      return wanted ? make_empty({p.elements, p.hidden}, rows.dtype(), rows.device()) : Tensor();
    };
    kept = {input_side(p, in), rows_if(has_backward && (p.is_gru() || w.hidden.requires_grad())),
            rows_if(has_backward && p.is_lstm())};
    run = forward_at_once(p, in, kept);
  }
  if (has_backward && run.rows.defined()) record_pass(p, in, run, kept);
  return run;
}

}  // namespace dt
