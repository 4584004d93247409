/* Autograd: the graph of a loss, its gradients, and a check of them by finite differences.
 *
 *   autograd
 *
 * One sees the graph from the loss down to the leaves, the gradients that backward leaves there,
 * and how far they are from (f(w + h) - f(w - h)) / 2h. examples/python/autograd.py is the same
 * program.
 */
#include <dt.h>

typedef struct Problem {
  dt_tensor *w, *b, *x, *target;
} Problem;

/* The mean square error of tanh(x @ w + b). */
static dt_tensor* loss_of(const Problem* p) {
  dt_tensor* y = T_tanh(T_add(T_matmul(p->x, p->w), p->b));
  return T_mean(T_pow(T_sub(y, p->target), 2));
}

/* The node and, indented, what its inputs came from. */
static void print_graph(dt_node* node, int depth) {
  printf("%*s%s\n", 2 * depth, "", T_text(T_node_name(node)));
  for (int64_t i = 0; i < T_node_next_count(node); i++) {
    if (T_node_next_output(node, i) >= 0) print_graph(T_node_next(node, i), depth + 1);
  }
}

static double loss_at(const Problem* p, dt_tensor* element, double value) {
  double result = 0;
  T_SCOPE {
    T_fill_(element, value);
    result = T_item_double(loss_of(p));
  }
  return result;
}

/* The gradient of the loss with respect to the parameter, one element at a time. */
static dt_tensor* finite_differences(const Problem* p, dt_tensor* parameter) {
  const double h = 1e-6;
  dt_tensor* flat = T_reshape(T_detach(parameter), T_DIMS(-1)); /* a view of the parameter */
  dt_tensor* result = T_zeros_like(flat);
  T_set_grad_enabled(0);
  for (int64_t i = 0; i < T_numel(flat) && !T_status(); i++) {
    dt_tensor* element = T_select(flat, 0, i);
    const double kept = T_item_double(element);
    const double above = loss_at(p, element, kept + h), below = loss_at(p, element, kept - h);
    T_fill_(element, kept);
    T_fill_(T_select(result, 0, i), (above - below) / (2 * h));
  }
  T_set_grad_enabled(1);
  return T_reshape_as(result, parameter);
}

static void check(const char* name, const Problem* p, dt_tensor* parameter) {
  dt_tensor* difference = T_sub(T_grad(parameter), finite_differences(p, parameter));
  const double error = T_item_double(T_max(T_abs(difference)));
  if (T_status()) return;
  if (error < 1e-8)
    printf("%s: finite differences agree\n", name);
  else
    printf("%s: finite differences DIFFER by %g\n", name, error);
}

int main(void) {
  T_SCOPE {
    T_manual_seed(0);
    T_set_default_dtype(DT_DTYPE_FLOAT64); /* differences need many digits */
    Problem p;
    p.x = T_randn(T_DIMS(4, 3));
    p.target = T_randn(T_DIMS(4, 2));
    p.w = T_requires_grad_(T_randn(T_DIMS(3, 2)));
    p.b = T_requires_grad_(T_zeros(T_DIMS(2)));

    dt_tensor* loss = loss_of(&p);
    puts("the graph of the loss");
    print_graph(T_node(loss), 1);
    T_backward(loss);
    printf("loss %.6f\ngradient of w\n", T_item_double(loss));
    T_print(T_grad(p.w));
    puts("gradient of b");
    T_print(T_grad(p.b));

    check("w", &p, p.w);
    check("b", &p, p.b);
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
