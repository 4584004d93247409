// Factorisations of matrices: threads share a batch out among them, or work on one matrix together.
#include "kernels/cpu/once/factor_direct.h"
#include "kernels/cpu/once/factor_spectrum.h"

namespace dt::cpu {
namespace {

// A problem of any kind.
template <class T>
struct Work {
  int64_t matrices, cycles, scratch;  // of one matrix; scratch: bytes
  Products products;
  const void* problem;
  void (*solve)(const void* problem, const Team<T>& team, int64_t n, Workspace memory);
};

template <class T, class Problem>
Work<T> work_of(const Problem& problem) {
  constexpr int64_t kPerCycle = 8, kCall = 200;
  return {problem.matrices(),
          problem.work() / kPerCycle + kCall,
          problem.scratch(),
          problem.products(),
          &problem,
          [](const void* p, const Team<T>& team, int64_t n, Workspace memory) {
            static_cast<const Problem*>(p)->solve(team, n, memory);
          }};
}

// Who works on what: each matrix by one thread of its own, or one after the other by all.
template <class T>
class Shares {
 public:
  Shares(const dt_stream* stream, const Work<T>& work, const factor::FastLoops<T>& loops)
      : alone_(*stream), loops_(loops) {
    alone_.threads = 1;
    const bool apart = work.matrices > 1 && worth_threads(stream, work.matrices * work.cycles);
    workers_ = apart ? stream->threads : 1;
    stream_ = apart ? &alone_ : stream;
    Workspace memory(nullptr);
    memory.take<char>(work.scratch);
    matrix_bytes_ = memory.bytes();
    const Products& p = work.products;
    memory.take<char>(max(product_bytes(p.widest, p.terms), product_bytes(p.narrow, p.longest)));
    bytes_ = memory.bytes();
  }
  Shares(const Shares&) = delete;

  int64_t workspace() const { return workers_ * bytes_; }

  int32_t run(const dt_stream* stream, const Work<T>& work, void* workspace) const {
    const int64_t group = max<int64_t>(1, kSerialCycles / 8 / work.cycles);
    for_each_item(stream, ceil_div(work.matrices, group), workers_ > 1,
                  [&](int64_t item, int64_t worker) {
                    char* memory = static_cast<char*>(workspace) + worker * bytes_;
                    const Team<T> team(stream_, loops_, memory + matrix_bytes_);
                    const int64_t end = min(work.matrices, (item + 1) * group);
                    for (int64_t n = item * group; n < end; ++n)
                      work.solve(work.problem, team, n, Workspace(memory));
                  });
    return DT_KERNEL_OK;
  }

 private:
  int64_t product_bytes(int64_t widest, int64_t terms) const {
    return terms > 0 ? loops_.product_workspace(stream_, widest, terms) : 0;
  }

  dt_stream alone_;
  const factor::FastLoops<T>& loops_;
  const dt_stream* stream_;  // that a matrix is worked on with
  int64_t workers_, matrix_bytes_, bytes_;
};

// What is asked of a problem: to be solved, or how much memory that takes.
struct Task {
  const dt_stream* stream;
  void* workspace;
  bool is_question;

  template <class T>
  int64_t operator()(const Work<T>& work, const factor::FastLoops<T>& loops) const {
    const Shares<T> shares(stream, work, loops);
    return is_question ? shares.workspace() : shares.run(stream, work, workspace);
  }
};

template <template <class> class Problem, class Call>
int64_t perform(const Task& task, const Call& call, const factor::AllLoops& loops) {
  const Problem<double> problem(call);
  if (problem.dtype() == dtype_of<float>)
    return task(work_of<float>(Problem<float>(call)), loops.f32);
  return task(work_of<double>(problem), loops.f64);
}

int64_t perform(const Task& task, factor::Kernel kernel, const void* call,
                const factor::AllLoops& loops) {
  switch (kernel) {
#define DT_FACTOR_KERNEL(NAME, CALL, PROBLEM) \
  case factor::Kernel::NAME:                  \
    return perform<PROBLEM>(task, *static_cast<const calls::CALL*>(call), loops);
    DT_FACTOR_KERNELS(DT_FACTOR_KERNEL)
#undef DT_FACTOR_KERNEL
  }
  __builtin_unreachable();
}

}  // namespace
}  // namespace dt::cpu

int32_t dt_factor_solve(dt::factor::Kernel kernel, const dt_stream* stream, const void* call,
                        void* workspace, const dt::factor::AllLoops* loops) {
  const dt::cpu::Task task = {stream, workspace, false};
  return static_cast<int32_t>(perform(task, kernel, call, *loops));
}

int64_t dt_factor_workspace(dt::factor::Kernel kernel, const dt_stream* stream, const void* call,
                            const dt::factor::AllLoops* loops) {
  return perform(dt::cpu::Task{stream, nullptr, true}, kernel, call, *loops);
}
