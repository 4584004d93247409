/* The smallest program that computes something: how long does it take from start to end? */
#include <dt.h>
#include <stdio.h>

int main(void) {
  T_SCOPE {
    dt_tensor* x = T_FLOATS(T_DIMS(3), 1, 2, 3);
    printf("%g\n", T_item_double(T_sum(T_mul(x, x))));
  }
  return T_status() != 0;
}
