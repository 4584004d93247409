// Comparing the results of recorded calls: what tests/cpp/conformance_test.cpp is made of.
#pragma once

#include <cmath>
#include <cstdio>
#include <dumbtorch.hpp>

namespace dt = dumbtorch;

inline int failures = 0;
inline size_t current = 0;

inline void fail(const std::string& what) {
  ++failures;
  std::fprintf(stderr, "case %zu: %s\n", current, what.c_str());
}

inline void expect_true(bool condition) {
  if (!condition) fail("a value differs");
}

inline void expect(const dt::Tensor& x, dt::DType dtype, const std::vector<int64_t>& size,
                   const std::vector<double>& data) {
  if (x.dtype() != dtype) fail("dtype");
  if (x.shape() != size) return fail("shape");
  const double tolerance = dtype == dt::kFloat64 ? 1e-8 : 1e-5;
  const std::vector<double> values = dt::to_vector<double>(x);
  for (size_t i = 0; i < data.size(); ++i) {
    if (!(std::abs(values[i] - data[i]) <= tolerance * (1 + std::abs(data[i])))) {
      return fail("element " + std::to_string(i) + " is " + std::to_string(values[i]) + ", not " +
                  std::to_string(data[i]));
    }
  }
}

template <class Body>
void expect_error(const std::string& text, Body body) {
  try {
    body();
  } catch (const dt::Error& error) {
    if (std::string(error.what()).find(text) != std::string::npos) return;
    return fail("expected the error '" + text + "', not '" + error.what() + "'");
  }
  fail("there was no error '" + text + "'");
}

// Applies the layer of a row of tests/layer_rows.py to inputs, with the parameters in
// FOLDER/ROW.state.
inline void try_layer(const std::string& folder, int row, const dt::Module& layer) {
  const std::string path = folder + "/" + std::to_string(row);
  layer.load(path + ".state");
  const std::vector<dt::Tensor> outputs =
      layer.forward_outputs(dt::load_checkpoint(path + ".in").tensors);
  std::vector<std::string> names;
  for (size_t i = 1; i <= outputs.size(); ++i) names.push_back(std::to_string(i));
  dt::save_checkpoint(path + ".out", names, outputs);
}

// The same of tests/model_rows.py, in evaluation.
inline void try_model(const std::string& folder, int row, const dt::Module& model) {
  model.train(false);
  try_layer(folder, row, model);
}

inline int run_cases(const std::vector<void (*)()>& cases) {
  for (current = 0; current < cases.size(); ++current) {
    try {
      cases[current]();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  if (dt_live_handles(nullptr) != 0) fail("handles are left");
  if (failures) std::fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}
