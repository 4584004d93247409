// dumbtorch.hpp: ownership, exceptions, arguments, callbacks. What the functions compute is tested
// by conformance_test.cpp.
#include <cstdio>
#include <dumbtorch.hpp>
#include <sstream>
#include <thread>

#include <unistd.h>

namespace dt = dumbtorch;

namespace {

int failures = 0;

#define CHECK(condition) check((condition), #condition, __LINE__)
void check(bool condition, const char* text, int line) {
  if (condition) return;
  ++failures;
  std::fprintf(stderr, "line %d: %s\n", line, text);
}

double total(const dt::Tensor& x) {
  return x.sum().item().to_double();
}

template <class Body>
dt_status error_of(Body body) {
  try {
    body();
  } catch (const dt::Error& error) {
    return error.code();
  }
  return DT_STATUS_OK;
}

void test_ownership() {
  const dt::Tensor x = dt::ones({2, 3});
  dt::Tensor same = x;
  const dt::Tensor moved = std::move(same);
  CHECK(moved.is_same(x));
  moved.add_(1);
  CHECK(total(x) == 12);  // copies are one tensor
  same = x.clone();
  CHECK(!same.is_same(x));
  dt::Tensor empty;
  CHECK(!empty.defined());
  CHECK(error_of([&] { empty.relu(); }) == DT_STATUS_HANDLE);
}

void test_arguments() {
  const dt::Tensor x = dt::tensor<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(x.sum({0, 1}).dim() == 0 && x.sum(0).size(0) == 3 && x.sum({-1}, true).dim() == 2);
  CHECK(dt::zeros({}).dim() == 0);
  CHECK(dt::zeros({2}, dt::kInt64).dtype() == dt::kInt64);
  CHECK(x.to(dt::kInt64).dtype() == dt::kInt64 && !x.to(dt::kFloat32, false, true).is_same(x));
  CHECK(x.to(dt::Device(dt::DeviceType::kCpu)).is_same(x) && x.to(dt::DeviceType::kCpu).is_same(x));
  CHECK(x.to(std::nullopt, dt::kFloat64).dtype() == dt::kFloat64);
  CHECK(x.to().is_same(x) && x.to({}).is_same(x));
  CHECK(dt::full({1}, 1).dtype() == dt::kInt64 && dt::full({1}, 0.5).dtype() == dt::kFloat32);
  CHECK(dt::full({1}, true).dtype() == dt::kBool);
  CHECK(total(x.clamp(std::nullopt, 2)) == 11 && total(x.clamp(5)) == 31);
  CHECK(dt::cat({x, x * 2}).size(0) == 4);
  CHECK(dt::cat(std::vector<dt::Tensor>{x, x}, 1).size(1) == 6);
  CHECK(dt::eye(2, 5).size(1) == 5);
  const std::vector<int64_t> many(20, 1);
  CHECK(error_of([&] { dt::zeros(many); }) != DT_STATUS_OK);  // at most 16 dimensions
  CHECK(dt::functional::max_pool2d(dt::ones({1, 4, 4}), 2).size(2) == 2);
  const auto [values, indices] = x.max(1);
  CHECK(total(values) == 9 && indices.dtype() == dt::kInt64);
  CHECK(x.shape() == (std::vector<int64_t>{2, 3}) && x.device() == dt::Device());
  const dt::MemoryStatsResult stats = dt::memory_stats();
  CHECK(stats.peak >= stats.allocated);
}

// What is on the CPU stays; where there is no GPU, cuda() says so.
void test_devices() {
  const dt::Tensor x = dt::ones({2});
  const dt::Module linear = dt::nn::Linear(2, 2);
  CHECK(x.cpu().is_same(x));
  linear.cpu();
  CHECK(error_of([&] { x.cuda(dt::Device(dt::DeviceType::kCpu)); }) == DT_STATUS_RUNTIME_ERROR);
  CHECK(error_of([&] { linear.cuda(dt::Device()); }) == DT_STATUS_RUNTIME_ERROR);
  if (dt::cuda_device_count() > 0) {
    CHECK(x.cuda().device() == dt::Device(dt::DeviceType::kCuda) && total(x.cuda().cpu()) == 2);
    linear.cuda();
    CHECK(linear.parameters()[0].device() == dt::Device(dt::DeviceType::kCuda));
    CHECK(dt::get_device_properties(dt::DeviceType::kCuda).multi_processor_count > 0);
  } else {
    CHECK(error_of([&] { x.cuda(); }) == DT_STATUS_RUNTIME_ERROR);
    CHECK(error_of([&] { linear.cuda(); }) == DT_STATUS_RUNTIME_ERROR);
  }
  const dt::Stream main = dt::current_stream();
  CHECK(main.device() == dt::Device() && main.native() == 0 && dt::default_stream().query());
}

void test_operators() {
  const dt::Tensor x = dt::tensor<double>({1, 2}, {2});
  CHECK(total(x + 1) == 5 && total(1 + x) == 5 && total(x - 1) == 1 && total(5 - x) == 7);
  CHECK(total(x * x) == 5 && total(2 / x) == 3 && total(-x) == -3 && total(x / 2) == 1.5);
  const auto n = dt::tensor<int64_t>({3, -4}, {2});
  CHECK(total(7 % n) == 0 && total(7.5 % n) == 1 && total(7 << n) == 56 && total(70 >> n) == 8);
  CHECK(total(x == x) == 2 && total(x == 1) == 1 && total(1 != x) == 1 && total(x > 1) == 1);
  CHECK(total((x < 2) | (x > 1)) == 2 && total(~(x < 2)) == 1 && total(dt::pow(2, x)) == 6);
  dt::Tensor y = x;
  y += 1;
  y *= x;
  CHECK(total(x) == total(y) && total(x) == 13);  // in place
}

void test_errors() {
  const dt::Tensor x = dt::ones({2, 3});
  try {
    x.matmul(x);
    CHECK(false);
  } catch (const dt::Error& error) {
    CHECK(error.code() == DT_STATUS_RUNTIME_ERROR);
    CHECK(std::string(error.what()) ==
          "matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  }
  CHECK(error_of([&] { x.sum(7); }) == DT_STATUS_INDEX_ERROR);
}

void test_callbacks() {
  const dt::Tensor x = dt::ones({3}).requires_grad_();
  int calls = 0;
  const dt::Hook hook = x.register_hook([&](const dt::Tensor& grad) {
    ++calls;
    return grad * 2;
  });
  (x * 3).sum().backward();
  CHECK(calls == 1 && total(x.grad()) == 18);
  hook.remove();
  (x * 3).sum().backward();
  CHECK(calls == 1);

  const auto token = std::make_shared<int>(7);
  struct Mine {};
  {
    const dt::Tensor z = dt::ones({1}).requires_grad_();
    z.register_hook([token](const dt::Tensor&) -> dt::Tensor { throw Mine(); });
    bool caught = false;
    try {
      z.sum().backward();
    } catch (const Mine&) {
      caught = true;  // the exception itself comes back, whatever its type
    }
    CHECK(caught && token.use_count() == 2);
  }
  dt::ones({1});  // user data is dropped by a call, not by a release
  CHECK(token.use_count() == 1);
}

// What is dropped while an exception is on its way calls a hook that throws another.
void test_exceptions_of_drops() {
  struct Mine {};
  struct Other {};
  const dt::Tensor w = dt::ones({1}).requires_grad_(), x = dt::ones({1}).requires_grad_();
  w.register_hook([](const dt::Tensor&) -> dt::Tensor { throw Other(); });
  const dt::Tensor loss = w.sum();
  bool dropped = false, caught = false;
  const auto drop = [&] {
    try {
      loss.backward();
    } catch (const Other&) {
      dropped = true;
    }
  };
  float gradient = 1;
  x.register_hook([&](const dt::Tensor&) { return dt::from_blob(&gradient, {1}, drop); });
  x.register_hook([](const dt::Tensor&) -> dt::Tensor { throw Mine(); });
  try {
    x.sum().backward();
  } catch (const Mine&) {
    caught = true;
  }
  CHECK(dropped && caught);
}

void test_custom_function() {
  const dt::Tensor x = dt::full({2}, 3.0).requires_grad_();
  dt::Tensor y;
  {
    const dt::NoGrad guard;
    y = x.square();
  }
  using List = std::vector<dt::Tensor>;
  const List out = dt::autograd::custom_function(
      "Square", {x}, {y}, {x},
      [](const List& grads, const List& saved) -> List { return {grads[0] * saved[0] * 2}; });
  out[0].sum().backward();
  CHECK(total(x.grad()) == 12);
  CHECK(dt::is_grad_enabled());
}

void test_gradcheck() {
  using List = std::vector<dt::Tensor>;
  const dt::Tensor x = dt::tensor<double>({-1.5, 0.5, 2}).requires_grad_();
  const auto cube = [](const List& in) { return List{in[0] * in[0] * in[0]}; };
  CHECK(dt::autograd::gradcheck(cube, {x}) && dt::autograd::gradgradcheck(cube, {x}));
  double slope = 2;
  const auto own_square = [&](const List& in) {
    return dt::autograd::custom_function(
        "Own", {in[0]}, {in[0].detach().square()}, {in[0]},
        [&](const List& grads, const List& saved) { return List{grads[0] * saved[0] * slope}; });
  };
  CHECK(dt::autograd::gradcheck(own_square, {x}));
  slope = 3;
  try {
    dt::autograd::gradcheck(own_square, {x});
    CHECK(false);
  } catch (const dt::Error& error) {
    CHECK(error.code() == DT_STATUS_GRADCHECK_ERROR);
    CHECK(
        std::string(error.what()).find("Jacobian mismatch for output 0 with respect to input 0") !=
        std::string::npos);
  }
  CHECK(!dt::autograd::gradcheck(own_square, {x}, 1e-6, 1e-5, 1e-3, 0, false));
  struct Mine {};
  bool caught = false;
  try {
    dt::autograd::gradcheck([](const List&) -> List { throw Mine(); }, {x});
  } catch (const Mine&) {
    caught = true;
  }
  CHECK(caught);
  CHECK(error_of([&] { dt::autograd::gradcheck([](const List&) { return List(1); }, {x}); }) ==
        DT_STATUS_TYPE_ERROR);
  CHECK(error_of([&] { dt::autograd::gradcheck(nullptr, {x}); }) == DT_STATUS_TYPE_ERROR);
}

void test_autocast() {
  const dt::Tensor x = dt::ones({2, 2}).requires_grad_();
  {
    const dt::Autocast guard(dt::DeviceType::kCpu);
    const dt::Tensor y = x.mm(x);
    CHECK(y.dtype() == dt::DType::kBfloat16);
    const dt::Autocast off(dt::DeviceType::kCpu, std::nullopt, false);
    CHECK(x.mm(x).dtype() == dt::DType::kFloat32);
    y.sum().backward();
  }
  CHECK(x.grad().dtype() == dt::DType::kFloat32 && total(x.grad()) == 16);
  CHECK(!dt::is_autocast_enabled(dt::DeviceType::kCpu));
}

void test_data() {
  std::vector<float> memory = {1, 2, 3};
  bool dropped = false;
  {
    const dt::Tensor view = dt::from_blob(memory.data(), {3}, [&] { dropped = true; });
    view.add_(1);
  }
  CHECK(memory[2] == 4);
  dt::ones({1});
  CHECK(dropped);
  const dt::Tensor x = dt::tensor<int64_t>({1, 2, 3});
  CHECK(dt::to_vector<int>(x == 2) == (std::vector<int>{0, 1, 0}));
  CHECK(dt::to_vector<bool>(x == 2)[1]);
  CHECK(dt::tensor<int16_t>({1, -2}).dtype() == dt::kInt16);
  CHECK(dt::to_vector<int8_t>(-x) == (std::vector<int8_t>{-1, -2, -3}));
  std::ostringstream text;
  text << x;
  CHECK(text.str() == "tensor([1, 2, 3])");
  CHECK(!dt::build_info().empty());
}

void test_lists() {
  const std::vector<bool> flags = {true, false, true};
  CHECK(dt::to_vector<bool>(dt::tensor(flags)) == flags);
  CHECK(dt::tensor(flags, {1, 3}).dtype() == dt::kBool);
  CHECK(total(dt::from_bools({true, false, false, true}, {2, 2})) == 2);
  const dt::Tensor x = dt::arange(0, 6).to(dt::kFloat32).reshape({1, 1, 2, 3});
  namespace F = dt::functional;
  CHECK(F::interpolate(x, std::nullopt, {2, 1}).shape() == (std::vector<int64_t>{1, 1, 4, 3}));
  CHECK(F::interpolate(x, 4, std::nullopt, dt::Interpolation::kNearestExact).numel() == 16);
  dt::nn::UpsampleOptions larger;
  larger.scale_factor = {2.0};
  CHECK(dt::nn::Upsample(larger)(x).numel() == 24);
  dt::nn::MaxPool2dOptions pool;
  pool.stride = {1, 1};
  CHECK(dt::nn::MaxPool2d({2, 2}, pool)(x).shape() == (std::vector<int64_t>{1, 1, 1, 2}));
  const dt::Optimizer sgd = dt::optim::SGD({x});
  for (int64_t group = 1; group < 20; ++group) {  // more than the first buffer has room for
    sgd.add_param_group({dt::ones({1})});
    sgd.set("lr", static_cast<double>(group), group);
  }
  const dt::LrScheduler schedule = dt::optim::lr_scheduler::StepLR(sgd, 1);
  schedule.step();
  const std::vector<double> rates = schedule.get_last_lr();
  CHECK(rates.size() == 20 && rates[19] == 19 * 0.1);
}

void test_other_files() {
  char name[] = P_tmpdir "/dt-wrapper-XXXXXX";
  const int file = mkstemp(name);
  CHECK(file >= 0);
  const dt::Tensor x = dt::arange(0, 6).view({2, 3});
  dt::save_checkpoint(name, {"a", "b"}, {x, x.t()});
  CHECK(dt::checkpoint_names(name) == (std::vector<std::string>{"a", "b"}));
  const auto read = dt::load_checkpoint(name, {"b"});
  CHECK(read.tensors.size() == 1 && total(read.tensors[0]) == 15);
  CHECK(read.tensors[0].stride() == (std::vector<int64_t>{1, 3}));
  dt::utils::data::save_npz(name, {"a"}, {x});
  CHECK(dt::utils::data::load_npz(name).names[0] == "a" &&
        total(dt::utils::data::load_npz(name).arrays[0]) == 15);
  dt::utils::data::save_npy(name, x);
  CHECK(total(dt::utils::data::load_npy(name)) == 15);
  CHECK(error_of([&] { dt::load_checkpoint(name); }) == DT_STATUS_IO);
  close(file);
  std::remove(name);
}

void test_safetensors() {
  char name[] = P_tmpdir "/dt-wrapper-XXXXXX";
  const int file = mkstemp(name);
  CHECK(file >= 0);
  const std::string path = name;
  dt::save_safetensors(path, {"a", "b"}, {dt::ones({2}), dt::full({3}, 2.0)});
  CHECK(total(dt::load_safetensors(path, {"b"}).tensors[0]) == 6);
  CHECK(dt::safetensors_names(path) == (std::vector<std::string>{"a", "b"}));
  CHECK(error_of([&] { dt::load_safetensors(path, {"c"}); }) == DT_STATUS_INDEX_ERROR);
  const auto token = std::make_shared<int>(0);
  const dt::Progress watch = [token](int64_t done, int64_t total) {
    ++*token;
    CHECK(total == 20 && (done == 0 || done == 20));
    return done == 20;
  };
  CHECK(error_of([&] { dt::load_safetensors(path, std::nullopt, watch); }) == DT_STATUS_CANCELLED);
  CHECK(*token == 2 && token.use_count() == 2);
  // C would write a file of a shorter name.
  const std::string with_nul = path + std::string("\0.more", 6);
  CHECK(error_of([&] { dt::save_safetensors(with_nul, {"a"}, {dt::ones({1})}); }) ==
        DT_STATUS_VALUE_ERROR);
  CHECK(error_of([&] { dt::nn::Linear(1, 1).save(with_nul); }) == DT_STATUS_VALUE_ERROR);
  const std::vector<std::string> odd_names = {std::string("a\0b", 3)};
  CHECK(error_of([&] { dt::save_safetensors(path, odd_names, {dt::ones({1})}); }) ==
        DT_STATUS_VALUE_ERROR);
  CHECK(dt::safetensors_names(path).size() == 2);
  struct Mine {};
  try {
    dt::save_safetensors(path, {"a"}, {dt::ones({1})},
                         [](int64_t, int64_t) -> bool { throw Mine(); });
    CHECK(false);
  } catch (const Mine&) {
    CHECK(dt::load_safetensors(path).names.size() == 2);  // the old file
  }
  close(file);
  std::remove(name);
}

void test_contexts_and_logs() {
  const dt::Tensor x = dt::ones({3});
  const dt::Tensor same = dt::from_dlpack(dt::to_dlpack(x));
  same.add_(1);
  CHECK(total(x) == 6);
  const dt::Context context = dt::new_context();
  {
    const dt::UseContext use(context);
    dt::set_default_dtype(dt::kFloat64);
    CHECK(dt::ones({1}).dtype() == dt::kFloat64);
    const dt::UseContext again(context);  // as long as it lasts, and then still
    dt::set_own_generators(true);
  }
  CHECK(!dt::has_own_generators());
  {
    const dt::UseContext use(context);
    CHECK(dt::has_own_generators() && dt::ones({1}).dtype() == dt::kFloat64);
    std::thread([&] {
      CHECK(error_of([&] { const dt::UseContext other(context); }) == DT_STATUS_RUNTIME_ERROR);
    }).join();
  }
  CHECK(dt::ones({1}).dtype() == dt::kFloat32);
  dt::set_log([](dt::LogLevel, const std::string&) {});
  dt::set_log(nullptr);
  int64_t missing = 0;
  dt::set_memory_hook([&](int64_t bytes) { return (missing = bytes) < 0; });
  CHECK(error_of([] { dt::zeros({int64_t{1} << 58}); }) == DT_STATUS_OUT_OF_MEMORY);
  CHECK(missing >= int64_t{1} << 60);
  dt::remove_memory_hook();
}

void test_indexing() {
  const dt::Tensor x = dt::arange(0, 24).reshape({2, 3, 4});
  CHECK(dt::at(x, 1, 2, 3).item().to_int() == 23);
  CHECK(dt::at(x, dt::Ellipsis, 0).shape() == (std::vector<int64_t>{2, 3}));
  CHECK(dt::at(x, 0, dt::None, dt::Slice(1, std::nullopt)).shape() ==
        (std::vector<int64_t>{1, 2, 4}));
  CHECK(total(dt::at(x, dt::Slice(), dt::tensor<int64_t>({0, 2}), 1)) == 1 + 9 + 13 + 21);
  CHECK(total(dt::at(x, x > 20)) == 66);
  dt::set_at(x, dt::full({}, -1), 0, dt::Slice(0, 2));
  CHECK(total(dt::at(x, 0)) == -8 + 8 + 9 + 10 + 11);
}

void test_modules() {
  dt::nn::LinearOptions plain;
  plain.bias = false;
  const dt::Module net = dt::nn::Sequential({dt::nn::Linear(3, 2, plain), dt::nn::ReLU()});
  CHECK(net(dt::ones({1, 3})).grad_fn_name() == "LinearReluBackward0");  // one kernel
  const dt::Module apart = dt::nn::Sequential({dt::nn::Linear(3, 2), dt::nn::GELU()});
  CHECK(apart(dt::ones({1, 3})).grad_fn_name() == "GeluErfBackward0");
  dt::nn::BatchNorm1dOptions cumulative;
  cumulative.momentum = std::nullopt;
  const dt::Module norm = dt::nn::BatchNorm1d(1, cumulative);
  norm(dt::ones({4, 1}));
  norm(dt::full({4, 1}, 3.0));
  CHECK(norm.named_buffers().tensors[0].item().to_double() == 2);
  const dt::ModuleStateDictResult state = net.state_dict();
  CHECK(state.names == std::vector<std::string>{"0.weight"});
  CHECK(net(dt::ones({5, 3})).shape() == (std::vector<int64_t>{5, 2}));
  const dt::Dataset data = dt::utils::data::TensorDataset({dt::arange(0, 10)});
  dt::utils::data::DataLoaderOptions options;
  options.batch_size = 4;
  const dt::DataLoader loader = dt::utils::data::DataLoader(data, options);
  double sum = 0;
  for (auto batch = loader.next(); !batch.empty(); batch = loader.next()) sum += total(batch[0]);
  CHECK(sum == 45 && loader.len() == 3);
  dt::optim::AdamWOptions decay;
  decay.weight_decay = 0.5;
  CHECK(dt::optim::AdamW(net.parameters(), decay).get("weight_decay") == 0.5);
  net.to(dt::kFloat64);
  CHECK(net.parameters()[0].dtype() == dt::kFloat64);
}

}  // namespace

int main() {
  test_ownership();
  test_arguments();
  test_devices();
  test_operators();
  test_errors();
  test_callbacks();
  test_exceptions_of_drops();
  test_custom_function();
  test_gradcheck();
  test_autocast();
  test_data();
  test_lists();
  test_safetensors();
  test_other_files();
  test_contexts_and_logs();
  test_indexing();
  test_modules();
  CHECK(dt_live_handles(nullptr) == 0);
  return failures != 0;
}
