/* Classifies images with the network that the demo has trained: one answer per line.
 *
 *   predict fashion.safetensors t10k-images-idx3-ubyte.gz [t10k-labels-idx1-ubyte.gz]
 *
 * With labels it also says, on the error stream, how many answers are right.
 */
#include <dt.h>

/* The network of examples/python/fashion.py. */
static dt_module* make_network(void) {
  return T_SEQUENTIAL(
      T_nn_conv2d(1, 8, T_DIMS(3), .padding = T_DIMS(1)), T_nn_relu(), T_nn_max_pool2d(T_DIMS(2)),
      T_nn_conv2d(8, 16, T_DIMS(3), .padding = T_DIMS(1)), T_nn_relu(), T_nn_max_pool2d(T_DIMS(2)),
      T_nn_flatten(), T_nn_linear(784, 64), T_nn_relu(), T_nn_linear(64, 10));
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: predict MODEL IMAGES [LABELS]\n");
    return 2;
  }
  T_SCOPE {
    dt_module* network = make_network();
    T_module_load(network, argv[1]);
    T_set_grad_enabled(0);
    dt_tensor* images = T_to(T_read_idx(argv[2]), .dtype = DT_DTYPE_FLOAT32);
    images = T_unsqueeze(T_div(images, 255), 1);
    dt_tensor* labels = argc > 3 ? T_to(T_read_idx(argv[3]), .dtype = DT_DTYPE_INT64) : NULL;
    const int64_t count = T_size(images, 0), batch = 1000;
    int64_t answers[1000], right = 0;
    for (int64_t first = 0; first < count && !T_status(); first += batch) {
      T_SCOPE {
        const int64_t n = count - first < batch ? count - first : batch;
        dt_tensor* scores = T_module_forward(network, T_narrow(images, 0, first, n));
        dt_tensor* answer = T_argmax(scores, .dim = T_INT(1));
        if (T_read(answer, answers, n * 8)) break;
        for (int64_t i = 0; i < n; i++) printf("%d\n", (int)answers[i]);
        if (labels) right += T_item_int(T_sum(T_eq(answer, T_narrow(labels, 0, first, n))));
      }
    }
    if (labels && count > 0)
      fprintf(stderr, "%.2f %% are right\n", 100.0 * (double)right / (double)count);
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
