/* For languages whose compiler knows a value's type and hands over where it lies: elements and
 * arrays in memory of the language's, of any rank and width. */
#ifndef DUMBTORCH_ARRAY_H
#define DUMBTORCH_ARRAY_H

#include "wrappers/table/frame.h"

enum { DTT_MAX_RANK = 15 };

typedef struct dtt_array {
  dtt_kind kind; /* of the elements: a BOOL, I64, F64 or STR of `bytes` bytes */
  int64_t bytes;
  char* at;
  char pad; /* what fills up a text that is shorter, or 0 */
  int rank;
  int64_t size[DTT_MAX_RANK], step[DTT_MAX_RANK]; /* from one element to the next, in bytes */
} dtt_array;

/* An element. An integer is an address where no number is meant. */
static inline dtt_given dtt_element(dtt_frame* f, const dtt_item* item, const dtt_array* a,
                                    const char* at) {
  const int is_number = item->kind <= DTT_F64 && item->kind != DTT_TENSOR;
  dtt_given v = {a->kind, {0}, a->bytes, NULL, NULL};
  if (a->kind == DTT_I64) {
    if (!is_number) v.kind = (dtt_kind)item->kind, v.of = (const dtt_handle*)item->of;
    v.value.i = a->bytes == 8   ? *(const int64_t*)at
                : a->bytes == 4 ? *(const int32_t*)at
                : a->bytes == 2 ? *(const int16_t*)at
                                : *(const int8_t*)at;
  } else if (a->kind == DTT_F64) {
    v.value.f = a->bytes == 4 ? (double)*(const float*)at : *(const double*)at;
  } else if (a->kind == DTT_STR) {
    while (item->kind != DTT_BYTES && a->pad && v.n > 0 && at[v.n - 1] == a->pad) v.n--;
    v.value.p = dtt_copy(f, at, v.n);
  } else {
    v.value.i = *at != 0;
  }
  return v;
}

/* Gives item i: one value, a list, or the array itself. */
static inline void dtt_give_array(dtt_frame* f, int32_t i, const dtt_array* a) {
  const dtt_item* item = dtt_wanted(f, i);
  dtt_cell* at = f->given + item->cell;
  int64_t k;
  if (item->kind == DTT_POINTER) {
    at->p = dtt_copy(f, a, (int64_t)sizeof *a);
  } else if (a->rank != item->is_list) {
    dtt_refuse_kind(f, item, NULL);
  } else if (!item->is_list) {
    const dtt_given v = dtt_element(f, item, a, a->at);
    dtt_give(f, item, &v, at);
  } else {
    dtt_give_list(f, item, at, a->size[0]);
    for (k = 0; k < at[1].i; k++) {
      const dtt_given v = dtt_element(f, item, a, a->at + k * a->step[0]);
      dtt_give_listed(f, item, &v, at, k);
    }
  }
}

/* Writes an element that has 4 or 8 bytes, or is text. */
static inline void dtt_write_element(const dtt_array* a, char* to, const dtt_cell* from) {
  if (a->kind == DTT_STR) {
    const int64_t n = from[1].i < a->bytes ? from[1].i : a->bytes;
    memcpy(to, from->p, (size_t)n);
    memset(to + n, a->pad, (size_t)(a->bytes - n));
  } else if (a->bytes == 8) {
    memcpy(to, from, 8);
  } else if (a->kind == DTT_F64) {
    *(float*)to = (float)from->f;
  } else {
    *(int32_t*)to = (int32_t)from->i;
  }
}

/* What item i of what is taken is. */
static inline const dtt_item* dtt_item_taken(const dtt_frame* f, int32_t i) {
  return (f->callback ? f->callback->args : f->function->results) + i;
}

/* Takes item i: one value, or a list into an array that is as long. A number of any kind is a real
 * one. */
static inline void dtt_take_array(const dtt_frame* f, int32_t i, const dtt_array* a) {
  const dtt_item* item = dtt_item_taken(f, i);
  const dtt_cell* at = f->taken + 2 * i;
  const dtt_cell* entries = item->is_list ? (const dtt_cell*)at->p : at;
  const dtt_cell real = {.f = (double)at->i};
  const int64_t n = item->is_list ? at[1].i : 1;
  int64_t k;
  if (item->kind == DTT_SCALAR && at[1].i != DT_SCALAR_KIND_FLOAT) entries = &real;
  for (k = 0; k < n; k++)
    dtt_write_element(a, a->at + k * a->step[0], entries + (a->kind == DTT_STR ? 2 * k : k));
}

/* 0: tensors have no such elements. */
static inline dt_dtype dtt_dtype_of(const dtt_array* a) {
  static const dt_dtype integers[] = {0, DT_DTYPE_INT8, DT_DTYPE_INT16, 0, DT_DTYPE_INT32, 0, 0,
                                      0, DT_DTYPE_INT64};
  if (a->kind == DTT_I64 && a->bytes <= 8) return integers[a->bytes];
  if (a->kind != DTT_F64) return 0;
  return a->bytes == 4 ? DT_DTYPE_FLOAT32 : a->bytes == 8 ? DT_DTYPE_FLOAT64 : 0;
}

/* A tensor that looks at the array: it has its sizes, and its order in memory becomes strides. */
static inline dt_status dtt_look_at(const dtt_array* a, dt_tensor** out) {
  int64_t stride[DTT_MAX_RANK], last = 0;
  const dt_dtype dtype = dtt_dtype_of(a);
  int i;
  if (!dtype)
    return dt_error_set(DT_STATUS_TYPE_ERROR,
                        "an array is of reals of 4 or 8 bytes, or of integers, to be a tensor");
  for (i = 0; i < a->rank; i++) {
    stride[i] = a->step[i] / a->bytes;
    if (a->size[i] <= 0) last = -1;
    if (last >= 0) last += (a->size[i] - 1) * stride[i];
  }
  return dt_from_blob(a->at, (last + 1) * a->bytes, a->size, a->rank, stride, a->rank, dtype,
                      DT_DEVICE_TYPE_CPU, 0, NULL, NULL, out);
}

/* A copy, in the same order. */
static inline dt_status dtt_from_array(const dtt_array* a, dt_tensor** out) {
  dt_tensor* view = NULL;
  dt_status status = dtt_look_at(a, &view);
  *out = NULL;
  if (!status) status = dt_clone(view, DT_MEMORY_FORMAT_PRESERVE, out);
  dt_tensor_release(view);
  return status;
}

/* Fills an array that has the tensor's sizes; the elements are converted to its kind. */
static inline dt_status dtt_to_array(dt_tensor* x, const dtt_array* a) {
  dt_tensor* view = NULL;
  int64_t size[DTT_MAX_RANK], n = 0, i;
  dt_status status = dt_tensor_shape(x, size, DTT_MAX_RANK, &n);
  int same = n == a->rank;
  for (i = 0; same && i < n; i++) same = size[i] == a->size[i];
  if (!status && !same)
    status = dt_error_set(DT_STATUS_VALUE_ERROR, "the array has not the tensor's shape");
  if (!status) status = dtt_look_at(a, &view);
  if (!status) status = dt_copy_(view, x, 0);
  dt_tensor_release(view);
  return status;
}

#endif
