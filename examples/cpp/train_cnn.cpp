// A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
// the other languages are the same and print the same losses and
// accuracy.
//
//   train_cnn [folder with the four IDX files] [steps] [cpu or cuda]
//
// make build puts it into build/examples/cpp.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dumbtorch.hpp>

namespace dt = dumbtorch;
namespace nn = dumbtorch::nn;

static dt::Module make_model() {
  nn::Conv2dOptions padded;
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

struct Data {
  dt::Tensor images, labels;
};

static Data read_files(const std::string& folder, const std::string& name, dt::Device device) {
  const auto read = [&](const char* kind, dt::DType dtype) {
    return dt::utils::data::read_idx(folder + "/" + name + kind).to(device, dtype);
  };
  return {(read("-images-idx3-ubyte.gz", dt::kFloat32) / 255).unsqueeze(1),
          read("-labels-idx1-ubyte.gz", dt::kInt64)};
}

// The share of images that it knows, in percent.
static double accuracy(const dt::Module& model, const Data& data) {
  const int64_t count = data.labels.size(0), piece = 1000;
  int64_t right = 0;
  const dt::NoGrad no_grad;
  for (int64_t first = 0; first < count; first += piece) {
    const int64_t n = std::min(piece, count - first);
    const dt::Tensor guess = model(data.images.narrow(0, first, n)).argmax(1);
    right += (guess == data.labels.narrow(0, first, n)).sum().item().to_int();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(count);
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const int64_t steps = argc > 2 ? std::atoll(argv[2]) : 100, batch = 64;
  const bool on_gpu = argc > 3 && argv[3] == std::string("cuda");
  const dt::Device device = on_gpu ? dt::DeviceType::kCuda : dt::DeviceType::kCpu;
  dt::set_default_device(device);
  const Data train = read_files(folder, "train", device), test = read_files(folder, "t10k", device);

  dt::manual_seed(0);
  const dt::Module model = make_model();
  dt::optim::AdamOptions settings;
  settings.lr = 0.003;
  const dt::Optimizer optimizer = dt::optim::Adam(model.parameters(), settings);
  const dt::LrScheduler schedule = dt::optim::lr_scheduler::CosineAnnealingLR(optimizer, steps);
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t first = step * batch % (train.labels.size(0) - batch);
    const dt::Tensor x = train.images.narrow(0, first, batch);
    const dt::Tensor target = train.labels.narrow(0, first, batch);
    optimizer.zero_grad();
    const dt::Tensor loss = dt::functional::cross_entropy(model(x), target);
    loss.backward();
    optimizer.step();
    schedule.step();
    if (step % 10 == 0 || step == steps - 1) {
      std::printf("step %d loss %.4f\n", static_cast<int>(step), loss.item().to_double());
    }
  }
  std::printf("test accuracy %.2f %%\n", accuracy(model, test));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
