// The shortest training run there is: a 2-4-1 network learns exclusive or.
//
//   xor
//
// make build puts it into build/examples/cpp.
#include <cstdio>
#include <dumbtorch.hpp>

namespace dt = dumbtorch;
namespace nn = dumbtorch::nn;

int main() try {
  dt::manual_seed(0);
  const dt::Tensor x = dt::tensor<float>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  const dt::Tensor y = dt::tensor<float>({0, 1, 1, 0}, {4, 1});

  const dt::Module model = nn::Sequential({nn::Linear(2, 4), nn::Tanh(), nn::Linear(4, 1)});
  dt::optim::SGDOptions options;
  options.lr = 0.1;
  const dt::Optimizer optimizer = dt::optim::SGD(model.parameters(), options);
  for (int epoch = 1; epoch <= 1000; ++epoch) {
    optimizer.zero_grad();
    const dt::Tensor loss = dt::functional::mse_loss(model(x), y);
    loss.backward();
    optimizer.step();
    if (epoch % 100 == 0) std::printf("epoch %d loss %.6f\n", epoch, loss.item().to_double());
  }

  const dt::NoGrad guard;
  const std::vector<double> in = dt::to_vector<double>(x), out = dt::to_vector<double>(model(x));
  for (size_t i = 0; i < out.size(); ++i) {
    std::printf("%.0f xor %.0f = %.3f\n", in[2 * i], in[2 * i + 1], out[i]);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
