// A program with a global model: the destructors of its static objects save, compute and call back
// after main, when the thread's own variables and other exit handlers have had their turn.
#include <cstdio>
#include <cstdlib>
#include <dumbtorch.hpp>
#include <string>

#include <unistd.h>

namespace dt = dumbtorch;

namespace {

// A destructor that runs after main can give the program its exit status only so.
#define CHECK(condition) check((condition), #condition, __LINE__)
void check(bool condition, const char* text, int line) {
  if (condition) return;
  std::fprintf(stderr, "line %d: %s\n", line, text);
  _exit(1);
}

struct Mine {};

struct App {
  dt::Module net;
  std::string path;

  ~App() {
    net.save(path);
    net.load(path);
    std::remove(path.c_str());
    const dt::Tensor x = dt::rand({2, 300});
    const dt::Tensor y = net(x);
    y.sum().backward();  // an absent gradient
    CHECK(y.shape() == (std::vector<int64_t>{2, 3}));
    try {
      net.save("");
      CHECK(false);
    } catch (const dt::Error& e) {
      CHECK(e.code() == DT_STATUS_IO);
    }
    try {
      const dt::Tensor z = dt::ones({1}).requires_grad_().mul(2);
      z.register_hook([](const dt::Tensor&) -> dt::Tensor { throw Mine(); });
      z.backward();
      CHECK(false);
    } catch (const Mine&) {
    }
  }
};

App& app() {
  static App the{dt::nn::Linear(300, 3),
                 std::string(P_tmpdir "/dt_static_test_") + std::to_string(getpid())};
  return the;
}

// Its destructor runs with the thread's other variables, where callbacks throw too.
struct OnThread {
  ~OnThread() {
    try {
      dt::save_safetensors(app().path, {"a"}, {dt::ones({1})},
                           [](int64_t, int64_t) -> bool { throw Mine(); });
      CHECK(false);
    } catch (const Mine&) {
    }
  }
};
thread_local OnThread on_thread;

}  // namespace

int main() {
  app().net(dt::ones({2, 300}));
  (void)&on_thread;
  try {
    dt::ones({2}).select(0, 5);
    CHECK(false);
  } catch (const dt::Error&) {
  }
}
