// Chooses the CPU kernels: each instruction set is one object of kernels/cpu.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/kernel_table.h"
#include "kernels/cpu_flags.h"

namespace dt {
namespace {

// The parts of x86-64-v3 that __builtin_cpu_supports cannot ask for with every compiler: F16C,
// MOVBE, LZCNT.
bool has_small_v3_features() {
  unsigned a, b, c, d, extended_c;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid(0x80000001, &a, &b, &extended_c, &d))
    return false;
  return (c >> 29 & 1) && (c >> 22 & 1) && (extended_c >> 5 & 1);
}

bool cpu_has(char level) {
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                  has_small_v3_features();
  if (level == '2') return v2;
  if (level == '3') return v3;
  return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
}

// Instructions that multiply bfloat16 came later than x86-64-v4.
bool has_avx512_bf16() {
  unsigned a = 0, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}

// Tiles of bfloat16. A process may use them once it has asked the system, which then keeps them
// when another one runs; some systems do not know the question.
bool may_use_amx_bf16() {
  constexpr int kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  unsigned a, b, c, d = 0;
  const bool has = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1);
  return has && syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}

// How many lines a set of the first-level data cache holds; 0: unknown. Intel and AMD answer in the
// same words to questions of their own.
unsigned ways_of_first_level() {
  for (const unsigned leaf : {4u, 0x8000001du}) {
    unsigned a, b, c, d;
    for (unsigned i = 0; i < 4 && __get_cpuid_count(leaf, i, &a, &b, &c, &d); ++i) {
      const unsigned kind = a & 31, level = a >> 5 & 7;
      if (kind == 1 && level == 1) return (b >> 22) + 1;
    }
  }
  return 0;
}

KernelTable choose() {
  char level = cpu_has('4') ? '4' : cpu_has('3') ? '3' : '2';
  bool tiles = true;
  if (const char* wish = std::getenv("DT_CPU_ISA")) {
    tiles = std::strcmp(wish, "v4-no-amx") != 0;  // as processors are that have the rest
    const bool known = !tiles || (wish[0] == 'v' && wish[1] >= '2' && wish[1] <= '4' && !wish[2]);
    DT_CHECK(known, kValueError, "DT_CPU_ISA must be v2, v3, v4 or v4-no-amx, got '", wish, "'");
    level = wish[1];
  }
  DT_CHECK(cpu_has(level), kRuntimeError, "this processor cannot run the x86-64-v", level,
           " kernels");
  set_kernel_flag(DT_FLAG_AVX512_BF16, level == '4' && has_avx512_bf16());
  set_kernel_flag(DT_FLAG_AMX_BF16,
                  tiles && level == '4' && has_avx512_bf16() && may_use_amx_bf16());
  set_kernel_flag(DT_FLAG_TWELVE_WAYS, ways_of_first_level() >= 12);
  KernelTable table(level == '4' ? "v4" : level == '3' ? "v3" : "v2");
  level == '4' ? dt_cpu_v4(&table) : level == '3' ? dt_cpu_v3(&table) : dt_cpu_v2(&table);
  return table;
}

}  // namespace

const KernelTable& cpu_kernels() {
  static const KernelTable& table = *new KernelTable(choose());
  return table;
}

}  // namespace dt
