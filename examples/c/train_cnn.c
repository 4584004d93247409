/* A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
 * the other languages are the same and print the same losses.
 *
 *   train_cnn [folder with the four IDX files] [steps] [cpu or cuda]
 *
 * One sees the loss of every tenth step, from 2.3 down to 0.7 after 100 steps of Fashion-MNIST.
 */
#include <dt.h>

static dt_tensor* read_file(const char* folder, const char* name, dt_dtype dtype, T_Device device) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-ubyte.gz", folder, name);
  return T_to(T_read_idx(path), .device = device, .dtype = dtype);
}

static dt_module* make_model(void) {
  return T_SEQUENTIAL(
      T_nn_conv2d(1, 8, T_DIMS(3), .padding = T_DIMS(1)), T_nn_relu(), T_nn_max_pool2d(T_DIMS(2)),
      T_nn_conv2d(8, 16, T_DIMS(3), .padding = T_DIMS(1)), T_nn_relu(), T_nn_max_pool2d(T_DIMS(2)),
      T_nn_flatten(), T_nn_linear(784, 64), T_nn_relu(), T_nn_linear(64, 10));
}

int main(int argc, char** argv) {
  const char* folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const int64_t steps = argc > 2 ? atoll(argv[2]) : 100, batch = 64;
  const int on_gpu = argc > 3 && strcmp(argv[3], "cuda") == 0;
  const T_Device device = {on_gpu ? DT_DEVICE_TYPE_CUDA : DT_DEVICE_TYPE_CPU, 0};
  T_SCOPE {
    T_set_default_device(device);
    dt_tensor* images = read_file(folder, "train-images-idx3", DT_DTYPE_FLOAT32, device);
    dt_tensor* labels = read_file(folder, "train-labels-idx1", DT_DTYPE_INT64, device);
    images = T_unsqueeze(T_div(images, 255), 1);

    T_manual_seed(0);
    dt_module* model = make_model();
    dt_optimizer* optimizer = T_optim_adam(T_entries(T_module_parameters(model)), .lr = 0.001);
    const int64_t count = T_size(labels, 0);
    for (int64_t step = 0; step < steps && !T_status(); step++) {
      T_SCOPE {
        const int64_t first = step * batch % (count - batch);
        dt_tensor* x = T_narrow(images, 0, first, batch);
        dt_tensor* target = T_narrow(labels, 0, first, batch);
        T_optimizer_zero_grad(optimizer);
        dt_tensor* loss = T_cross_entropy(T_module_forward(model, x), target);
        T_backward(loss);
        T_optimizer_step(optimizer);
        if (step % 10 == 0 || step == steps - 1) {
          printf("step %d loss %.4f\n", (int)step, T_item_double(loss));
        }
      }
    }
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
