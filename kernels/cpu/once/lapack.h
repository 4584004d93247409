// LAPACK of a library of the machine's, for what it does in less time than the house's own code:
// large symmetric eigenvalue problems and singular values, by divide and conquer. All else takes no
// longer here than in OpenBLAS, which is what is looked for; the reference LAPACK takes longer in
// everything. DT_LAPACK names another library, or is "none".
#pragma once

#include <cstddef>
#include <cstdint>

namespace dt::cpu {

// As Fortran compilers have it: numbers by address, lengths of strings at the end.
template <class T>
struct Lapack {
  void (*syevd)(const char* job, const char* triangle, const int32_t* n, T* a, const int32_t* a_row,
                T* w, T* work, const int32_t* work_size, int32_t* places,
                const int32_t* places_size, int32_t* info, size_t, size_t);
  void (*gesdd)(const char* job, const int32_t* m, const int32_t* n, T* a, const int32_t* a_row,
                T* s, T* u, const int32_t* u_row, T* vt, const int32_t* vt_row, T* work,
                const int32_t* work_size, int32_t* places, int32_t* info, size_t);
};

struct LapackLibrary {
  Lapack<float> f32;
  Lapack<double> f64;
  const char* name;  // null: there is none, for this reason
  const char* reason;
};

// The library, which is opened by the first call.
const LapackLibrary& lapack_library();

inline const Lapack<float>& routines(const LapackLibrary& library, float) {
  return library.f32;
}
inline const Lapack<double>& routines(const LapackLibrary& library, double) {
  return library.f64;
}

// Whether matrices of this size go to the library: those that repay it, and whose workspace its
// integers can count.
inline bool takes_lapack(int64_t rows, int64_t cols) {
  constexpr int64_t kFew = 160, kMost = 16384;
  return cols >= kFew && rows <= kMost && lapack_library().name != nullptr;
}

}  // namespace dt::cpu
