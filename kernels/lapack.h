// What core asks of the CPU kernels' use of a LAPACK.
#pragma once

// The library that serves, or "none" and why; the first call opens it.
extern "C" const char* dt_lapack_words();
