// What a large tree of modules costs, and which names it may have.
#include "core/nn/module.h"

#include <cstdio>
#include <ctime>
#include <functional>

#include "core/ops/creation.gen.h"

namespace dt {
namespace {

int failures = 0;

// The machine may be slow; what grows with the square of 20000 takes ten seconds and more.
void check_time(const char* what, const std::function<void()>& build) {
  const std::clock_t start = std::clock();
  build();
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (seconds < 2) return;
  std::printf("FAIL %s: %.1f seconds\n", what, seconds);
  ++failures;
}

void check_refused(const char* what, const char* sentence, const std::function<void()>& call) {
  try {
    call();
    std::printf("FAIL %s: no error\n", what);
  } catch (const Error& e) {
    if (std::string(e.what()).find(sentence) != std::string::npos) return;
    std::printf("FAIL %s: %s\n", what, e.what());
  }
  ++failures;
}

void test_large_trees() {
  constexpr int kLayers = 20000;
  check_time("a stack from its innermost layer on", [] {
    Ref<Module> all = make_container("Layer");
    for (int i = 0; i < kLayers; ++i) {
      const Ref<Module> around = make_container("Layer");
      around->register_module("inside", all);
      all = around;
    }
  });
  check_time("a stack from its outermost layer on", [] {
    const Ref<Module> all = make_container("Layer");
    Module* last = all.get();
    for (int i = 0; i < kLayers; ++i) {
      last->register_module("inside", make_container("Layer"));
      last = last->child(0).get();
    }
  });
  check_time("a list of layers", [] {
    const Ref<Module> all = make_sequential();
    for (int i = 0; i < kLayers; ++i) sequential_append(all, make_container("Layer"));
  });
  check_time("loading many parameters", [] {
    const Ref<Module> all = make_container("Layer");
    std::vector<std::string> names;
    for (int i = kLayers; i-- > 0;) {
      names.push_back(text("p", i));
      all->register_parameter(names.back(), zeros({1}));
    }
    const std::vector<Tensor> values(names.size(), ones({1}));
    all->load_state_dict({names.rbegin(), names.rend()}, values, true);
  });
}

void test_names() {
  const Ref<Module> all = make_container("Layer"), inside = make_container("Layer");
  all->register_module("inside", inside);
  all->register_buffer("count", Tensor());
  check_refused("two children of one name", "attribute 'inside' already exists",
                [&] { all->register_module("inside", make_container("Layer")); });
  check_refused("a parameter with a child's name", "attribute 'inside' already exists",
                [&] { all->register_parameter("inside", Tensor()); });
  check_refused("a child with a buffer's name", "attribute 'count' already exists",
                [&] { all->register_module("count", make_container("Layer")); });
  check_refused("a copy's names", "attribute 'inside' already exists",
                [&] { all->clone()->register_parameter("inside", Tensor()); });
  check_refused("a module in itself", "a module cannot contain itself",
                [&] { all->register_module("own", all); });
  check_refused("a module below itself", "a module cannot contain itself",
                [&] { inside->register_module("around", all); });
  check_refused("a module below its copy's", "a module cannot contain itself", [&] {
    const Ref<Module> copy = all->clone();
    copy->child(0)->register_module("around", copy);
  });
}

}  // namespace
}  // namespace dt

int main() {
  dt::test_large_trees();
  dt::test_names();
  return dt::failures != 0;
}
