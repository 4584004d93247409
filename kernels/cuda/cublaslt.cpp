#include "kernels/cuda/cublaslt.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <unordered_map>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/library_types.h"
#include "kernels/cuda/plan_key.h"
#include "kernels/cuda/runtime.h"

namespace dt::cuda {
namespace {

constexpr int64_t kWorkspaceLimit = int64_t{32} << 20;  // what NVIDIA advises for Hopper
constexpr int kCandidates = 8;
// Below this many multiplications every algorithm takes as long as its launch: nothing to measure.
constexpr double kWorthTiming = 1 << 20;

struct CublasLt {
  lt::Functions call = {};
  bool usable = false;

  CublasLt() {
    Library library{"libcublasLt.so.13", "libcublasLt.so.12"};
#define DT_FIND(NAME) library.find("cublasLt" #NAME, &call.NAME)
    DT_FIND(Create);
    DT_FIND(MatmulDescCreate);
    DT_FIND(MatmulDescSetAttribute);
    DT_FIND(MatrixLayoutCreate);
    DT_FIND(MatrixLayoutSetAttribute);
    DT_FIND(MatmulPreferenceCreate);
    DT_FIND(MatmulPreferenceDestroy);
    DT_FIND(MatmulPreferenceSetAttribute);
    DT_FIND(MatmulAlgoGetHeuristic);
    DT_FIND(Matmul);
    DT_FIND(GetStatusString);
#undef DT_FIND
    usable = static_cast<bool>(library);
    if (!usable)
      trace("cuda: matrix products by own kernels, without cuBLASLt: " + library.reason());
  }
};

const CublasLt& cublaslt() {
  static const CublasLt& library = *new CublasLt;
  return library;
}

// ---- how a row-major matrix looks to a column-major library

// Its memory read column by column is the transposed matrix, so y = a @ b is computed as
// y^T = b^T @ a^T: b comes first, and what is row-major here is `kPlain` there.
struct MatrixOrder {
  bool usable, transposed;
  int64_t leading;  // elements from one line of the memory to the next
};

MatrixOrder order_of(const Matrix& x, int64_t rows, int64_t cols) {
  const auto holds = [](int64_t step, int64_t lines, int64_t stride, int64_t length) {
    return (length == 1 || stride == 1) && (lines == 1 || step >= length);
  };
  if (holds(x.row, rows, x.col, cols)) return {true, false, rows == 1 ? cols : x.row};
  if (holds(x.col, cols, x.row, rows)) return {true, true, cols == 1 ? rows : x.col};
  return {false, false, 0};
}

// How the library adds c.
enum class AddendForm : int64_t { kNone, kMatrix, kBias, kUnable };

AddendForm addend_of(const MatrixProduct& p) {
  if (p.c.data == nullptr) return AddendForm::kNone;
  const MatrixOrder c = order_of(p.c, p.m, p.n);
  if (c.usable && !c.transposed && (p.batch == 1 || p.c.batch > 0)) return AddendForm::kMatrix;
  // A vector along the rows: the epilogue adds it as it is, and does not exist for double.
  const bool row = p.c.row == 0 && (p.c.col == 1 || p.n == 1) && (p.batch == 1 || p.c.batch == 0);
  return row && p.beta == 1 && library_type(p.dtype).has_epilogues ? AddendForm::kBias
                                                                   : AddendForm::kUnable;
}

// ---- plans: what is decided once for each kind of product

struct Candidate {
  lt::Algorithm algorithm;
  int64_t workspace;  // bytes
};

struct ProductPlan {
  AddendForm addend = AddendForm::kNone;
  lt::MatmulDesc* desc = nullptr;
  lt::MatrixLayout *a = nullptr, *b = nullptr, *c = nullptr, *y = nullptr;
  // What follows changes once, when the choice is made; then candidates[0] is the chosen one.
  bool chosen = false, rival_wins = false;
  int n_candidates = 0;
  Candidate candidates[kCandidates];

  // Enough for whichever is chosen between this question and the product.
  int64_t workspace() const {
    int64_t bytes = 0;
    for (int i = 0; i < (chosen ? 1 : n_candidates); ++i)
      bytes = std::max(bytes, candidates[i].workspace);
    return bytes;
  }
};

struct Cache {
  std::mutex mutex;
  std::unordered_map<PlanKey, ProductPlan, PlanKeyHash> plans;
  std::unordered_map<int32_t, lt::Handle> handles;  // by device
};

Cache& cache() {
  static Cache& instance = *new Cache;
  return instance;
}

int64_t tf32(const dt_stream* stream, const MatrixProduct& p) {
  return library_type(p.dtype).has_tf32 && (stream->flags & DT_FLAG_TF32_MATMUL) != 0;
}

PlanKey key_of(const dt_stream* stream, const MatrixProduct& p, AddendForm addend) {
  PlanKey key;
  key.add({stream->device, p.dtype, tf32(stream, p), static_cast<int64_t>(addend), p.activation});
  key.add({p.batch, p.m, p.n, p.k});
  for (const Matrix* x : {&p.a, &p.b, &p.c, &p.y})
    key.add({alignment(x->data), x->batch, x->row, x->col});
  return key;
}

// The library's description of a product, made field by field; `fine` stays true if all is well.
class Describer {
 public:
  Describer(const lt::Functions& call, const MatrixProduct& p, int compute)
      : call_(call), p_(p), type_(library_type(p.dtype)) {
    note(call_.MatmulDescCreate(&desc, compute, type_.scale));
  }

  void set(int attribute, const void* value, size_t bytes) {
    if (fine) note(call_.MatmulDescSetAttribute(desc, attribute, value, bytes));
  }

  // A factor of the transposed product: rows and columns change places.
  lt::MatrixLayout* factor(const Matrix& x, int64_t rows, int64_t cols, int transpose_attribute) {
    const MatrixOrder s = order_of(x, rows, cols);
    const int32_t operation = s.transposed ? lt::kTransposed : lt::kPlain;
    set(transpose_attribute, &operation, sizeof operation);
    return s.transposed ? layout(x, rows, cols, s.leading) : layout(x, cols, rows, s.leading);
  }
  lt::MatrixLayout* result(const Matrix& x) {
    return layout(x, p_.n, p_.m, order_of(x, p_.m, p_.n).leading);
  }

  lt::MatmulDesc* desc = nullptr;
  bool fine = true;

 private:
  void note(lt::Status status) { fine = fine && status == lt::kSuccess; }

  lt::MatrixLayout* layout(const Matrix& x, int64_t rows, int64_t cols, int64_t leading) {
    lt::MatrixLayout* made = nullptr;
    if (fine) note(call_.MatrixLayoutCreate(&made, type_.cublaslt, rows, cols, leading));
    if (!fine || p_.batch == 1) return made;
    const int32_t count = static_cast<int32_t>(p_.batch);
    note(call_.MatrixLayoutSetAttribute(made, lt::kLayoutBatchCount, &count, sizeof count));
    note(call_.MatrixLayoutSetAttribute(made, lt::kLayoutBatchStride, &x.batch, sizeof x.batch));
    return made;
  }

  const lt::Functions& call_;
  const MatrixProduct& p_;
  const LibraryType type_;
};

uint32_t epilogue_of(const MatrixProduct& p, AddendForm addend) {
  uint32_t epilogue = 0;
  if (addend == AddendForm::kBias) epilogue |= lt::kEpilogueBias;
  if (p.activation == DT_ACTIVATE_RELU) epilogue |= lt::kEpilogueRelu;
  return epilogue == 0 ? lt::kEpilogueNone : epilogue;
}

bool describe(const lt::Functions& call, const MatrixProduct& p, bool fast, ProductPlan* plan) {
  const LibraryType type = library_type(p.dtype);
  Describer d(call, p, fast ? type.multiply_fast : type.multiply);
  plan->b = d.factor(p.b, p.k, p.n, lt::kDescTransposeA);
  plan->a = d.factor(p.a, p.m, p.k, lt::kDescTransposeB);
  plan->y = d.result(p.y);
  plan->c = plan->addend == AddendForm::kMatrix ? d.result(p.c) : plan->y;
  if (const uint32_t epilogue = epilogue_of(p, plan->addend); epilogue != lt::kEpilogueNone)
    d.set(lt::kDescEpilogue, &epilogue, sizeof epilogue);
  if (plan->addend == AddendForm::kBias) d.set(lt::kDescBiasPointer, &p.c.data, sizeof p.c.data);
  plan->desc = d.desc;
  return d.fine;
}

// Asks the library for algorithms, best guess first.
void propose(const lt::Functions& call, lt::Handle handle, const MatrixProduct& p,
             ProductPlan* plan) {
  lt::Preference* preference = nullptr;
  if (call.MatmulPreferenceCreate(&preference) != lt::kSuccess) return;
  call.MatmulPreferenceSetAttribute(preference, lt::kPreferenceWorkspace, &kWorkspaceLimit,
                                    sizeof kWorkspaceLimit);
  int attribute = lt::kPreferenceAlignmentA;
  const void* c = plan->addend == AddendForm::kMatrix ? p.c.data : p.y.data;
  const void* const operands[] = {p.b.data, p.a.data, c, p.y.data};
  for (const void* data : operands) {
    const uint32_t bytes = static_cast<uint32_t>(alignment(data));
    call.MatmulPreferenceSetAttribute(preference, attribute++, &bytes, sizeof bytes);
  }
  lt::HeuristicResult results[kCandidates];
  int found = 0;
  if (call.MatmulAlgoGetHeuristic(handle, plan->desc, plan->b, plan->a, plan->c, plan->y,
                                  preference, kCandidates, results, &found) != lt::kSuccess)
    found = 0;
  for (int i = 0; i < found; ++i) {
    if (results[i].state != lt::kSuccess) continue;
    plan->candidates[plan->n_candidates++] = {results[i].algorithm,
                                              static_cast<int64_t>(results[i].workspace_bytes)};
  }
  call.MatmulPreferenceDestroy(preference);
}

lt::Handle handle_for(int32_t device) {
  lt::Handle& handle = cache().handles[device];
  if (handle == nullptr && cublaslt().call.Create(&handle) != lt::kSuccess) handle = nullptr;
  return handle;
}

// The plan of a product, made at the first request. The cache's mutex is held.
ProductPlan& plan_for(const dt_stream* stream, const MatrixProduct& p) {
  const AddendForm addend = addend_of(p);
  const auto [place, is_new] = cache().plans.try_emplace(key_of(stream, p, addend));
  ProductPlan& plan = place->second;
  if (!is_new) return plan;
  plan.addend = addend;
  // The library allocates memory and loads kernels: none of that ends up in a graph.
  const AllowUnsafeCalls allow;
  const lt::Handle handle =
      set_device(stream->device) == cudaSuccess ? handle_for(stream->device) : nullptr;
  const lt::Functions& call = cublaslt().call;
  if (handle != nullptr && describe(call, p, tf32(stream, p), &plan))
    propose(call, handle, p, &plan);
  if (plan.n_candidates == 0) trace("cuda: matmul by an own kernel: cuBLASLt has no algorithm");
  const double work = static_cast<double>(p.batch) * p.m * p.n * p.k;
  plan.chosen = plan.n_candidates == 0 || work < kWorthTiming;
  return plan;
}

// ---- running

struct ProductRun {
  const dt_stream* stream;
  const MatrixProduct& p;
  const ProductPlan& plan;
  lt::Handle handle;
  void* workspace;

  lt::Status operator()(const Candidate& candidate) const {
    const lt::Functions& call = cublaslt().call;
    lt::MatmulDesc desc = *plan.desc;
    if (plan.addend == AddendForm::kBias) {
      const lt::Status status =
          call.MatmulDescSetAttribute(&desc, lt::kDescBiasPointer, &p.c.data, sizeof p.c.data);
      if (status != lt::kSuccess) return status;
    }
    const bool reads_c = plan.addend == AddendForm::kMatrix;
    const Scale alpha(p.alpha, p.dtype), beta(reads_c ? p.beta : 0, p.dtype);
    return call.Matmul(handle, &desc, alpha.data(), p.b.data, plan.b, p.a.data, plan.a, beta.data(),
                       reads_c ? p.c.data : p.y.data, plan.c, p.y.data, plan.y,
                       &candidate.algorithm, workspace, static_cast<size_t>(candidate.workspace),
                       native_stream(stream));
  }
};

// Keeps the fastest candidate. y is not an input, so computing it several times does no harm.
void choose(const ProductRun& run, const Rival& rival, ProductPlan* plan) {
  const int own = plan->n_candidates;
  const int best = fastest(native_stream(run.stream), rival ? own + 1 : own, [&](int i) {
    return i == own ? rival() == DT_KERNEL_OK : run(plan->candidates[i]) == lt::kSuccess;
  });
  plan->rival_wins = rival && best == own;
  trace("cuda: matmul " + std::to_string(run.p.m) + "x" + std::to_string(run.p.k) + "x" +
        std::to_string(run.p.n) + ": " +
        (plan->rival_wins ? "own tiles, faster than all"
                          : "cuBLASLt's proposal " + std::to_string(best + 1)) +
        " of " + std::to_string(own) + (plan->rival_wins ? " proposals of cuBLASLt" : ""));
  if (best > 0 && best < own) plan->candidates[0] = plan->candidates[best];
  if (best < 0) plan->n_candidates = 0;
  plan->chosen = true;
}

}  // namespace

bool cublaslt_can(const MatrixProduct& p) {
  if (!is_floating(p.dtype) || p.k == 0 || p.batch > INT32_MAX) return false;
  if (p.batch > 1 && (p.a.batch < 0 || p.b.batch < 0 || p.y.batch <= 0)) return false;
  const MatrixOrder y = order_of(p.y, p.m, p.n);
  return y.usable && !y.transposed && order_of(p.a, p.m, p.k).usable &&
         order_of(p.b, p.k, p.n).usable && cublaslt().usable;
}

bool cublaslt_can_add(const MatrixProduct& p) {
  return addend_of(p) != AddendForm::kUnable;
}

bool cublaslt_can_activate(const MatrixProduct& p) {
  return p.activation == DT_ACTIVATE_NONE ||
         (p.activation == DT_ACTIVATE_RELU && library_type(p.dtype).has_epilogues);
}

int64_t cublaslt_workspace(const dt_stream* stream, const MatrixProduct& p) {
  const std::lock_guard<std::mutex> lock(cache().mutex);
  return plan_for(stream, p).workspace();
}

int32_t cublaslt_multiply(const dt_stream* stream, const MatrixProduct& p, void* workspace,
                          const Rival& rival) {
  std::unique_lock<std::mutex> lock(cache().mutex);
  ProductPlan& plan = plan_for(stream, p);
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  const ProductRun run{stream, p, plan, handle_for(stream->device), workspace};
  if (!plan.chosen && !is_capturing(native_stream(stream))) choose(run, rival, &plan);
  if (plan.rival_wins) return lock.unlock(), rival();
  if (plan.n_candidates == 0) return DT_KERNEL_UNSUPPORTED;
  const Candidate candidate = plan.candidates[0];
  lock.unlock();
  const lt::Status status = run(candidate);
  if (status == lt::kSuccess) return DT_KERNEL_OK;
  std::snprintf(stream->fault->message, sizeof stream->fault->message, "cublasLtMatmul: %s",
                cublaslt().call.GetStatusString(status));
  return DT_KERNEL_DEVICE;
}

}  // namespace dt::cuda
