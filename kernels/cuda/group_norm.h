// Normalisation of groups of channels that lie side by side (group_norm.cu); of groups of one
// channel, it is batch_norm's of a single image.
#pragma once

#include "kernels/abi.h"
#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

// The groups of a contiguous [N,C,L].
struct GroupShape {
  int64_t rows;               // groups of all images
  int64_t groups, per_group;  // of an image, and channels of each
  int64_t length;             // of a channel

  GroupShape(const dt_view& x, int64_t rows)
      : rows(rows), groups(rows / x.sizes[0]), per_group(x.sizes[1] / groups), length(x.sizes[2]) {}

  __host__ __device__ int64_t size() const { return per_group * length; }
  // All of is_for_groups have fewer rows than 32 bits hold.
  __device__ int64_t first_channel(int64_t row) const {
    return static_cast<uint32_t>(row) % static_cast<uint32_t>(groups) * per_group;
  }
};

// mean and rstd [rows] are computed in what elements are computed in; weight and bias [C], which
// may be absent, are of that dtype or of the elements'. `centers_equal`: of elements that are all
// equal nothing is left, also where no eps is added; else they become NaN.
struct GroupsForward {
  GroupShape shape;
  const dt_view &y, &mean, &rstd, &x;
  const dt_view *weight, *bias;
  double eps;
  bool centers_equal;
};

struct GroupsBackward {
  GroupShape shape;
  const dt_view *gx, *gweight, *gbias;  // what is wanted
  const dt_view &g, &x, &mean, &rstd;
  const dt_view* weight;
  void* workspace;  // of group_gradients_bytes
  bool centers_equal;
};

// Whether these kernels are the ones for it; otherwise they decline.
bool is_for_groups(const dt_stream* stream, const GroupShape& shape);

int32_t normalise_groups(const dt_stream* stream, const GroupsForward& of);
int32_t group_gradients(const dt_stream* stream, const GroupsBackward& of);
int64_t group_gradients_bytes(const dt_stream* stream, const GroupShape& shape, int32_t dtype);

}  // namespace dt::cuda
