/* Tensors: how they are made, what they know about themselves, and what can be done to them.
 *
 *   tensors
 *
 * One sees each result under the line that made it. examples/python/tensors.py is the same program.
 */
#include <dt.h>

static void show(const char* text, dt_tensor* result) {
  if (T_status()) return;
  puts(text);
  T_print(result);
  puts("");
}

static void show_two(const char* text, int64_t first, int64_t second) {
  if (T_status()) return;
  printf("%s\n%d %d\n\n", text, (int)first, (int)second);
}

int main(void) {
  T_SCOPE {
    T_manual_seed(0);
    dt_tensor* x = T_reshape(T_arange(0, 6, .dtype = DT_DTYPE_FLOAT32), T_DIMS(2, 3));
    show("x = arange(6).reshape(2, 3)", x);
    show_two("size of dimension 0, of dimension 1", T_size(x, 0), T_size(x, 1));
    const T_Sizes stride = T_stride(x);
    show_two("stride: how far the next element of each dimension is", stride.v[0], stride.v[1]);

    show("x * 2 + 1: element by element", T_add(T_mul(x, 2), 1));
    dt_tensor* row = T_FLOATS(T_DIMS(3), 10, 20, 30);
    show("x + [10, 20, 30]: the row is repeated for each row of x", T_add(x, row));
    show("x @ x.T: the product of matrices", T_matmul(x, T_t(x)));
    puts("x.sum(), x.mean(dim=1): over everything, along each row");
    T_print(T_sum(x));
    T_print(T_mean(x, .dim = T_DIMS(1)));
    puts("");
    show("x > 2: a mask of truth values", T_gt(x, 2));
    show("where(x > 2, x, 0)", T_where(T_gt(x, 2), x, 0));

    dt_tensor* y = T_t(x); /* a view: other strides, the same memory */
    const T_Sizes turned = T_stride(y);
    show_two("stride of y = x.T", turned.v[0], turned.v[1]);
    T_set_at(y, "0, 1", 100);
    show("x after y[0, 1] = 100: y is a view of x", x);

    dt_tensor* halves = T_FLOATS(T_DIMS(2), 0.5, 0.5);
    show("int64 + float32 is float32", T_add(T_LONGS(T_DIMS(2), 1, 2), halves));
    show("randn(2, 2) after manual_seed(0)", T_randn(T_DIMS(2, 2)));
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
