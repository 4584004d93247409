// A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
// the other languages are the same and print the same losses.
//
//   train_cnn [folder with the four IDX files] [steps] [cpu or cuda]
//
// make build puts it into build/examples/cpp.
#include <cstdio>
#include <cstdlib>
#include <dumbtorch.hpp>

namespace dt = dumbtorch;
namespace nn = dumbtorch::nn;

static dt::Module make_model() {
  dt::NnConv2dOptions padded;
  padded.padding = {1};
  return nn::Sequential({
      nn::Conv2d(1, 8, 3, padded),
      nn::ReLU(),
      nn::MaxPool2d(2),
      nn::Conv2d(8, 16, 3, padded),
      nn::ReLU(),
      nn::MaxPool2d(2),
      nn::Flatten(),
      nn::Linear(784, 64),
      nn::ReLU(),
      nn::Linear(64, 10),
  });
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const int64_t steps = argc > 2 ? std::atoll(argv[2]) : 100, batch = 64;
  const bool on_gpu = argc > 3 && argv[3] == std::string("cuda");
  const dt::Device device = on_gpu ? dt::DeviceType::kCuda : dt::DeviceType::kCpu;
  dt::set_default_device(device);
  const auto read = [&](const char* name, dt::DType dtype) {
    return dt::utils::data::read_idx(folder + "/" + name).to(device, dtype);
  };
  const dt::Tensor images = (read("train-images-idx3-ubyte.gz", dt::kFloat32) / 255).unsqueeze(1);
  const dt::Tensor labels = read("train-labels-idx1-ubyte.gz", dt::kInt64);

  dt::manual_seed(0);
  const dt::Module model = make_model();
  const dt::Optimizer optimizer = dt::optim::Adam(model.parameters());  // lr 0.001
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t first = step * batch % (labels.size(0) - batch);
    const dt::Tensor x = images.narrow(0, first, batch), target = labels.narrow(0, first, batch);
    optimizer.zero_grad();
    const dt::Tensor loss = dt::functional::cross_entropy(model(x), target);
    loss.backward();
    optimizer.step();
    if (step % 10 == 0 || step == steps - 1) {
      std::printf("step %d loss %.4f\n", static_cast<int>(step), loss.item().to_double());
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
