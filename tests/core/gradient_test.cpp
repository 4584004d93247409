// Gradients of products, indexing, convolution, pooling, normalisation and losses, of order 1 to 3.
#include "tests/core/gradcheck.h"

namespace dt::test {
namespace {

Tensor integers(IntList sizes, std::initializer_list<int64_t> values) {
  const Tensor x = make_empty(sizes, DType::INT64, kCpu);
  std::copy(values.begin(), values.end(), x.data_as<int64_t>());
  return x;
}

Tensor probabilities(IntList sizes, int seed) {
  const Tensor x = sigmoid(numbers(sizes, seed));
  x.set_requires_grad(true);
  return x;
}

void check_products() {
  gradcheck("mm", {parameter({2, 3}, 1), parameter({3, 2}, 2)},
            [](const Inputs& x) { return mm(x[0], x[1]); });
  gradcheck("matmul of a broadcast batch", {parameter({2, 1, 2, 3}, 1), parameter({2, 3, 2}, 2)},
            [](const Inputs& x) { return matmul(x[0], x[1]); });
  gradcheck("matmul of a batch and a vector", {parameter({2, 2, 3}, 1), parameter({3}, 2)},
            [](const Inputs& x) { return matmul(x[0], x[1]); });
  gradcheck("dot", {parameter({4}, 1), parameter({4}, 2)},
            [](const Inputs& x) { return dot(x[0], x[1]); });
  gradcheck("addmm", {parameter({2}, 1), parameter({3, 2}, 2), parameter({2, 2}, 3)},
            [](const Inputs& x) { return addmm(x[0], x[1], x[2], 0.5, 2); });
  gradcheck("linear", {parameter({2, 2, 3}, 1), parameter({2, 3}, 2), parameter({2}, 3)},
            [](const Inputs& x) { return linear(x[0], x[1], x[2]); });
  gradcheck("linear of a transposed input", {parameter({3, 2}, 1), parameter({2, 3}, 2)},
            [](const Inputs& x) { return linear(t(x[0]), x[1]); });
}

void check_indexing() {
  const Tensor rows = integers({3}, {1, 0, 1}), columns = integers({2, 1}, {2, 0});
  const Tensor positions = integers({2, 2}, {0, 1, 1, 0});
  gradcheck("index", {parameter({2, 2, 3}, 1)}, [=](const Inputs& x) {
    return index(x[0], {rows, Tensor(), columns});
  });
  for (bool accumulate : {false, true}) {
    const Tensor at = accumulate ? rows : integers({2}, {1, 0});
    gradcheck("index_put", {parameter({2, 3}, 1), parameter({3}, 2)},
              [=](const Inputs& x) { return mul(index_put(x[0], {at}, x[1], accumulate), x[0]); });
  }
  gradcheck(
      "index_select, index_add", {parameter({2, 3}, 1), parameter({3, 3}, 2)},
      [=](const Inputs& x) {
        return mul(index_add(x[0], 0, rows, x[1], 2), index_select(x[0], 0, integers({2}, {1, 1})));
      });
  gradcheck("gather, scatter", {parameter({2, 2}, 1), parameter({2, 3}, 2)}, [=](const Inputs& x) {
    return mul(gather(x[0], 0, positions), scatter(x[0], 1, positions, x[1]));
  });
  gradcheck("scatter_add", {parameter({3, 2}, 1), parameter({2, 2}, 2)},
            [=](const Inputs& x) { return square(scatter_add(x[0], 0, positions, x[1])); });
  gradcheck("masked_fill, masked_select", {parameter({2, 3}, 1), parameter({}, 2)},
            [](const Inputs& x) {
              const Tensor mask = gt(x[0].detach(), 0);
              return masked_select(square(masked_fill(x[0], mask, x[1])), mask);
            });
  gradcheck("tril", {parameter({3, 3}, 1)}, [](const Inputs& x) { return square(tril(x[0], -1)); });
  gradcheck("embedding", {parameter({3, 2}, 1)},
            [=](const Inputs& x) { return square(embedding(rows, x[0])); });
}

void check_images() {
  gradcheck("conv2d", {parameter({2, 2, 4, 3}, 1), parameter({2, 1, 2, 2}, 2), parameter({2}, 3)},
            [](const Inputs& x) {
              return conv2d(x[0], x[1], x[2], {2, 1}, {1, 0}, {1, 2}, 2);
            });
  gradcheck("max_pool2d", {parameter({1, 2, 4, 5}, 1)}, [](const Inputs& x) {
    return square(max_pool2d(x[0], {3, 2}, IntList{2, 1}, {1, 1}, {1, 1}, true));
  });
  gradcheck("avg_pool2d", {parameter({1, 2, 4, 5}, 1)}, [](const Inputs& x) {
    return square(avg_pool2d(x[0], {2, 2}, IntList{2, 1}, {1, 0}, true, false));
  });
}

void check_rows() {
  gradcheck("softmax", {parameter({2, 3}, 1)}, [](const Inputs& x) { return softmax(x[0], 1); });
  gradcheck("log_softmax", {parameter({2, 3}, 1)},
            [](const Inputs& x) { return log_softmax(x[0], 0); });
  gradcheck("layer_norm", {parameter({2, 3}, 1), parameter({3}, 2), parameter({3}, 3)},
            [](const Inputs& x) { return layer_norm(x[0], {3}, x[1], x[2], 0.1); });
  for (bool training : {true, false}) {
    const Tensor mean = numbers({2}, 4), variance = exp(numbers({2}, 5));
    gradcheck("batch_norm", {parameter({3, 2, 2}, 1), parameter({2}, 2), parameter({2}, 3)},
              [=](const Inputs& x) {
                return batch_norm(x[0], clone(mean), clone(variance), x[1], x[2], training, 0.1,
                                  0.1);
              });
  }
}

void check_losses() {
  const Tensor classes = integers({3}, {2, 0, 1}), weight = exp(numbers({3}, 9));
  for (Reduction r : {Reduction::kNone, Reduction::kMean, Reduction::kSum}) {
    gradcheck("mse_loss", {parameter({2, 3}, 1), parameter({3}, 2)},
              [=](const Inputs& x) { return mse_loss(x[0], x[1], r); });
    gradcheck("l1_loss", {parameter({2, 3}, 1), parameter({2, 3}, 2)},
              [=](const Inputs& x) { return mul(l1_loss(x[0], x[1], r), x[0]); });
    gradcheck("binary_cross_entropy", {probabilities({2, 2}, 1), probabilities({2, 2}, 2)},
              [=](const Inputs& x) { return binary_cross_entropy(x[0], x[1], Tensor(), r); });
    gradcheck("binary_cross_entropy_with_logits",
              {parameter({2, 2}, 1), probabilities({2, 2}, 2), probabilities({2}, 3)},
              [=](const Inputs& x) {
                return binary_cross_entropy_with_logits(x[0], x[1], Tensor(), r, x[2]);
              });
    gradcheck("nll_loss", {parameter({3, 3}, 1)},
              [=](const Inputs& x) { return square(nll_loss(x[0], classes, weight, 0, r)); });
    gradcheck("cross_entropy", {parameter({3, 3}, 1)},
              [=](const Inputs& x) { return cross_entropy(x[0], classes, weight, 0, r, 0.2); });
    gradcheck("cross_entropy of probabilities", {parameter({2, 3}, 1), probabilities({2, 3}, 2)},
              [=](const Inputs& x) { return cross_entropy(x[0], x[1], weight, -100, r, 0.2); });
  }
}

// Each evaluation must drop the same elements.
void check_dropout() {
  gradcheck("dropout", {parameter({3, 3}, 1)}, [](const Inputs& x) {
    default_generator()->manual_seed(7);
    return square(dropout(x[0], 0.4));
  });
}

}  // namespace
}  // namespace dt::test

int main() {
  using namespace dt::test;
  check_products();
  check_indexing();
  check_images();
  check_rows();
  check_losses();
  check_dropout();
  return report();
}
