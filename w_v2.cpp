#include "kernels/abi.h"
extern "C" __attribute__((visibility("default"))) void fill_v2(dt_backend*t){dt_cpu_v2(t);}
