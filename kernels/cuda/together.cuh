// Blocks that work together: all of a grid, which are there at once and may wait for each other, or
// those of a cluster, which are neighbours and can read each other's shared memory (Hopper and
// newer).
#pragma once

#include "kernels/cuda/launch.cuh"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif

namespace dt::cuda {

// Whether all blocks of a kernel can be there at once (device.cpp).
bool can_launch_together(int32_t device);
// Whether the code that the device runs can put blocks into clusters (device.cpp).
bool has_clusters(int32_t device);

#ifdef __CUDACC__

// Runs a kernel with an attribute of the driver's.
template <class... Parameters, class... Arguments>
int32_t launch_with(cudaLaunchAttribute attribute, const dt_stream* stream,
                    void (*kernel)(Parameters...), dim3 grid, dim3 block,
                    const Arguments&... arguments) {
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = native_stream(stream);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return check(cudaLaunchKernelEx(&config, kernel, arguments...), "kernel launch", stream->fault);
}

// Runs a kernel whose blocks wait for each other: they are all there at once, or the driver
// refuses.
template <class... Parameters, class... Arguments>
int32_t launch_together(const dt_stream* stream, void (*kernel)(Parameters...), int64_t blocks,
                        dim3 block, const Arguments&... arguments) {
  cudaLaunchAttribute together = {};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  return launch_with(together, stream, kernel, dim3(static_cast<unsigned>(blocks)), block,
                     arguments...);
}

// ---- clusters

// Which of its cluster's blocks this is, of how many, and which of the clusters that is. A kernel
// that is launched in the ordinary way has clusters of one block.
struct ClusterPlace {
  int rank = 0, blocks = 1;
  int64_t number;

  __device__ __forceinline__ ClusterPlace() {
#if __CUDA_ARCH__ >= 900
    rank = static_cast<int>(cooperative_groups::this_cluster().block_rank());
    blocks = static_cast<int>(cooperative_groups::this_cluster().num_blocks());
#endif
    number = blockIdx.x / static_cast<unsigned>(blocks);
  }
};

// Merges what the blocks of a cluster have, in their order; each gives one value, that of its first
// thread. All threads of the cluster must take part, and get the result.
template <class T, class Merge>
__device__ __forceinline__ T cluster_reduce(const ClusterPlace& place, T value,
                                            const Merge& merge) {
#if __CUDA_ARCH__ >= 900
  if (place.blocks > 1) {
    __shared__ T own;
    const auto cluster = cooperative_groups::this_cluster();
    if (threadIdx.x == 0) own = value;
    cluster.sync();
    value = *cluster.map_shared_rank(&own, 0);
    for (int other = 1; other < place.blocks; ++other)
      value = merge(value, *cluster.map_shared_rank(&own, other));
    cluster.sync();  // whoever is read must still be there
  }
#endif
  return value;
}

// Runs a kernel for `rows` rows, each of which a cluster of so many blocks has: of 1 where the
// device knows no clusters.
template <class... Parameters, class... Arguments>
int32_t launch_clusters(const dt_stream* stream, void (*kernel)(Parameters...), int64_t rows,
                        int blocks, dim3 block, const Arguments&... arguments) {
  const dim3 grid(static_cast<unsigned>(rows * blocks));
  if (blocks == 1) return launch(stream, kernel, grid, block, 0, arguments...);
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(blocks);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  return launch_with(cluster, stream, kernel, grid, block, arguments...);
}

constexpr int kMostInCluster = 8;  // blocks that every such device grants

// Clusters of one block, where there are enough rows for all multiprocessors, or where a row is
// less than `grain` for each of its blocks.
template <class... Parameters, class... Arguments>
int32_t launch_by_rows(const dt_stream* stream, void (*kernel)(Parameters...), int64_t rows,
                       int64_t length, int64_t grain, dim3 block, const Arguments&... arguments) {
  int blocks = 1;
  while (has_clusters(stream->device) && blocks < kMostInCluster &&
         rows * blocks * 2 <= multiprocessors(stream->device) && length >= 2 * blocks * grain)
    blocks *= 2;
  return launch_clusters(stream, kernel, rows, blocks, block, arguments...);
}

#endif

}  // namespace dt::cuda
