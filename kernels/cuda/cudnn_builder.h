// Builds a graph of cuDNN's from single operations.
#pragma once

#include <deque>

#include "kernels/cuda/cudnn_graph.h"

namespace dt::cuda {

struct Shape {
  int64_t sizes[4], strides[4];
};

inline Shape dense(int64_t a, int64_t b, int64_t c, int64_t d) {
  return {{a, b, c, d}, {b * c * d, c * d, d, 1}};
}

// Tensors are float and operations calculate in float where nothing else is said.
class GraphBuilder {
 public:
  // Ids of tensors that are never in memory begin at `first_between`.
  explicit GraphBuilder(int64_t first_between) : next_id_(first_between) {}

  // An operand or a result, whose rows are made of aligned packets of 16 bytes.
  const Descriptor& given(int64_t id, const Shape& shape, int type = dnn::kFloat);
  // What lies between operations and is never in memory.
  const Descriptor& between(const Shape& shape, int type = dnn::kFloat);
  // A float of the host's.
  const Descriptor& number(int64_t id);

  // Each gives back its result, the last argument.
  const Descriptor& multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c);
  const Descriptor& reduce(dnn::Reduction reduction, const Descriptor& x, const Descriptor& y);
  const Descriptor& reshape(const Descriptor& x, const Descriptor& y);
  const Descriptor& map(dnn::Pointwise mode, const Descriptor& x, const Descriptor& y);
  const Descriptor& map(dnn::Pointwise mode, const Descriptor& x, const Descriptor& b,
                        const Descriptor& y);
  const Descriptor& compare(dnn::Pointwise mode, const Descriptor& x, const Descriptor& b,
                            const Descriptor& y);
  const Descriptor& select(const Descriptor& condition, const Descriptor& x, const Descriptor& b,
                           const Descriptor& y);
  // An element's index along an axis.
  const Descriptor& index(int64_t axis, const Descriptor& x, const Descriptor& y);

  // The graph of all operations so far, finalized. It needs the builder no more.
  Descriptor graph(dnn::Handle handle) const;

 private:
  Descriptor& tensor(int64_t id, int type, const Shape& shape);
  const Descriptor& pointwise(dnn::Pointwise mode, int compute, int64_t axis, const Descriptor& x,
                              const Descriptor* b, const Descriptor* t, const Descriptor& y);

  int64_t next_id_;
  std::deque<Descriptor> parts_, operations_;  // which the library refers to while it builds
};

}  // namespace dt::cuda
