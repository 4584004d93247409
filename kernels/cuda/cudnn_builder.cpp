#include "kernels/cuda/cudnn_builder.h"

namespace dt::cuda {
namespace {

constexpr int64_t kNoAxis = -1, kPacketBytes = 16;
constexpr bool kYes = true;

}  // namespace

Descriptor& GraphBuilder::tensor(int64_t id, int type, const Shape& shape) {
  Descriptor& d = parts_.emplace_back(dnn::kTensor);
  d.set_enum(dnn::kTensorDataType, dnn::kTypeDataType, type);
  d.set(dnn::kTensorSizes, dnn::kTypeInt64, shape.sizes, 4);
  d.set(dnn::kTensorStrides, dnn::kTypeInt64, shape.strides, 4);
  d.set_int(dnn::kTensorId, id);
  d.set_int(dnn::kTensorAlignment, kPacketBytes);
  return d;
}

const Descriptor& GraphBuilder::given(int64_t id, const Shape& shape, int type) {
  return tensor(id, type, shape).finalize();
}

const Descriptor& GraphBuilder::between(const Shape& shape, int type) {
  return tensor(next_id_++, type, shape)
      .set(dnn::kTensorIsVirtual, dnn::kTypeBoolean, &kYes)
      .finalize();
}

const Descriptor& GraphBuilder::number(int64_t id) {
  return tensor(id, dnn::kFloat, dense(1, 1, 1, 1))
      .set(dnn::kTensorIsByValue, dnn::kTypeBoolean, &kYes)
      .finalize();
}

const Descriptor& GraphBuilder::multiply(const Descriptor& a, const Descriptor& b,
                                         const Descriptor& c) {
  Descriptor& how = parts_.emplace_back(dnn::kMatmul);
  how.set_enum(dnn::kMatmulComputeType, dnn::kTypeDataType, dnn::kFloat).finalize();
  operations_.emplace_back(dnn::kDoMatmul)
      .set(dnn::kDoMatmulDescriptor, how)
      .set(dnn::kDoMatmulA, a)
      .set(dnn::kDoMatmulB, b)
      .set(dnn::kDoMatmulC, c)
      .finalize();
  return c;
}

const Descriptor& GraphBuilder::reduce(dnn::Reduction reduction, const Descriptor& x,
                                       const Descriptor& y) {
  Descriptor& how = parts_.emplace_back(dnn::kReduction);
  how.set_enum(dnn::kReductionComputeType, dnn::kTypeDataType, dnn::kFloat)
      .set_enum(dnn::kReductionOperator, dnn::kTypeReductionOperator, reduction)
      .finalize();
  operations_.emplace_back(dnn::kDoReduction)
      .set(dnn::kDoReductionDescriptor, how)
      .set(dnn::kDoReductionX, x)
      .set(dnn::kDoReductionY, y)
      .finalize();
  return y;
}

const Descriptor& GraphBuilder::reshape(const Descriptor& x, const Descriptor& y) {
  operations_.emplace_back(dnn::kDoReshape)
      .set(dnn::kDoReshapeX, x)
      .set(dnn::kDoReshapeY, y)
      .finalize();
  return y;
}

const Descriptor& GraphBuilder::pointwise(dnn::Pointwise mode, int compute, int64_t axis,
                                          const Descriptor& x, const Descriptor* b,
                                          const Descriptor* t, const Descriptor& y) {
  Descriptor& how = parts_.emplace_back(dnn::kPointwise);
  how.set_enum(dnn::kPointwiseMode, dnn::kTypePointwiseMode, mode)
      .set_enum(dnn::kPointwiseComputeType, dnn::kTypeDataType, compute);
  if (axis != kNoAxis) how.set_int(dnn::kPointwiseAxis, axis);
  how.finalize();
  Descriptor& operation = operations_.emplace_back(dnn::kDoPointwise);
  operation.set(dnn::kDoPointwiseDescriptor, how).set(dnn::kDoPointwiseX, x);
  if (b) operation.set(dnn::kDoPointwiseB, *b);
  if (t) operation.set(dnn::kDoPointwiseT, *t);
  operation.set(dnn::kDoPointwiseY, y).finalize();
  return y;
}

const Descriptor& GraphBuilder::map(dnn::Pointwise mode, const Descriptor& x, const Descriptor& y) {
  return pointwise(mode, dnn::kFloat, kNoAxis, x, nullptr, nullptr, y);
}

const Descriptor& GraphBuilder::map(dnn::Pointwise mode, const Descriptor& x, const Descriptor& b,
                                    const Descriptor& y) {
  return pointwise(mode, dnn::kFloat, kNoAxis, x, &b, nullptr, y);
}

const Descriptor& GraphBuilder::compare(dnn::Pointwise mode, const Descriptor& x,
                                        const Descriptor& b, const Descriptor& y) {
  return pointwise(mode, dnn::kBoolean, kNoAxis, x, &b, nullptr, y);
}

const Descriptor& GraphBuilder::select(const Descriptor& condition, const Descriptor& x,
                                       const Descriptor& b, const Descriptor& y) {
  return pointwise(dnn::kSelect, dnn::kFloat, kNoAxis, x, &b, &condition, y);
}

const Descriptor& GraphBuilder::index(int64_t axis, const Descriptor& x, const Descriptor& y) {
  return pointwise(dnn::kIndex, dnn::kFloat, axis, x, nullptr, nullptr, y);
}

Descriptor GraphBuilder::graph(dnn::Handle handle) const {
  Descriptor graph(dnn::kOperationGraph);
  std::vector<dnn::Descriptor> handles;
  for (const Descriptor& operation : operations_) {
    if (!operation.fine()) graph.set(dnn::kGraphOperations, operation);  // fails as that did
    handles.push_back(operation.handle());
  }
  graph
      .set(dnn::kGraphOperations, dnn::kTypeDescriptor, handles.data(),
           static_cast<int64_t>(handles.size()))
      .set(dnn::kGraphHandle, dnn::kTypeHandle, &handle)
      .finalize();
  return graph;
}

}  // namespace dt::cuda
