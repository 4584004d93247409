/* One step of training with every number on the page: linear, relu, linear, mean square error.
 *
 *   layers_by_hand
 *
 * One sees what each layer gives going forward and what each formula of the backward gives going
 * back, compared with autograd; then one step of gradient descent, after which the loss is smaller.
 * docs/learn.md explains the lines. examples/python/layers_by_hand.py is the same program.
 */
#include <dt.h>

typedef struct Linear {
  dt_tensor *w, *b;           /* w has a row for each output */
  dt_tensor *grad_w, *grad_b; /* what linear_backward leaves */
} Linear;

static dt_tensor* linear(dt_tensor* x, const Linear* layer) {
  return T_add(T_matmul(x, T_t(layer->w)), layer->b);
}

/* The gradient of x, given that of the output. */
static dt_tensor* linear_backward(dt_tensor* grad, dt_tensor* x, Linear* layer) {
  layer->grad_w = T_matmul(T_t(grad), x);
  layer->grad_b = T_sum(grad, .dim = T_DIMS(0));
  return T_matmul(grad, layer->w);
}

static dt_tensor* relu(dt_tensor* x) {
  return T_where(T_gt(x, 0), x, 0);
}

static dt_tensor* relu_backward(dt_tensor* grad, dt_tensor* x) {
  return T_where(T_gt(x, 0), grad, 0);
}

static dt_tensor* mean_square(dt_tensor* y, dt_tensor* target) {
  return T_mean(T_pow(T_sub(y, target), 2));
}

static void show(const char* name, dt_tensor* value) {
  if (T_status()) return;
  puts(name);
  T_print(T_detach(value));
}

static void compare(const char* name, dt_tensor* by_hand, dt_tensor* leaf) {
  const int same = T_allclose(by_hand, T_grad(leaf), .rtol = 0, .atol = 1e-6);
  if (T_status()) return;
  printf("%s: autograd %s\n", name, same ? "agrees" : "DISAGREES");
  T_print(by_hand);
}

static void step(Linear* layer) {
  T_sub_(layer->w, T_mul(layer->grad_w, 0.1));
  T_sub_(layer->b, T_mul(layer->grad_b, 0.1));
}

int main(void) {
  T_SCOPE {
    dt_tensor* x = T_FLOATS(T_DIMS(2, 2), 1, 2, -1, 0.5);
    dt_tensor* target = T_FLOATS(T_DIMS(2, 1), 1, 0);
    Linear first = {0}, second = {0};
    first.w = T_requires_grad_(T_FLOATS(T_DIMS(3, 2), 0.5, -0.25, 0.25, 0.5, -0.5, 1));
    first.b = T_requires_grad_(T_FLOATS(T_DIMS(3), 0.1F, 0, -0.1F));
    second.w = T_requires_grad_(T_FLOATS(T_DIMS(1, 3), 1, -1, 0.5));
    second.b = T_requires_grad_(T_FLOATS(T_DIMS(1), 0.2F));

    puts("forward");
    dt_tensor* h = linear(x, &first);
    show("h = x @ w1.T + b1", h);
    dt_tensor* a = relu(h);
    show("a = relu(h)", a);
    dt_tensor* y = linear(a, &second);
    show("y = a @ w2.T + b2", y);
    dt_tensor* loss = mean_square(y, target);
    printf("loss = mean((y - target)^2) = %.6f\n", T_item_double(loss));

    puts("\nbackward");
    T_backward(loss); /* autograd's gradients, to compare with */
    T_set_grad_enabled(0);
    dt_tensor* grad_y = T_div(T_mul(T_sub(y, target), 2), T_numel(y));
    show("grad_y = 2 (y - target) / 2", grad_y);
    dt_tensor* grad_a = linear_backward(grad_y, a, &second);
    show("grad_a = grad_y @ w2", grad_a);
    compare("grad_w2 = grad_y.T @ a", second.grad_w, second.w);
    compare("grad_b2 = sum of grad_y's rows", second.grad_b, second.b);
    dt_tensor* grad_h = relu_backward(grad_a, h);
    show("grad_h = grad_a where h > 0", grad_h);
    linear_backward(grad_h, x, &first);
    compare("grad_w1 = grad_h.T @ x", first.grad_w, first.w);
    compare("grad_b1 = sum of grad_h's rows", first.grad_b, first.b);

    puts("\nstep");
    step(&first);
    step(&second);
    show("w1 - 0.1 grad_w1", first.w);
    y = linear(relu(linear(x, &first)), &second);
    printf("loss after the step = %.6f\n", T_item_double(mean_square(y, target)));
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
