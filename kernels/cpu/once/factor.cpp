// Factorisations of matrices: threads share a batch out among them, or work on one matrix together.
#include "kernels/factor_spectrum.h"

#include "kernels/cpu/factor_once.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

using factor::FastLoops;
using factor::Matrix;

// The threads that work on one matrix.
class Team {
 public:
  Team(const dt_stream* stream, const FastLoops& loops, void* workspace)
      : loops_(loops), stream_(stream), workspace_(workspace) {}

  template <class F>
  void each(int64_t n, int64_t cost, const F& f) const {
    const auto part = [](const void* context, int64_t begin, int64_t end) {
      (*static_cast<const F*>(context))(begin, end);
    };
    share_out(n, cost, part, &f);
  }
  template <class F>
  void once(const F& f) const {
    f();
  }
  void subtract(Matrix c, Matrix a, Matrix b, int64_t m, int64_t n, int64_t k) const {
    if (m > 0 && n > 0 && k > 0)
      loops_.subtract(stream_, c.data, c.ld, a.data, a.ld, b.data, b.ld, m, n, k, workspace_);
  }
  double dot(const double* a, const double* b, int64_t n) const { return loops_.dot(a, b, n); }
  void add_scaled(double* y, double factor, const double* x, int64_t n) const {
    loops_.add_scaled(y, factor, x, n);
  }
  void rotate(double* x, double* y, double c, double s, int64_t n) const {
    loops_.rotate(x, y, c, s, n);
  }

 private:
  using Part = void (*)(const void* context, int64_t begin, int64_t end);

  void share_out(int64_t n, int64_t cost, Part part, const void* context) const;

  const FastLoops& loops_;
  const dt_stream* const stream_;
  void* const workspace_;
};

void Team::share_out(int64_t n, int64_t cost, Part part, const void* context) const {
  constexpr int64_t kStep = 8;  // a cache line
  if (n <= 0) return;
  const int64_t tiles = min<int64_t>(ceil_div(n, kStep), 2 * stream_->threads);
  if (tiles <= 1 || !worth_threads(stream_, n * cost / 2)) return part(context, 0, n);
  const int64_t size = ceil_div(ceil_div(n, tiles), kStep) * kStep;
  parallel_for(stream_, tiles, [=](int64_t tile) {
    if (tile * size < n) part(context, tile * size, min(n, (tile + 1) * size));
  });
}

// A problem of any kind.
struct Work {
  int64_t matrices, work, scratch;  // scratch: doubles
  factor::Products products;
  const void* problem;
  void (*solve)(const void* problem, const Team& team, int64_t n, double* memory);
};

template <class Problem>
Work work_of(const Problem& problem) {
  return {problem.matrices(),
          problem.work(),
          problem.scratch(),
          problem.products(),
          &problem,
          [](const void* p, const Team& team, int64_t n, double* memory) {
            static_cast<const Problem*>(p)->solve(team, n, memory);
          }};
}

// Who works on what: each matrix by one thread of its own, or one after the other by all.
class Shares {
 public:
  Shares(const dt_stream* stream, const Work& work, const FastLoops& loops)
      : alone_(*stream), loops_(loops) {
    alone_.threads = 1;
    const bool apart = work.matrices > 1 && worth_threads(stream, work.matrices * work.work);
    workers_ = apart ? stream->threads : 1;
    stream_ = apart ? &alone_ : stream;
    Workspace memory(nullptr);
    memory.take<double>(work.scratch);
    matrix_bytes_ = memory.bytes();
    product_bytes_ = most_for_products(work.products);
  }
  Shares(const Shares&) = delete;

  int64_t workspace() const { return workers_ * (matrix_bytes_ + product_bytes_); }

  int32_t run(const dt_stream* stream, const Work& work, void* workspace) const {
    for_each_item(stream, work.matrices, workers_ > 1, [&](int64_t n, int64_t worker) {
      char* memory = static_cast<char*>(workspace) + worker * (matrix_bytes_ + product_bytes_);
      const Team team(stream_, loops_, memory + matrix_bytes_);
      work.solve(work.problem, team, n, reinterpret_cast<double*>(memory));
    });
    return DT_KERNEL_OK;
  }

 private:
  int64_t most_for_products(const factor::Products& all) const {
    int64_t bytes = 0;
    for (int64_t done = factor::kBlock; done < all.rows; done += factor::kBlock) {
      const int64_t cols = all.columns_shrink ? all.cols - done : all.cols;
      if (cols <= 0) break;
      bytes = max(bytes, loops_.subtract_workspace(stream_, max(all.rows, all.cols),
                                                   all.rows - done, cols, factor::kBlock));
    }
    return bytes;
  }

  dt_stream alone_;
  const FastLoops& loops_;
  const dt_stream* stream_;  // that a matrix is worked on with
  int64_t workers_, matrix_bytes_, product_bytes_;
};

// f(the kernel's problem)
template <class F>
auto with_problem(factor::Kernel kernel, const void* call, const F& f) {
  switch (kernel) {
#define DT_FACTOR_KERNEL(NAME, CALL, PROBLEM) \
  case factor::Kernel::NAME:                  \
    return f(work_of(factor::PROBLEM(*static_cast<const calls::CALL*>(call))));
    DT_FACTOR_KERNELS(DT_FACTOR_KERNEL)
#undef DT_FACTOR_KERNEL
  }
  __builtin_unreachable();
}

}  // namespace
}  // namespace dt::cpu

int32_t dt_factor_solve(dt::factor::Kernel kernel, const dt_stream* stream, const void* call,
                        void* workspace, const dt::factor::FastLoops* loops) {
  return dt::cpu::with_problem(kernel, call, [&](const dt::cpu::Work& work) {
    return dt::cpu::Shares(stream, work, *loops).run(stream, work, workspace);
  });
}

int64_t dt_factor_workspace(dt::factor::Kernel kernel, const dt_stream* stream, const void* call,
                            const dt::factor::FastLoops* loops) {
  return dt::cpu::with_problem(kernel, call, [&](const dt::cpu::Work& work) {
    return dt::cpu::Shares(stream, work, *loops).workspace();
  });
}
