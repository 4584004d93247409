/* Wrong calls of the functions that the schema only declares (c.NAME in capi/schema/types.toml),
 * and numbers that are no good. The generated misuse tests have the functions of uniform shape. */
#include "tests/capi/misuse.h"

#define TENSOR_OUT ((dt_tensor**)&out.pointer[0])
#define CONTEXT_OUT ((dt_context**)&out.pointer[0])
#define DATA_OUT ((const void**)&out.pointer[0])
#define TEXT_OUT ((const char**)&out.pointer[0])

static void test_tensor_read(void) {
  float data[1];
  EXPECT(HANDLE, "tensor_read", dt_tensor_read(NULL, data, sizeof data));
  EXPECT(HANDLE, "tensor_read", dt_tensor_read((dt_tensor*)bad.released, data, sizeof data));
  EXPECT(HANDLE, "tensor_read", dt_tensor_read((dt_tensor*)bad.foreign, data, sizeof data));
  EXPECT(VALUE_ERROR, "tensor_read", dt_tensor_read(good.tensor, NULL, sizeof data));
  EXPECT(VALUE_ERROR, "tensor_read", dt_tensor_read(good.tensor, data, sizeof data - 1));
  EXPECT(VALUE_ERROR, "tensor_read", dt_tensor_read(good.tensor, data, -1));
}

static void test_tensor_write(void) {
  const float data[1] = {1};
  EXPECT(HANDLE, "tensor_write", dt_tensor_write(NULL, data, sizeof data));
  EXPECT(HANDLE, "tensor_write", dt_tensor_write((dt_tensor*)bad.garbage, data, sizeof data));
  EXPECT(HANDLE, "tensor_write", dt_tensor_write((dt_tensor*)bad.released, data, sizeof data));
  EXPECT(VALUE_ERROR, "tensor_write", dt_tensor_write(good.tensor, NULL, sizeof data));
  EXPECT(VALUE_ERROR, "tensor_write", dt_tensor_write(good.tensor, data, sizeof data + 1));
  EXPECT(VALUE_ERROR, "tensor_write", dt_tensor_write(good.tensor, data, -1));
}

static void test_from_data(void) {
  const float data[2] = {1, 2};
  const int64_t two = 2, less = -2, huge[2] = {INT64_MAX / 2, INT64_MAX / 2};
  const int64_t n = sizeof data, uncountable = INT64_C(1) << 62; /* elements, of 4 bytes each */
  const dt_dtype f32 = DT_DTYPE_FLOAT32;
  EXPECT(RUNTIME_ERROR, "from_data", dt_from_data(data, n, &uncountable, 1, f32, 0, 0, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_data", dt_from_data(NULL, n, &two, 1, f32, 0, 0, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_data", dt_from_data(data, n - 1, &two, 1, f32, 0, 0, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_data", dt_from_data(data, -1, &two, 1, f32, 0, 0, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_data", dt_from_data(data, n, NULL, 1, f32, 0, 0, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_data", dt_from_data(data, n, &two, -7, f32, 0, 0, TENSOR_OUT));
  EXPECT(RUNTIME_ERROR, "from_data", dt_from_data(data, n, &less, 1, f32, 0, 0, TENSOR_OUT));
  EXPECT(RUNTIME_ERROR, "from_data", dt_from_data(data, n, huge, 2, f32, 0, 0, TENSOR_OUT));
  /* More sizes than a tensor can have are not read, so that a wrong count does no harm. */
  EXPECT(RUNTIME_ERROR, "from_data",
         dt_from_data(data, n, &less, INT64_MAX, f32, 0, 0, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_data", dt_from_data(data, n, &two, 1, 99, 0, 0, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_data", dt_from_data(data, n, &two, 1, 0, 0, 0, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_data", dt_from_data(data, n, &two, 1, f32, 99, 0, TENSOR_OUT));
  EXPECT(TYPE_ERROR, "from_data", dt_from_data(data, n, &two, 1, f32, 0, 0, NULL));
}

/* A blob of two floats, with one thing wrong in each call. A macro, so that EXPECT sees the
 * callback. */
#define BLOB(data, data_n, stride, stride_n, dtype, result)                                   \
  dt_from_blob(data, data_n, &two, 1, stride, stride_n, dtype, 0, 0, &good.drops, count_drop, \
               result)

static void test_from_blob(void) {
  float data[2] = {1, 2};
  const int64_t one = 1, two = 2, less = -1, huge = INT64_MAX, n = sizeof data;
  const dt_dtype f32 = DT_DTYPE_FLOAT32;
  EXPECT(VALUE_ERROR, "from_blob", BLOB(NULL, n, &one, 1, f32, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_blob", BLOB(data, n - 1, &one, 1, f32, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_blob", BLOB(data, -1, &one, 1, f32, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_blob", BLOB(data, n, NULL, 1, f32, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_blob", BLOB(data, n, &one, 0, f32, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_blob", BLOB(data, n, &less, 1, f32, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_blob", BLOB(data, n, &huge, 1, f32, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_blob", BLOB(data, n, &huge, 1, DT_DTYPE_UINT8, TENSOR_OUT));
  EXPECT(VALUE_ERROR, "from_blob", BLOB(data, n, &one, 1, 99, TENSOR_OUT));
  EXPECT(TYPE_ERROR, "from_blob", BLOB(data, n, &one, 1, f32, NULL));
}

static void test_dlpack(void) {
  EXPECT(HANDLE, "to_dlpack", dt_to_dlpack(NULL, &out.pointer[0]));
  EXPECT(HANDLE, "to_dlpack", dt_to_dlpack((dt_tensor*)bad.released, &out.pointer[0]));
  EXPECT(HANDLE, "to_dlpack", dt_to_dlpack((dt_tensor*)bad.foreign, &out.pointer[0]));
  EXPECT(RUNTIME_ERROR, "to_dlpack", dt_to_dlpack(good.tensor, &out.pointer[0])); /* a leaf */
  EXPECT(TYPE_ERROR, "to_dlpack", dt_to_dlpack(good.tensor, NULL));
  EXPECT(TYPE_ERROR, "from_dlpack", dt_from_dlpack(NULL, TENSOR_OUT));
  EXPECT(TYPE_ERROR, "from_dlpack", dt_from_dlpack(NULL, NULL));
}

static void test_contexts(void) {
  EXPECT(TYPE_ERROR, "context_new", dt_context_new(NULL));
  EXPECT(HANDLE, "context_swap", dt_context_swap((dt_context*)bad.released, CONTEXT_OUT));
  EXPECT(HANDLE, "context_swap", dt_context_swap((dt_context*)bad.garbage, CONTEXT_OUT));
  EXPECT(HANDLE, "context_swap", dt_context_swap((dt_context*)good.tensor, CONTEXT_OUT));
  EXPECT(TYPE_ERROR, "context_swap", dt_context_swap(good.context, NULL));
}

static void test_text(void) {
  EXPECT(HANDLE, "bytes_data", dt_bytes_data(NULL, DATA_OUT, &out.i64[0]));
  EXPECT(HANDLE, "bytes_data", dt_bytes_data((dt_bytes*)bad.released, DATA_OUT, &out.i64[0]));
  EXPECT(HANDLE, "bytes_data", dt_bytes_data((dt_bytes*)good.tensor, DATA_OUT, &out.i64[0]));
  EXPECT(TYPE_ERROR, "bytes_data", dt_bytes_data(good.bytes, NULL, &out.i64[0]));
  EXPECT(TYPE_ERROR, "bytes_data", dt_bytes_data(good.bytes, DATA_OUT, NULL));
  EXPECT(HANDLE, "string_list_get", dt_string_list_get(NULL, 0, TEXT_OUT));
  EXPECT(HANDLE, "string_list_get", dt_string_list_get((dt_string_list*)good.bytes, 0, TEXT_OUT));
  EXPECT(INDEX_ERROR, "string_list_get", dt_string_list_get(good.string_list, -1, TEXT_OUT));
  EXPECT(INDEX_ERROR, "string_list_get", dt_string_list_get(good.string_list, 1 << 20, TEXT_OUT));
  EXPECT(TYPE_ERROR, "string_list_get", dt_string_list_get(good.string_list, 0, NULL));
}

/* Functions of plain numbers alone: nothing about them can be malformed, but meaningless. */
static void test_numbers(void) {
  EXPECT(RUNTIME_ERROR, "set_num_threads", dt_set_num_threads(0));
  EXPECT(RUNTIME_ERROR, "set_num_threads", dt_set_num_threads(-3));
  EXPECT(RUNTIME_ERROR, "cuda_set_device", dt_cuda_set_device(-7));
  EXPECT(RUNTIME_ERROR, "cuda_set_device", dt_cuda_set_device(1 << 20));
}

/* What reports no status is wrong calls' business too: it answers, and keeps the last error. */
static void test_without_status(void) {
  int64_t node = 77;
  const int wrong = dt_tensor_sole_owner((dt_tensor*)bad.released, &node) != 0 || node != 0 ||
                    dt_live_handles("no such kind") != -1 || dt_error_code() != DT_STATUS_OK;
  if (wrong) fprintf(stderr, "a call that reports no status did not answer as promised\n");
  misuse_failures += wrong;
}

/* State that the settings need, absent. */
static void test_missing_state(void) {
  const double sgd[] = {0.1, 0.9, 0, 0, 0, 0};
  dt_tensor *p[1] = {0}, *g[1] = {0}, *none[1] = {0};
  const int64_t n = 2;
  int failed = dt_zeros(&n, 1, DT_DTYPE_FLOAT32, 0, 0, 0, p) || dt_ones(&n, 1, 0, 0, 0, 0, g);
  misuse_failures += failed;
  EXPECT(RUNTIME_ERROR, "optimizer_update",
         dt_optimizer_update("sgd", p, 1, g, 1, NULL, 0, NULL, DT_SCALAR_KIND_FLOAT, 0, 0.1, sgd, 6,
                             0));
  EXPECT(RUNTIME_ERROR, "optimizer_update",
         dt_optimizer_update("sgd", p, 1, g, 1, none, 1, NULL, DT_SCALAR_KIND_FLOAT, 0, 0.1, sgd, 6,
                             0));
  dt_tensor_release(p[0]);
  dt_tensor_release(g[0]);
}

/* Sizes whose bytes, and what is added to them, come near the largest number. */
static void test_sizes_near_the_end(void) {
  for (int64_t less = 1; less <= 256; less *= 2) {
    const int64_t n = INT64_MAX - less + 1, half = n / 2;
    EXPECT(OUT_OF_MEMORY, "empty", dt_empty(&n, 1, DT_DTYPE_UINT8, 0, 0, 0, 0, TENSOR_OUT));
    EXPECT(OUT_OF_MEMORY, "zeros", dt_zeros(&half, 1, DT_DTYPE_BOOL, 0, 0, 0, TENSOR_OUT));
  }
}

/* What a number is divided by: the processor would end the process. */
static void test_divisors(void) {
  dt_module** const group_norm = (dt_module**)&out.pointer[0];
  EXPECT(VALUE_ERROR, "nn_group_norm", dt_nn_group_norm(0, 3, NULL, group_norm));
}

int main(void) {
  misuse_begin();
  test_divisors();
  test_missing_state();
  test_sizes_near_the_end();
  test_tensor_read();
  test_tensor_write();
  test_from_data();
  test_from_blob();
  test_dlpack();
  test_contexts();
  test_text();
  test_numbers();
  test_without_status();
  return misuse_end();
}
