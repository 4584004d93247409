// A kernel that needs scratch memory is often one function: with `bytes` it only says how much,
// without it runs. Both uses see the same plan that way. This makes a kernel and its workspace
// function of `int32_t function(const dt_stream*, const calls::Call&, int64_t* bytes)`.
#pragma once

#define DT_PLANNED_KERNEL(name, Call, function)                                         \
  int32_t kernels::name(const dt_stream* stream, const calls::Call& call) {             \
    return function(stream, call, nullptr);                                             \
  }                                                                                     \
  int64_t kernels::name##_workspace(const dt_stream* stream, const calls::Call& call) { \
    int64_t bytes = 0;                                                                  \
    function(stream, call, &bytes);                                                     \
    return bytes;                                                                       \
  }
