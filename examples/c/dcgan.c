/* Two networks that play against each other (DCGAN, arXiv 1511.06434): one draws digits, one judges
 * them.
 *
 *   dcgan DIR [epochs] [folder for the picture] [images]
 *
 * DIR has MNIST's train-images-idx3-ubyte.gz. One sees both losses, and dcgan.png, what the
 * generator draws after each epoch from the same random numbers: noise becomes strokes, and these
 * begin to look like digits. An epoch takes about a minute on two CPU cores.
 * examples/python/dcgan.py is the same program.
 */
#include <dt.h>

#include "pictures.h"
#include "progress.h"

enum { NOISE = 64, BATCH = 64, PATH_ROOM = 4096 };

typedef struct Player {
  dt_module* model;
  dt_optimizer* optimizer;
} Player;

/* The paper's initial weights, for the convolutions, and its Adam. */
static Player make_player(dt_module* model) {
  const T_Tensors parameters = T_entries(T_module_parameters(model));
  for (int64_t i = 0; i < parameters.n; i++)
    if (T_dim(parameters.p[i]) == 4) T_normal_(T_detach(parameters.p[i]), .std = 0.02);
  return (Player){model, T_optim_adam(parameters, .lr = 2e-4, .beta1 = 0.5)};
}

static dt_module* make_generator(void) {
  const T_Dims kernel = T_DIMS(4), stride = T_DIMS(2), padding = T_DIMS(1);
  return T_SEQUENTIAL(
      T_nn_conv_transpose2d(NOISE, 64, T_DIMS(7), .bias = 0), T_nn_batch_norm2d(64), T_nn_relu(),
      T_nn_conv_transpose2d(64, 32, kernel, .stride = stride, .padding = padding, .bias = 0),
      T_nn_batch_norm2d(32), T_nn_relu(),
      T_nn_conv_transpose2d(32, 1, kernel, .stride = stride, .padding = padding), T_nn_tanh());
}

static dt_module* make_judge(void) {
  const T_Dims kernel = T_DIMS(4), stride = T_DIMS(2), padding = T_DIMS(1);
  return T_SEQUENTIAL(T_nn_conv2d(1, 32, kernel, .stride = stride, .padding = padding),
                      T_nn_leaky_relu(.negative_slope = 0.2),
                      T_nn_conv2d(32, 64, kernel, .stride = stride, .padding = padding, .bias = 0),
                      T_nn_batch_norm2d(64), T_nn_leaky_relu(.negative_slope = 0.2),
                      T_nn_conv2d(64, 1, T_DIMS(7)), T_nn_flatten());
}

/* How wrong the judge is about images that are all real (1), or all drawn (0). */
static dt_tensor* judge_loss(dt_module* judge, dt_tensor* images, int real) {
  dt_tensor* scores = T_module_forward(judge, images);
  return T_binary_cross_entropy_with_logits(scores, T_full_like(scores, (double)real));
}

/* The judge learns to tell them apart; the generator learns what the judge takes for real. */
static void train_step(const Player* generator, const Player* judge, dt_tensor* images,
                       double losses[2]) {
  dt_tensor* noise = T_randn(T_DIMS(T_size(images, 0), NOISE, 1, 1));
  dt_tensor* drawn = T_module_forward(generator->model, noise);
  T_optimizer_zero_grad(judge->optimizer);
  dt_tensor* found = judge_loss(judge->model, images, 1);
  found = T_add(found, judge_loss(judge->model, T_detach(drawn), 0));
  T_backward(found);
  T_optimizer_step(judge->optimizer);
  T_optimizer_zero_grad(generator->optimizer);
  dt_tensor* fooled = judge_loss(judge->model, drawn, 1);
  T_backward(fooled);
  T_optimizer_step(generator->optimizer);
  losses[0] = T_item_double(fooled);
  losses[1] = T_item_double(found);
}

/* The pictures of all epochs so far, with a row for what the generator draws now. */
static dt_tensor* add_row(dt_tensor* rows, dt_module* generator, dt_tensor* noise) {
  T_set_grad_enabled(0);
  dt_tensor* row = T_div(T_add(T_module_forward(generator, noise), 1), 2);
  T_set_grad_enabled(1);
  return rows ? T_cat(T_LIST(rows, row)) : row;
}

static void train(dt_tensor* images, int epochs, const char* path) {
  const int64_t count = T_size(images, 0), batches = count / BATCH;
  const Player generator = make_player(make_generator()), judge = make_player(make_judge());
  dt_tensor *noise = T_randn(T_DIMS(10, NOISE, 1, 1)), *rows = NULL;
  double losses[2] = {0};
  for (int epoch = 1; epoch <= epochs && !T_status(); epoch++) {
    dt_tensor* order = T_randperm(count);
    for (int64_t i = 0; i < batches && !T_status(); i++) {
      T_SCOPE {
        dt_tensor* batch = T_index(images, T_LIST(T_narrow(order, 0, i * BATCH, BATCH)));
        train_step(&generator, &judge, batch, losses);
        show_progress((epoch - 1) * batches + i + 1, epochs * batches, losses[0]);
      }
    }
    clear_progress();
    if (!T_status()) printf("epoch %d generator %.4f judge %.4f\n", epoch, losses[0], losses[1]);
    fflush(stdout);
    rows = add_row(rows, generator.model, noise);
    save_grid(rows, 10, path);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: dcgan DIR [epochs] [folder for the picture] [images]\n");
    return 2;
  }
  T_SCOPE {
    char path[PATH_ROOM];
    const Arguments given = read_arguments(argc, argv);
    dt_tensor* images = T_sub(T_div(given.images, 127.5), 1);
    T_manual_seed(0);
    snprintf(path, sizeof path, "%s/dcgan.png", given.folder);
    train(T_unsqueeze(images, 1), given.epochs, path);
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
