#include "kernels/cuda/cudnn_attention.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cudnn_builder.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/library_types.h"
#include "kernels/cuda/may_vary.h"
#include "kernels/cuda/plan_key.h"

namespace dt::cuda {
namespace {

// Before this version, infinity in the place of unseen scores gave NaN.
constexpr size_t kVersion = 91000;
constexpr int64_t kPacketBytes = 16, kBlock = 256;  // alignment of rows, of parts of the workspace
// Engines that are worth it want little scratch memory; others keep all scores there.
constexpr int64_t kMostBytes = int64_t{1} << 28;

// ---- shapes

// The strides of dimensions that have no second element are nobody's business: dense ones.
Shape shape_of(const dt_view& v) {
  Shape s = dense(v.sizes[0], v.sizes[1], v.sizes[2], v.sizes[3]);
  for (int d = 0; d < 4; ++d) {
    if (v.sizes[d] != 1) s.strides[d] = v.strides[d];
  }
  return s;
}

Shape transposed(Shape s) {
  std::swap(s.sizes[2], s.sizes[3]);
  std::swap(s.strides[2], s.strides[3]);
  return s;
}

int64_t elements_of(const Shape& s) {
  return s.sizes[0] * s.sizes[1] * s.sizes[2] * s.sizes[3];
}

// ---- gradients of some of a call's images

// In a fixed order the library adds up the gradient of the query from the gradients of all scores,
// which it keeps in memory: so many images are done at once that these take less than the limit,
// and always as many.
int64_t images_at_once(const dt_stream* stream, const calls::AttentionBackward& call) {
  constexpr int64_t kRows = 64;  // which it fills up to
  const dt_view& q = call.query;
  if (may_vary(stream)) return q.sizes[0];
  const int64_t rows = divide_up(q.sizes[2], kRows) * kRows,
                columns = divide_up(call.key.sizes[2], kRows) * kRows;
  const int64_t most = kMostBytes / (q.sizes[1] * rows * columns * bytes_of(q.dtype));
  int64_t images = std::clamp<int64_t>(most, 1, q.sizes[0]);
  while (q.sizes[0] % images != 0) --images;
  return images;
}

struct Gradients {
  dt_view query, key, value, y, lse, g, gquery, gkey, gvalue;
  bool is_causal, varies;
  double scale;

  Gradients(const dt_stream* stream, const calls::AttentionBackward& call, int64_t first)
      : query(call.query),
        key(call.key),
        value(call.value),
        y(call.y),
        lse(call.lse),
        g(call.g),
        gquery(*call.gquery),
        gkey(*call.gkey),
        gvalue(*call.gvalue),
        is_causal(call.is_causal),
        varies(may_vary(stream)),
        scale(call.scale) {
    const int64_t images = images_at_once(stream, call);
    for (dt_view* v : {&query, &key, &value, &y, &lse, &g, &gquery, &gkey, &gvalue}) {
      v->data = static_cast<char*>(v->data) + first * v->strides[0] * bytes_of(v->dtype);
      v->sizes[0] = images;
    }
  }
};

// Those of what lies between: scores [B,H,M,N], and a number for each of their rows.
template <class Call>
Shape scores_of(const Call& call) {
  const dt_view& q = call.query;
  return dense(q.sizes[0], q.sizes[1], q.sizes[2], call.key.sizes[2]);
}
template <class Call>
Shape rows_of(const Call& call) {
  const dt_view& q = call.query;
  return dense(q.sizes[0], q.sizes[1], q.sizes[2], 1);
}

// ---- graphs: attention spelled in single operations, by which the library knows it

enum TensorId : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kY,
  kLse,
  kScale,   // a number
  kUnseen,  // minus infinity
  kOne,     // a number
  kGY,      // gradients
  kGQuery,
  kGKey,
  kGValue,
  kDelta,  // a row's sum of y * its gradient
  kGSums,  // the gradient of the query as floats, which begins as zeros
  kFirstBetween
};

// x where a query may see the key, minus infinity elsewhere.
template <class Call>
const Descriptor& seen_of(GraphBuilder& g, const Call& call, const Descriptor& x) {
  if (!call.is_causal) return x;
  const Shape scores = scores_of(call);
  const Descriptor& row = g.index(2, x, g.between(scores, dnn::kInt));
  const Descriptor& column = g.index(3, x, g.between(scores, dnn::kInt));
  const Descriptor& seen =
      g.compare(dnn::kGreaterEqual, row, column, g.between(scores, dnn::kBoolean));
  return g.select(seen, x, g.number(kUnseen), g.between(scores));
}

// y = softmax(scale * query @ key^T) @ value
Descriptor graph_of(const calls::Attention& call, dnn::Handle handle) {
  GraphBuilder g(kFirstBetween);
  const int type = library_type(call.query.dtype).cudnn;
  const Shape scores = scores_of(call), rows = rows_of(call);
  const Descriptor& query = g.given(kQuery, shape_of(call.query), type);
  const Descriptor& key = g.given(kKey, transposed(shape_of(call.key)), type);
  const Descriptor& value = g.given(kValue, shape_of(call.value), type);
  const Descriptor& product = g.multiply(query, key, g.between(scores));
  const Descriptor& score =
      seen_of(g, call, g.map(dnn::kMul, product, g.number(kScale), g.between(scores)));
  const Descriptor& top = g.reduce(dnn::kReduceMax, score, g.between(rows));
  const Descriptor& shifted = g.map(dnn::kSub, score, top, g.between(scores));
  const Descriptor& weight = g.map(dnn::kExp, shifted, g.between(scores));
  const Descriptor& total = g.reduce(dnn::kReduceAdd, weight, g.between(rows));
  // The logarithms belong to the library's spelling, whether they are wanted or not.
  const Descriptor& log = g.map(dnn::kLog, total, g.between(rows));
  g.map(dnn::kAdd, top, log, call.lse ? g.given(kLse, rows) : g.between(rows));
  const Descriptor& share = g.map(dnn::kDiv, weight, total, g.between(scores, type));
  g.multiply(share, value, g.given(kY, shape_of(call.y), type));
  return g.graph(handle);
}

// The gradient of keys or values: products of all heads of queries, of which several add up to one
// head of the result.
void multiply_heads(GraphBuilder& g, const Descriptor& a, const Descriptor& b, int64_t heads,
                    const dt_view& result, TensorId id) {
  const int type = library_type(result.dtype).cudnn;
  const Descriptor& y = g.given(id, shape_of(result), type);
  if (heads == result.sizes[1]) {
    g.multiply(a, b, y);
    return;
  }
  const Shape all = dense(result.sizes[0], heads, result.sizes[2], result.sizes[3]);
  g.reduce(dnn::kReduceAdd, g.multiply(a, b, g.between(all, type)), y);
}

// With p = exp(scale * query @ key^T - lse) and s = scale * p * (gy @ value^T - delta):
// gvalue = p^T @ gy, gkey = s^T @ query, gquery = s @ key
Descriptor graph_of(const Gradients& call, dnn::Handle handle) {
  GraphBuilder g(kFirstBetween);
  const dt_view &q = call.query, &k = call.key;
  const int type = library_type(q.dtype).cudnn;
  const Shape scores = scores_of(call), rows = rows_of(call);
  const Shape columns = transposed(dense(q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2]));
  const Descriptor& query = g.given(kQuery, shape_of(q), type);
  const Descriptor& key = g.given(kKey, transposed(shape_of(k)), type);
  const Descriptor& value = g.given(kValue, transposed(shape_of(call.value)), type);
  const Descriptor& gy = g.given(kGY, shape_of(call.g), type);
  const Descriptor& y = g.given(kY, shape_of(call.y), type);
  const Descriptor& scale = g.number(kScale);

  const dt_view& v = call.y;
  const Shape like_y = dense(v.sizes[0], v.sizes[1], v.sizes[2], v.sizes[3]);
  const Descriptor& sum =
      g.reduce(dnn::kReduceAdd, g.map(dnn::kMul, gy, y, g.between(like_y)), g.between(rows));
  const Descriptor& delta = g.map(dnn::kMul, sum, g.number(kOne), g.given(kDelta, rows));

  const Descriptor& product = g.multiply(query, key, g.between(scores));
  const Descriptor& score = g.map(dnn::kMul, product, scale, g.between(scores));
  const Descriptor& log = g.map(dnn::kSub, score, g.given(kLse, rows), g.between(scores));
  const Descriptor& p = g.map(dnn::kExp, seen_of(g, call, log), g.between(scores));
  multiply_heads(g, g.reshape(p, g.between(columns, type)), gy, q.sizes[1], call.gvalue, kGValue);

  const Descriptor& slope = g.multiply(gy, value, g.between(scores));
  const Descriptor& above = g.map(dnn::kSub, slope, delta, g.between(scores));
  const Descriptor& weighed = g.map(dnn::kMul, above, p, g.between(scores));
  const Descriptor& s = g.map(dnn::kMul, weighed, scale, g.between(scores));
  multiply_heads(g, g.reshape(s, g.between(columns, type)), query, q.sizes[1], call.gkey, kGKey);

  const Descriptor& keys = g.reshape(key, g.between(shape_of(k)));
  const Descriptor& gquery = g.given(kGQuery, shape_of(call.gquery), type);
  if (call.varies) {
    const Shape like_q = dense(q.sizes[0], q.sizes[1], q.sizes[2], q.sizes[3]);
    g.map(dnn::kIdentity, g.multiply(s, keys, g.given(kGSums, like_q)), gquery);
  } else {
    g.multiply(s, keys, gquery);
  }
  return g.graph(handle);
}

// ---- plans

struct AttentionPlan {
  bool chosen = false;
  std::vector<Engine> engines;  // after the choice one, or none where the own kernel is faster

  // Of all ways that may be taken: the library's, which want `theirs` besides what an engine does,
  // and the own kernel.
  int64_t workspace(int64_t theirs, int64_t own) const {
    if (engines.empty()) return own;
    int64_t bytes = 0;
    for (const Engine& engine : engines) bytes = std::max(bytes, engine.workspace);
    return chosen ? theirs + bytes : std::max(theirs + bytes, own);
  }
};

void add(PlanKey* key, const dt_view& v) {
  const Shape s = shape_of(v);
  key->add({s.sizes[0], s.sizes[1], s.sizes[2], s.sizes[3]});
  key->add({s.strides[0], s.strides[1], s.strides[2], s.strides[3]});
}

PlanKey key_of(const dt_stream* stream, const calls::Attention& call) {
  PlanKey key;
  key.add({0, stream->device, call.query.dtype, call.is_causal, call.lse != nullptr});
  for (const dt_view* v : {&call.query, &call.key, &call.value, &call.y}) add(&key, *v);
  return key;
}

PlanKey key_of(const dt_stream* stream, const Gradients& call) {
  PlanKey key;
  key.add({1, stream->device, call.query.dtype, call.is_causal, call.varies});
  for (const dt_view* v : {&call.query, &call.key, &call.value, &call.y, &call.g, &call.gquery,
                           &call.gkey, &call.gvalue})
    add(&key, *v);
  return key;
}

constexpr bool may_vary(const calls::Attention&) {
  return false;
}
bool may_vary(const Gradients& call) {
  return call.varies;
}

// What a plan is made for.
const calls::Attention& part_of(const dt_stream*, const calls::Attention& call) {
  return call;
}
Gradients part_of(const dt_stream* stream, const calls::AttentionBackward& call) {
  return Gradients(stream, call, 0);
}

// The plan of a call, made at the first request. cudnn_mutex is held.
template <class Call>
AttentionPlan& plan_for(const dt_stream* stream, const Call& whole) {
  const auto& call = part_of(stream, whole);
  static auto& plans = *new std::unordered_map<PlanKey, AttentionPlan, PlanKeyHash>;
  const auto [place, is_new] = plans.try_emplace(key_of(stream, call));
  AttentionPlan& plan = place->second;
  if (!is_new) return plan;
  // The library allocates memory and loads kernels: none of that ends up in a graph.
  const AllowUnsafeCalls allow;
  if (set_device(stream->device) != cudaSuccess) return plan;
  const dnn::Handle handle = cudnn_handle(stream->device);
  if (handle == nullptr) return plan;
  const EngineDemands demands = {call.query.dtype, true, may_vary(call), 1, 4, kMostBytes};
  plan.engines = engines_for(graph_of(call, handle), handle, demands);
  if (plan.engines.empty()) trace("cuda: attention by the own kernel: cuDNN has no engine");
  plan.chosen = plan.engines.empty();
  return plan;
}

// ---- running

// Where the tensors of a graph are.
class Places {
 public:
  Places& add(TensorId id, const void* data) {
    ids_[count_] = id;
    data_[count_++] = const_cast<void*>(data);
    return *this;
  }
  int32_t run(const dt_stream* stream, const Engine& engine, void* workspace) const {
    const dnn::Status status = run_plan(stream, engine.plan, ids_, data_, count_, workspace);
    return status == dnn::kSuccess ? DT_KERNEL_OK : cudnn_fault(stream, status);
  }

 private:
  int64_t ids_[kFirstBetween] = {};
  void* data_[kFirstBetween] = {};
  int count_ = 0;
};

int32_t run_engine(const dt_stream* stream, const calls::Attention& call, const Engine& engine) {
  const float scale = static_cast<float>(call.scale), unseen = -INFINITY;
  Places places;
  places.add(kQuery, call.query.data).add(kKey, call.key.data).add(kValue, call.value.data);
  places.add(kY, call.y.data).add(kScale, &scale);
  if (call.is_causal) places.add(kUnseen, &unseen);
  if (call.lse) places.add(kLse, call.lse->data);
  return places.run(stream, engine, call.workspace);
}

int64_t float_bytes(int64_t count) {
  return divide_up(count * int64_t{sizeof(float)}, kBlock) * kBlock;
}

// Scratch memory: delta, the float gradient of the query if it is added up in any order, the
// engine's own.
int64_t delta_bytes(const Gradients& call) {
  return float_bytes(elements_of(rows_of(call)));
}
int64_t sums_bytes(const Gradients& call) {
  return call.varies ? float_bytes(elements_of(shape_of(call.query))) : 0;
}

int32_t run_part(const dt_stream* stream, const Gradients& call, const Engine& engine,
                 void* workspace) {
  const float scale = static_cast<float>(call.scale), unseen = -INFINITY, one = 1;
  char* const delta = static_cast<char*>(workspace);
  char* const sums = delta + delta_bytes(call);
  char* const scratch = sums + sums_bytes(call);
  Places places;
  places.add(kQuery, call.query.data).add(kKey, call.key.data).add(kValue, call.value.data);
  places.add(kY, call.y.data).add(kLse, call.lse.data).add(kGY, call.g.data);
  places.add(kGQuery, call.gquery.data).add(kGKey, call.gkey.data);
  places.add(kGValue, call.gvalue.data).add(kDelta, delta);
  places.add(kScale, &scale).add(kOne, &one);
  if (call.is_causal) places.add(kUnseen, &unseen);
  if (call.varies) {
    places.add(kGSums, sums);
    const cudaError_t error =
        cudaMemsetAsync(sums, 0, static_cast<size_t>(sums_bytes(call)), native_stream(stream));
    if (error != cudaSuccess) return check(error, "cudaMemsetAsync", stream->fault);
  }
  return places.run(stream, engine, scratch);
}

int32_t run_engine(const dt_stream* stream, const calls::AttentionBackward& call,
                   const Engine& engine) {
  const int64_t images = images_at_once(stream, call);
  for (int64_t first = 0; first < call.query.sizes[0]; first += images) {
    const Gradients part(stream, call, first);
    if (const int32_t code = run_part(stream, part, engine, call.workspace)) return code;
  }
  return DT_KERNEL_OK;
}

template <class Call>
void trace_times(const Call& call, const std::vector<float>& milliseconds) {
  std::string work =
      std::is_same_v<Call, calls::Attention> ? "cuda: attention [" : "cuda: attention backward [";
  for (int d = 0; d < 4; ++d) work += std::to_string(call.query.sizes[d]) + ", ";
  work += std::to_string(call.key.sizes[2]) + (call.is_causal ? "] causal: " : "]: ");
  for (size_t i = 0; i < milliseconds.size(); ++i) {
    const std::string way =
        i + 1 < milliseconds.size() ? "engine " + std::to_string(i) : std::string("the own kernel");
    trace(work + way + " " + std::to_string(milliseconds[i]) + " ms");
  }
}

// Keeps the fastest way. No operand is a result, so computing it several times does no harm.
template <class Call>
void choose(const dt_stream* stream, const Call& call, const std::function<int32_t()>& own,
            AttentionPlan* plan) {
  const int engines = static_cast<int>(plan->engines.size());
  std::vector<float> times(plan->engines.size() + 1);
  const int best = fastest(
      native_stream(stream), engines + 1,
      [&](int i) {
        return (i < engines ? run_engine(stream, call, plan->engines[i]) : own()) == DT_KERNEL_OK;
      },
      times.data());
  trace_times(call, times);
  if (best > 0 && best < engines) std::swap(plan->engines[0], plan->engines[best]);
  const bool is_theirs = best >= 0 && best < engines;
  plan->engines.erase(plan->engines.begin() + (is_theirs ? 1 : 0), plan->engines.end());
  plan->chosen = true;
}

template <class Call>
int32_t run(const dt_stream* stream, const Call& call, const std::function<int32_t()>& own) {
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  const std::lock_guard<std::mutex> lock(cudnn_mutex());
  AttentionPlan& plan = plan_for(stream, call);
  if (!plan.chosen && !is_capturing(native_stream(stream))) choose(stream, call, own, &plan);
  return plan.engines.empty() ? own() : run_engine(stream, call, plan.engines[0]);
}

// ---- what the library may know

bool has_whole_packets(const dt_view* v) {
  if (v == nullptr) return false;
  const int64_t width = kPacketBytes / bytes_of(v->dtype), elements = elements_of(shape_of(*v));
  const Shape s = shape_of(*v);
  return elements > 0 && elements <= INT32_MAX && s.strides[3] == 1 && s.sizes[3] % width == 0 &&
         s.strides[0] % width == 0 && s.strides[1] % width == 0 && s.strides[2] % width == 0 &&
         alignment(v->data) >= kPacketBytes;
}

template <class Call>
bool can(const Call& call, std::initializer_list<const dt_view*> views) {
  // What the library makes of other scales under a triangle failed its tests on a device.
  return call.mask == nullptr && call.state == nullptr && is_narrow_float(call.query.dtype) &&
         call.scale > 0 && std::all_of(views.begin(), views.end(), has_whole_packets) &&
         cudnn().usable && cudnn().call.GetVersion() >= kVersion;
}

}  // namespace

bool cudnn_can(const calls::Attention& call) {
  return can(call, {&call.query, &call.key, &call.value, &call.y});
}

bool cudnn_can(const calls::AttentionBackward& call) {
  // A single query or key has nothing to gain, and the library does not take both at once.
  return call.query.sizes[2] > 1 && call.key.sizes[2] > 1 &&
         can(call, {&call.query, &call.key, &call.value, &call.y, &call.g, call.gquery, call.gkey,
                    call.gvalue});
}

int64_t cudnn_attention_workspace(const dt_stream* stream, const calls::Attention& call) {
  const std::lock_guard<std::mutex> lock(cudnn_mutex());
  return plan_for(stream, call).workspace(0, 0);
}

int64_t cudnn_attention_workspace(const dt_stream* stream, const calls::AttentionBackward& call,
                                  int64_t own) {
  const std::lock_guard<std::mutex> lock(cudnn_mutex());
  const Gradients part(stream, call, 0);
  return plan_for(stream, call).workspace(delta_bytes(part) + sums_bytes(part), own);
}

int32_t cudnn_attention(const dt_stream* stream, const calls::Attention& call,
                        const std::function<int32_t()>& own) {
  return run(stream, call, own);
}

int32_t cudnn_attention(const dt_stream* stream, const calls::AttentionBackward& call,
                        const std::function<int32_t()>& own) {
  return run(stream, call, own);
}

}  // namespace dt::cuda
