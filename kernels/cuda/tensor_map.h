// What the copy engine of Hopper knows of a tensor in memory.
#pragma once

#include <cuda.h>

#include "kernels/abi.h"

namespace dt::cuda {

// A copy brings so much at a time.
constexpr int kMapRows = 64, kMapColumns = 64;

// Whether it can read [batch, heads, rows, features] of elements of two bytes: rows are dense and
// begin at multiples of 16 bytes, and no dimension is expanded.
bool has_map(const dt_view& v);
// How it reads kMapRows rows of kMapColumns elements as a panel of a tile (warpgroup.cuh), or
// DT_KERNEL_UNSUPPORTED where the driver refuses.
int32_t make_map(const dt_view& v, CUtensorMap* map);

}  // namespace dt::cuda
