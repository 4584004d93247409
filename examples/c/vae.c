/* A variational autoencoder (arXiv 1312.6114): images from 8 numbers each, and new ones from random
 * numbers.
 *
 *   vae DIR [epochs] [folder for the pictures] [images]
 *
 * DIR has MNIST's train-images-idx3-ubyte.gz. One sees the loss of each epoch (about 121 after 5),
 * and two pictures: vae_copies.png, where every second row is the row above after it went through 8
 * numbers, and vae_samples.png, digits that nobody has written. examples/python/vae.py is the same
 * program.
 */
#include <dt.h>

#include "pictures.h"
#include "progress.h"

enum { CODE = 8, BATCH = 128, PATH_ROOM = 4096 };

typedef struct VAE {
  dt_module *root, *encoder, *decoder;
} VAE;

static VAE make_model(void) {
  VAE m;
  m.root = T_module_new("VAE");
  m.encoder = T_SEQUENTIAL(T_nn_linear(784, 256), T_nn_relu(), T_nn_linear(256, 2 * CODE));
  m.decoder = T_SEQUENTIAL(T_nn_linear(CODE, 256), T_nn_relu(), T_nn_linear(256, 784));
  T_module_register_module(m.root, "encoder", m.encoder);
  T_module_register_module(m.root, "decoder", m.decoder);
  return m;
}

/* Scores of the pixels, and the normal distribution of each code: its mean, log of its variance. */
static dt_tensor* forward(const VAE* m, dt_tensor* x, dt_tensor** mean, dt_tensor** log_var) {
  dt_tensor* both = T_module_forward(m->encoder, x);
  *mean = T_narrow(both, 1, 0, CODE);
  *log_var = T_narrow(both, 1, CODE, CODE);
  dt_tensor* noise = T_randn(T_DIMS(T_size(x, 0), CODE));
  dt_tensor* code = T_add(*mean, T_mul(noise, T_exp(T_mul(*log_var, 0.5))));
  return T_module_forward(m->decoder, code);
}

/* How unlikely the images are, and how far the codes are from normal numbers; for each image. */
static dt_tensor* loss_of(const VAE* m, dt_tensor* x) {
  dt_tensor *mean, *log_var, *scores = forward(m, x, &mean, &log_var);
  dt_tensor* pixels = T_binary_cross_entropy_with_logits(scores, x, .reduction = DT_REDUCTION_SUM);
  dt_tensor* codes = T_sub(T_sub(T_add(T_square(mean), T_exp(log_var)), log_var), 1);
  return T_div(T_add(pixels, T_mul(T_sum(codes), 0.5)), T_size(x, 0));
}

static void train(const VAE* m, dt_tensor* images, int epochs) {
  dt_optimizer* optimizer = T_optim_adam(T_entries(T_module_parameters(m->root)), .lr = 0.001);
  const int64_t count = T_size(images, 0), batches = count / BATCH;
  for (int epoch = 1; epoch <= epochs && !T_status(); epoch++) {
    T_SCOPE {
      dt_tensor* order = T_randperm(count);
      double total = 0;
      for (int64_t i = 0; i < batches && !T_status(); i++) {
        T_SCOPE {
          dt_tensor* x = T_index(images, T_LIST(T_narrow(order, 0, i * BATCH, BATCH)));
          T_optimizer_zero_grad(optimizer);
          dt_tensor* loss = loss_of(m, x);
          T_backward(loss);
          T_optimizer_step(optimizer);
          total += T_item_double(loss);
          show_progress((epoch - 1) * batches + i + 1, epochs * batches, T_item_double(loss));
        }
      }
      clear_progress();
      if (!T_status()) printf("epoch %d loss %.4f\n", epoch, total / (double)batches);
      fflush(stdout);
    }
  }
}

static void draw(const VAE* m, dt_tensor* images, const char* folder) {
  char path[PATH_ROOM];
  dt_tensor *mean, *log_var, *first = T_narrow(images, 0, 0, 40);
  dt_tensor* copies = T_sigmoid(forward(m, first, &mean, &log_var));
  const T_Dims rows = T_DIMS(4, 10, 784), picture = T_DIMS(80, 1, 28, 28);
  dt_tensor* pairs = T_stack(T_LIST(T_reshape(first, rows), T_reshape(copies, rows)), .dim = 1);
  snprintf(path, sizeof path, "%s/vae_copies.png", folder);
  save_grid(T_reshape(pairs, picture), 10, path);
  dt_tensor* samples = T_sigmoid(T_module_forward(m->decoder, T_randn(T_DIMS(80, CODE))));
  snprintf(path, sizeof path, "%s/vae_samples.png", folder);
  save_grid(T_reshape(samples, picture), 10, path);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: vae DIR [epochs] [folder for the pictures] [images]\n");
    return 2;
  }
  T_SCOPE {
    const Arguments given = read_arguments(argc, argv);
    dt_tensor* images = T_reshape(T_div(given.images, 255), T_DIMS(-1, 784));
    T_manual_seed(0);
    const VAE model = make_model();
    train(&model, images, given.epochs);
    T_set_grad_enabled(0);
    draw(&model, images, given.folder);
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
