// What the copy engine of Hopper knows of a tensor in memory.
#pragma once

#include <cuda.h>

#include "kernels/abi.h"

namespace dt::cuda {

// A copy brings so many rows at a time.
constexpr int kMapRows = 64;

// Whether it can read [batch, heads, rows, features] of elements of two bytes: rows are dense, and
// begin at multiples of 16 bytes.
bool has_map(const dt_view& v);
// How it reads kMapRows rows of 64 elements as a panel of a tile (warpgroup.cuh).
int32_t make_map(const dt_stream* stream, const dt_view& v, CUtensorMap* map);

}  // namespace dt::cuda
