/* A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
 * the other languages are the same and print the same losses and accuracy.
 *
 *   train_cnn [folder with the four IDX files] [steps] [cpu or cuda]
 *
 * One sees the loss of every tenth step, from 2.3 down, and how many images that it has not seen
 * the network knows: more than 99 % after 4500 steps of MNIST.
 */
#include <dt.h>

typedef struct {
  dt_tensor *images, *labels;
} Data;

static Data read_files(const char* folder, const char* name, T_Device device) {
  char images[4096], labels[4096];
  snprintf(images, sizeof images, "%s/%s-images-idx3-ubyte.gz", folder, name);
  snprintf(labels, sizeof labels, "%s/%s-labels-idx1-ubyte.gz", folder, name);
  dt_tensor* x = T_to(T_read_idx(images), .device = device, .dtype = DT_DTYPE_FLOAT32);
  return (Data){T_unsqueeze(T_div(x, 255), 1),
                T_to(T_read_idx(labels), .device = device, .dtype = DT_DTYPE_INT64)};
}

static dt_module* make_model(void) {
  return T_SEQUENTIAL(
      T_nn_conv2d(1, 8, T_DIMS(3), .padding = T_DIMS(1)), T_nn_relu(), T_nn_max_pool2d(T_DIMS(2)),
      T_nn_conv2d(8, 16, T_DIMS(3), .padding = T_DIMS(1)), T_nn_relu(), T_nn_max_pool2d(T_DIMS(2)),
      T_nn_flatten(), T_nn_linear(784, 64), T_nn_relu(), T_nn_linear(64, 10));
}

/* The share of images that it knows, in percent. */
static double accuracy(dt_module* model, Data data) {
  const int64_t count = T_size(data.labels, 0), piece = 1000;
  int64_t right = 0;
  T_set_grad_enabled(0);
  for (int64_t first = 0; first < count && !T_status(); first += piece) {
    T_SCOPE {
      const int64_t n = first + piece < count ? piece : count - first;
      dt_tensor* scores = T_module_forward(model, T_narrow(data.images, 0, first, n));
      dt_tensor* guess = T_argmax(scores, .dim = T_INT(1));
      right += T_item_int(T_sum(T_eq(guess, T_narrow(data.labels, 0, first, n))));
    }
  }
  return 100.0 * (double)right / (double)count;
}

int main(int argc, char** argv) {
  const char* folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const int64_t steps = argc > 2 ? atoll(argv[2]) : 100, batch = 64;
  const int on_gpu = argc > 3 && strcmp(argv[3], "cuda") == 0;
  const T_Device device = {on_gpu ? DT_DEVICE_TYPE_CUDA : DT_DEVICE_TYPE_CPU, 0};
  T_SCOPE {
    T_set_default_device(device);
    const Data train = read_files(folder, "train", device);
    const Data test = read_files(folder, "t10k", device);

    T_manual_seed(0);
    dt_module* model = make_model();
    dt_optimizer* optimizer = T_optim_adam(T_entries(T_module_parameters(model)), .lr = 0.003);
    dt_lr_scheduler* schedule = T_optim_cosine_annealing_lr(optimizer, steps);
    const int64_t count = T_size(train.labels, 0);
    for (int64_t step = 0; step < steps && !T_status(); step++) {
      T_SCOPE {
        const int64_t first = step * batch % (count - batch);
        dt_tensor* x = T_narrow(train.images, 0, first, batch);
        dt_tensor* target = T_narrow(train.labels, 0, first, batch);
        T_optimizer_zero_grad(optimizer);
        dt_tensor* loss = T_cross_entropy(T_module_forward(model, x), target);
        T_backward(loss);
        T_optimizer_step(optimizer);
        T_lr_scheduler_step(schedule);
        if (step % 10 == 0 || step == steps - 1) {
          printf("step %d loss %.4f\n", (int)step, T_item_double(loss));
        }
      }
    }
    if (!T_status()) printf("test accuracy %.2f %%\n", accuracy(model, test));
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
