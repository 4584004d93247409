/* Classifies images with the network that the demo has trained: one answer per line.
 *
 *   predict fashion.safetensors t10k-images-idx3-ubyte.gz [t10k-labels-idx1-ubyte.gz]
 *
 * With labels it also says, on the error stream, how many answers are right.
 */
#include <dt.h>

/* A tensor of the file by its name in PyTorch's state dict. */
static dt_tensor* weight(dt_string_list* names, dt_tensor_list* tensors, const char* name) {
  return T_tensor_list_get_named(names, tensors, name);
}

typedef struct {
  dt_tensor *conv1, *conv1_bias, *conv2, *conv2_bias, *linear1, *linear1_bias, *linear2,
      *linear2_bias;
} Network;

static Network load(const char* path) {
  dt_tensor_list* tensors;
  dt_string_list* names = T_load_safetensors(path, .tensors = &tensors);
  Network n = {
      weight(names, tensors, "0.weight"), weight(names, tensors, "0.bias"),
      weight(names, tensors, "3.weight"), weight(names, tensors, "3.bias"),
      weight(names, tensors, "7.weight"), weight(names, tensors, "7.bias"),
      weight(names, tensors, "9.weight"), weight(names, tensors, "9.bias"),
  };
  return n;
}

static dt_tensor* forward(const Network* n, dt_tensor* x) {
  x = T_relu(T_conv2d(x, n->conv1, .bias = n->conv1_bias, .padding = T_DIMS(1)));
  x = T_max_pool2d(x, T_DIMS(2));
  x = T_relu(T_conv2d(x, n->conv2, .bias = n->conv2_bias, .padding = T_DIMS(1)));
  x = T_flatten(T_max_pool2d(x, T_DIMS(2)), .start_dim = 1);
  x = T_relu(T_linear(x, n->linear1, .bias = n->linear1_bias));
  return T_linear(x, n->linear2, .bias = n->linear2_bias);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: predict MODEL IMAGES [LABELS]\n");
    return 2;
  }
  T_SCOPE {
    const Network network = load(argv[1]);
    dt_tensor* images = T_to(T_read_idx(argv[2]), .dtype = DT_DTYPE_FLOAT32);
    images = T_unsqueeze(T_div(images, 255), 1);
    dt_tensor* labels = argc > 3 ? T_to(T_read_idx(argv[3]), .dtype = DT_DTYPE_INT64) : NULL;
    const int64_t count = T_size(images, 0), batch = 1000;
    int64_t answers[1000], right = 0;
    for (int64_t first = 0; first < count && !T_status(); first += batch) {
      T_SCOPE {
        const int64_t n = count - first < batch ? count - first : batch;
        dt_tensor* answer =
            T_argmax(forward(&network, T_narrow(images, 0, first, n)), .dim = T_INT(1));
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
