/* Autograd: the graph of a loss, its gradients, and a check of them by finite differences.
 *
 *   autograd
 *
 * One sees the graph from the loss down to the leaves, the gradients that backward leaves there,
 * and whether they are (f(w + h) - f(w - h)) / 2h. examples/python/autograd.py is the same program.
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

/* The loss as a function of w and b, for the check. */
static dt_status loss_again(void* user_data, dt_tensor* const* inputs, int64_t count,
                            dt_tensor_list** out) {
  Problem p = *(const Problem*)user_data;
  (void)count;
  p.w = inputs[0];
  p.b = inputs[1];
  T_SCOPE {
    *out = (dt_tensor_list*)T_keep(T_tensor_list_new(T_LIST(loss_of(&p))));
  }
  return T_status();
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

    /* Where they do not agree, an error shows both. */
    if (T_gradcheck(T_TENSOR_FUNCTION(loss_again, &p, NULL), T_LIST(p.w, p.b)))
      puts("w and b: finite differences agree");
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
