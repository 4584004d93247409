# Options, and the compiler flags that hold for every target. kernels/CMakeLists.txt adds its own.

string(COMPARE EQUAL "${CMAKE_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}" DT_IS_TOP_LEVEL)

option(DT_BUILD_TESTS "Build the C and C++ tests (target dt_tests)" ${DT_IS_TOP_LEVEL})
option(DT_BUILD_EXAMPLES "Build the C and C++ examples" ${DT_IS_TOP_LEVEL})
option(DT_BUILD_STATIC "Build libdumbtorch.a beside libdumbtorch.so" ON)
option(DT_BUILD_LUA "Build the Lua modules for the Lua headers that are found" ${DT_IS_TOP_LEVEL})
option(DT_BUILD_PYTHON "Build the Python module beside its sources in wrappers/python" OFF)
option(DT_PYTHON_WHEEL "Build and install only what a Python wheel holds (pyproject.toml)" OFF)
option(DT_UNITY "Compile the files of core several at a time" ON)
option(DT_WERROR "Treat warnings as errors" OFF)
option(DT_INSTALL "Make the install rules" ${DT_IS_TOP_LEVEL})
set(DT_KERNEL_OPTIMIZATION "" CACHE STRING
    "Replaces the optimisation flags of the CPU kernels, for instance -O1 to compile them quickly")
set(DT_CUDA AUTO CACHE STRING
    "Build the CUDA plugin: ON, OFF, or AUTO for where a GPU and nvcc are found")
set_property(CACHE DT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(DT_CUDA_TARGETS "" CACHE STRING
    "Replaces nvcc's -gencode flags, for instance -arch=native to compile quickly for one machine")
set(DT_SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread")

# Wheels are small unless asked otherwise, and sanitizers do not see into kernels.
if(DT_CUDA STREQUAL "AUTO" AND (DT_SANITIZE OR DT_PYTHON_WHEEL))
  set(DT_CUDA OFF)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# -O2 and checks stay on: an internal check that fails is an error for the caller, never a silent
# wrong number.
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Programs find what is in the library when they run: a change of it links none of them anew.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

# Every object is hidden by default: the C API is what capi/dumbtorch.map lists, nothing else.
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_compile_options(-Wall -Wextra)
# gcc's guess about uninitialized values is wrong about lists that keep few elements inline, and
# this code is full of them.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
# To clang, & and | of truth values look like mistakes, which are what keeps branches out of
# formulas, and so does a loop that is to be unrolled in code for which it has no vectors.
foreach(warning IN ITEMS bitwise-instead-of-logical bitwise-conditional-parentheses pass-failed)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-${warning}>)
endforeach()
if(DT_WERROR)
  add_compile_options(-Werror)
endif()
# File names in messages and debug information are relative to the repository, wherever it was
# built.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

if(DT_SANITIZE)
  add_compile_options(-fsanitize=${DT_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${DT_SANITIZE})
endif()

# Chosen when the build folder is made: what is installed later must not make all compile anew.
if(NOT DEFINED CACHE{DT_CCACHE})
  find_program(DT_CCACHE ccache)
  mark_as_advanced(DT_CCACHE)
endif()
# What one checkout has compiled serves another: ccache takes paths relative to the checkout (those
# within files that join several are so from CMake 4.0 on), and keeps precompiled headers too, so
# that all have the same bytes. What a file includes it learns from the compiler, and so
# preprocesses nothing first.
if(DT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${DT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endif()
