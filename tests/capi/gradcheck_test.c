/* Gradients against finite differences: what is right and what is wrong, and what a function to be
 * checked may do that it should not. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/capi/check.h"

/* What the checked function does. */
enum {
  kSquare,     /* x * x */
  kOwnRight,   /* x * x as a function of one's own, and its derivative */
  kOwnWrong,   /* with 3x for 2x */
  kOwnAlone,   /* the derivative as if it were the loss: without the gradient that came in */
  kTwo,        /* x * x and 3x; of the second the derivative is wrong */
  kConstant,   /* without a graph */
  kFails,      /* an error of its own */
  kNothing,    /* no list */
  kAbsent,     /* a list without a tensor */
  kForeign,    /* something else than a list */
  kMore,       /* another output each time */
  kLonger,     /* another shape each time */
  kOther,      /* another dtype each time */
  kItself,     /* the input as it is */
  kDiffers,    /* another derivative each time */
  kWithSecond, /* x, times the second input if there is one */
  kNested,     /* a check in the check */
  kLater       /* x * x, and the second input, which requires grad from the second call on */
};

typedef struct {
  int what;
  int calls, drops, made, backwards, backward_drops;
} probe;

static void drop_probe(void* p) {
  ++((probe*)p)->drops;
}

static void drop_backward(void* p) {
  ++((probe*)p)->backward_drops;
}

static dt_tensor* times(dt_tensor* x, double factor) {
  dt_tensor* y = NULL;
  OK(dt_mul(x, NULL, DT_SCALAR_KIND_FLOAT, 0, factor, &y));
  return y;
}

static dt_status give(dt_tensor* y, dt_tensor_list** out) {
  const dt_status status = dt_tensor_list_new(&y, 1, out);
  dt_tensor_release(y);
  return status;
}

static dt_status own_backward(void* user_data, dt_tensor* const* grads, int64_t grads_n,
                              dt_tensor* const* saved, int64_t saved_n, dt_tensor_list** out) {
  probe* p = user_data;
  const int calls = p->backwards++;
  const double factor = p->what == kOwnRight ? 2 : p->what == kDiffers ? 2 + calls * 1e-4 : 3;
  dt_tensor *slope = times(saved[0], p->what == kOwnAlone ? 2 : factor), *g = NULL;
  CHECK(grads_n == 1 && saved_n == 1);
  if (p->what == kOwnAlone) return give(slope, out);
  OK(dt_mul(slope, grads[0], 0, 0, 0, &g));
  dt_tensor_release(slope);
  return give(g, out);
}

static dt_tensor* own_square(dt_tensor* x, probe* p) {
  dt_tensor *bare = NULL, *y = NULL, *recorded = NULL;
  dt_tensor_list* list = NULL;
  ++p->made;
  OK(dt_detach(x, &bare));
  OK(dt_square(bare, &y));
  OK(dt_custom_function("Own", &x, 1, &y, 1, &x, 1, own_backward, p, drop_backward, NULL, 0,
                        &list));
  OK(dt_tensor_list_get(list, 0, &recorded));
  dt_tensor_list_release(list);
  dt_tensor_release(bare);
  dt_tensor_release(y);
  return recorded;
}

static dt_status check_again(dt_tensor* x, dt_tensor_list** out);

static dt_status function(void* user_data, dt_tensor* const* inputs, int64_t inputs_n,
                          dt_tensor_list** out) {
  probe* p = user_data;
  const int calls = p->calls++;
  dt_tensor *x = inputs[0], *y = NULL, *several[3] = {NULL};
  switch (p->what) {
    case kOwnRight:
    case kOwnWrong:
    case kDiffers:
      return give(own_square(x, p), out);
    case kOwnAlone: {
      dt_tensor* square = own_square(x, p);
      OK(dt_sum(square, NULL, 0, 0, 0, &y));
      dt_tensor_release(square);
      return give(y, out);
    }
    case kTwo: {
      OK(dt_square(x, &several[0]));
      several[1] = own_square(x, p);
      const dt_status status = dt_tensor_list_new(several, 2, out);
      dt_tensor_release(several[0]);
      dt_tensor_release(several[1]);
      return status;
    }
    case kConstant:
      OK(dt_detach(x, &y));
      return give(y, out);
    case kFails:
      return dt_error_set(DT_STATUS_VALUE_ERROR, "the function does not like it");
    case kNothing:
      return DT_STATUS_OK;
    case kAbsent:
      return dt_tensor_list_new(several, 1, out);
    case kForeign:
      return dt_default_generator(DT_DEVICE_TYPE_CPU, 0, (dt_generator**)out);
    case kMore:
      several[0] = several[1] = several[2] = x;
      return dt_tensor_list_new(several, 1 + (calls > 0), out);
    case kLonger: {
      dt_tensor* both[2] = {x, x};
      OK(dt_cat(both, 1 + (calls > 0), 0, &y));
      return give(y, out);
    }
    case kOther:
      OK(dt_to(x, 0, 0, calls > 0 ? DT_DTYPE_FLOAT32 : DT_DTYPE_FLOAT64, 0, 0, 0, &y));
      return give(y, out);
    case kItself:
      return dt_tensor_list_new(&x, 1, out);
    case kWithSecond:
      if (inputs_n < 2 || !inputs[1]) return dt_tensor_list_new(&x, 1, out);
      OK(dt_mul(x, inputs[1], 0, 0, 0, &y));
      return give(y, out);
    case kNested:
      return check_again(x, out);
    case kLater: {
      OK(dt_square(x, &several[0]));
      several[1] = inputs[1];
      if (calls > 0) OK(dt_tensor_requires_grad_(several[1], 1));
      const dt_status status = dt_tensor_list_new(several, 2, out);
      dt_tensor_release(several[0]);
      return status;
    }
    default:
      OK(dt_square(x, &y));
      return give(y, out);
  }
}

static dt_tensor* input(dt_dtype dtype, int requires_grad) {
  const double values[3] = {-1.5, 0.5, 2};
  const int64_t size = 3;
  dt_tensor *x = NULL, *y = NULL;
  OK(dt_from_data(values, sizeof values, &size, 1, DT_DTYPE_FLOAT64, 0, 0, &x));
  OK(dt_to(x, 0, 0, dtype, 0, 1, 0, &y));
  OK(dt_tensor_requires_grad_(y, requires_grad));
  dt_tensor_release(x);
  return y;
}

static dt_status checked(probe* p, dt_tensor* const* inputs, int64_t n, int raises, int32_t* out) {
  return dt_gradcheck(function, p, drop_probe, inputs, n, 1e-6, 1e-5, 1e-3, 0, raises, out);
}

static dt_status checked_twice(probe* p, dt_tensor* const* inputs, int64_t n, int32_t* out) {
  return dt_gradgradcheck(function, p, drop_probe, inputs, n, NULL, 0, 1e-6, 1e-5, 1e-3, 0, 0, 1,
                          out);
}

static dt_status check_again(dt_tensor* x, dt_tensor_list** out) {
  probe p = {kSquare, 0, 0, 0, 0, 0};
  int32_t right = 0;
  dt_tensor* y = NULL;
  const dt_status status = checked(&p, &x, 1, 1, &right);
  CHECK(right && p.drops == 1);
  if (status) return status;
  OK(dt_square(x, &y));
  return give(y, out);
}

/* A check of one input, which is as it was afterwards. */
static dt_status outcome(int what, int raises, int32_t* right) {
  const double expected[3] = {-1.5, 0.5, 2};
  double values[3];
  probe p = {what, 0, 0, 0, 0, 0};
  dt_tensor* x = input(DT_DTYPE_FLOAT64, 1);
  const dt_status status = checked(&p, &x, 1, raises, right);
  CHECK(p.drops == 1 && p.backward_drops == p.made);
  OK(dt_tensor_read(x, values, sizeof values));
  CHECK(memcmp(values, expected, sizeof values) == 0);
  dt_tensor_release(x);
  return status;
}

static void test_right(void) {
  const int kinds[] = {kSquare, kOwnRight, kItself, kWithSecond, kNested};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    int32_t right = 0;
    OK(outcome(kinds[i], 1, &right));
    CHECK(right == 1);
  }
}

static void test_wrong(void) {
  const struct {
    int what;
    const char* words;
  } kinds[] = {
      {kOwnWrong,
       "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor([[-3.0"},
      {kOwnWrong, "\nanalytical:tensor([[-4.5"},
      {kTwo, "Jacobian mismatch for output 1 with respect to input 0,"},
      {kOwnAlone, "backward not multiplied by grad_output"},
      {kConstant, "Numerical gradient for function expected to be zero"},
      {kDiffers, "Backward is not reentrant"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    int32_t right = 1;
    FAILS(GRADCHECK_ERROR, outcome(kinds[i].what, 1, &right));
    CHECK(message_has(kinds[i].words) && right == 0);
    OK(outcome(kinds[i].what, 0, &right));
    CHECK(right == 0);
  }
}

/* What is no matter of gradients is an error in any case. */
static void test_functions_that_fail(void) {
  const struct {
    int what;
    dt_status status;
    const char* words;
  } kinds[] = {
      {kFails, DT_STATUS_VALUE_ERROR, "the function does not like it"},
      {kNothing, DT_STATUS_HANDLE, "out"},
      {kAbsent, DT_STATUS_TYPE_ERROR, "the function's output 0 is absent"},
      {kForeign, DT_STATUS_HANDLE, "out"},
      {kMore, DT_STATUS_RUNTIME_ERROR, "as many outputs when inputs are perturbed on index [0] by"},
      {kLonger, DT_STATUS_ASSERTION_ERROR,
       "with the same shape when inputs are perturbed on index"},
      {kOther, DT_STATUS_ASSERTION_ERROR, "but got: dtypes float64 and float32"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    for (int raises = 0; raises < 2; ++raises) {
      int32_t right = 1;
      CHECK(outcome(kinds[i].what, raises, &right) == kinds[i].status && right == 0);
      CHECK(message_has(kinds[i].words));
    }
  }
}

static void test_inputs(void) {
  probe p = {kSquare, 0, 0, 0, 0, 0};
  int32_t right = 0;
  const int64_t sizes[2] = {2, 3};
  dt_tensor *plain = input(DT_DTYPE_FLOAT64, 0), *narrow = input(DT_DTYPE_FLOAT32, 1);
  dt_tensor *x = input(DT_DTYPE_FLOAT64, 1), *wide = NULL, *part = NULL;
  FAILS(VALUE_ERROR, checked(&p, &plain, 1, 1, &right));
  CHECK(message_has("at least one input tensor to require gradient") && p.calls == 0);
  FAILS(VALUE_ERROR, checked(&p, NULL, 0, 1, &right));
  FAILS(GRADCHECK_ERROR, checked(&p, &narrow, 1, 1, &right));
  CHECK(message_has("(input 0 is float32; differences need float64)"));
  OK(dt_expand(x, sizes, 2, &wide));
  FAILS(RUNTIME_ERROR, checked(&p, &wide, 1, 1, &right));
  CHECK(message_has("The 0th input has a dimension with stride 0"));
  /* A part of another input: both move at once, which the gradient of the part does not see. */
  OK(dt_narrow(x, 0, 0, 1, &part));
  p.what = kWithSecond;
  FAILS(GRADCHECK_ERROR, checked(&p, (dt_tensor*[]){x, part}, 2, 1, &right));
  CHECK(message_has("Jacobian mismatch for output 0 with respect to input 1"));
  OK(checked(&p, (dt_tensor*[]){x, x}, 2, 1, &right)); /* twice the same is right */
  OK(checked(&p, (dt_tensor*[]){x, plain}, 2, 1, &right));
  OK(checked(&p, (dt_tensor*[]){x, NULL}, 2, 1, &right)); /* absent ones are handed on */
  FAILS(HANDLE, checked(&p, (dt_tensor*[]){x, (dt_tensor*)&p}, 2, 1, &right));
  FAILS(TYPE_ERROR, dt_gradcheck(NULL, &p, drop_probe, &x, 1, 1e-6, 1e-5, 1e-3, 0, 1, &right));
  CHECK(p.drops == 10);
  dt_tensor_release(part);
  dt_tensor_release(wide);
  dt_tensor_release(x);
  dt_tensor_release(narrow);
  dt_tensor_release(plain);
}

/* Which outputs are checked is what they require at first. */
static void test_output_that_requires_grad_later(void) {
  probe p = {kLater, 0, 0, 0, 0, 0};
  int32_t right = 0;
  dt_tensor *x = input(DT_DTYPE_FLOAT64, 1), *plain = input(DT_DTYPE_FLOAT64, 0);
  OK(checked(&p, (dt_tensor*[]){x, plain}, 2, 1, &right));
  CHECK(right == 1 && p.calls > 1);
  dt_tensor_release(plain);
  dt_tensor_release(x);
}

static void test_strided_input(void) {
  probe p = {kSquare, 0, 0, 0, 0, 0};
  const int64_t sizes[3] = {2, 3, 2};
  int32_t right = 0;
  dt_tensor *x = NULL, *turned = NULL;
  OK(dt_randn(sizes, 3, NULL, DT_DTYPE_FLOAT64, 0, 0, 0, &x));
  OK(dt_transpose(x, 0, 1, &turned));
  OK(dt_tensor_requires_grad_(turned, 1));
  OK(checked(&p, &turned, 1, 1, &right));
  CHECK(right == 1);
  dt_tensor_release(turned);
  dt_tensor_release(x);
}

static void test_without_gradients(void) {
  probe p = {kSquare, 0, 0, 0, 0, 0};
  int32_t right = 0;
  dt_tensor* x = input(DT_DTYPE_FLOAT64, 1);
  OK(dt_set_grad_enabled(0));
  FAILS(GRADCHECK_ERROR, checked(&p, &x, 1, 1, &right));
  CHECK(message_has("expected to be zero: gradients are off"));
  FAILS(RUNTIME_ERROR, checked_twice(&p, &x, 1, &right));
  CHECK(message_has("no output of the function requires grad: gradients are off"));
  OK(dt_is_grad_enabled(&right));
  CHECK(right == 0);
  OK(dt_set_grad_enabled(1));
  dt_tensor_release(x);
}

static void test_second_derivatives(void) {
  probe p = {kSquare, 0, 0, 0, 0, 0}, own = {kOwnWrong, 0, 0, 0, 0, 0},
        bare = {kConstant, 0, 0, 0, 0, 0};
  int32_t right = 0;
  dt_tensor *x = input(DT_DTYPE_FLOAT64, 1), *short_one = NULL;
  OK(checked_twice(&p, &x, 1, &right));
  CHECK(right == 1);
  OK(dt_gradgradcheck(function, &p, drop_probe, &x, 1, &x, 1, 1e-6, 1e-5, 1e-3, 0, 0, 1, &right));
  OK(dt_gradgradcheck(function, &p, drop_probe, &x, 1, NULL, 0, 1e-6, 1e-5, 1e-3, 1, 0, 1, &right));
  CHECK(right == 1 && p.drops == 3);
  OK(dt_narrow(x, 0, 0, 2, &short_one));
  FAILS(RUNTIME_ERROR, dt_gradgradcheck(function, &p, drop_probe, &x, 1, &short_one, 1, 1e-6, 1e-5,
                                        1e-3, 0, 0, 1, &right));
  CHECK(message_has("Mismatch in shape: grad_output[0]"));
  OK(checked_twice(&own, &x, 1, &right)); /* 3x is wrong, but its derivative is 3 */
  FAILS(RUNTIME_ERROR, checked_twice(&bare, &x, 1, &right));
  CHECK(message_has("no output of the function requires grad"));
  dt_tensor_release(short_one);
  dt_tensor_release(x);
  CHECK(own.drops == 1 && own.backward_drops == own.made);
}

static atomic_int unexpected;

/* x * x; with a tensor of data, a half of the derivative is missing. */
static dt_status square_of(void* of_bare, dt_tensor* const* inputs, int64_t inputs_n,
                           dt_tensor_list** out) {
  dt_tensor *bare = NULL, *y = NULL;
  dt_status status = dt_detach(inputs[0], &bare);
  if (!status) status = dt_mul(inputs[0], of_bare ? bare : inputs[0], 0, 0, 0, &y);
  dt_tensor_release(bare);
  return status || inputs_n != 1 ? status : give(y, out);
}

static void* check_often(void* unused) {
  int yes = 1;
  for (int i = 0; i < 20; ++i) {
    int* const is_wrong = i % 2 ? &yes : NULL;
    const int64_t size = 3;
    int32_t right = 0;
    dt_tensor* x = NULL;
    dt_status status = dt_full(&size, 1, DT_SCALAR_KIND_INT, 2, 0, DT_DTYPE_FLOAT64, 0, 0, 1, &x);
    if (!status)
      status = dt_gradcheck(square_of, is_wrong, NULL, &x, 1, 1e-6, 1e-5, 1e-3, 0, 0, &right);
    if (status || right == !!is_wrong) atomic_fetch_add(&unexpected, 1);
    dt_tensor_release(x);
  }
  return unused;
}

static void test_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, check_often, NULL) == 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  CHECK(unexpected == 0);
}

int main(void) {
  test_right();
  test_wrong();
  test_functions_that_fail();
  test_inputs();
  test_output_that_requires_grad_later();
  test_strided_input();
  test_without_gradients();
  test_second_derivatives();
  test_threads();
  return test_end("gradcheck");
}
