/* Bits of dt_stream.flags that only the CPU's kernels know, beside those of abi.h: what the
 * processor has besides the instructions of its table. */
#ifndef DT_KERNELS_CPU_FLAGS_H
#define DT_KERNELS_CPU_FLAGS_H

enum {
  DT_FLAG_AMX_BF16 = 16,   /* tiles of bfloat16, which the system lets this process use */
  DT_FLAG_TWELVE_WAYS = 32 /* a set of the first-level data cache holds at least twelve lines */
};

#endif
