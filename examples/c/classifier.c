/* An image classifier with what trained networks have: batch norms, dropout, adaptive pooling,
 * augmentation, a schedule, early stopping, and a checkpoint from which it goes on when it is run
 * again.
 *
 *   classifier DIR [epochs] [folder for checkpoints] [images]
 *
 * DIR has MNIST's four files, as train-images-idx3-ubyte.gz. One sees loss, accuracy on held-back
 * images and learning rate of each epoch, and at the end the accuracy on the test images: above 99
 * % after 6 epochs of MNIST. Stop it with Ctrl-C and run it again, for more epochs if you like.
 * examples/python/classifier.py is the same program.
 */
#include <dt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"

enum {
  PATIENCE = 3, /* epochs without a better accuracy after which training ends */
  BATCH = 64,
  PATH_ROOM = 4096,
  ENTRIES = 256
};

typedef struct Data {
  dt_tensor *images, *labels; /* [N, 1, 28, 28] with mean 0 or so, [N] */
} Data;

typedef struct Trainer {
  dt_module* model;
  dt_optimizer* optimizer;
  dt_lr_scheduler* schedule;
  dt_data_loader* loader;
  double progress[3]; /* epochs that are done, the best accuracy, epochs since then */
  char best_file[PATH_ROOM], last_file[PATH_ROOM];
} Trainer;

static dt_tensor* read_file(const char* folder, const char* name, int64_t count) {
  char path[PATH_ROOM];
  snprintf(path, sizeof path, "%s/%s-ubyte.gz", folder, name);
  dt_tensor* all = T_read_idx(path);
  return T_narrow(all, 0, 0, T_size(all, 0) < count ? T_size(all, 0) : count);
}

static Data load(const char* folder, const char* images, const char* labels, int64_t count) {
  Data d;
  d.images = T_to(read_file(folder, images, count), .dtype = DT_DTYPE_FLOAT32);
  d.images = T_div(T_sub(T_div(T_unsqueeze(d.images, 1), 255), 0.13), 0.31);
  d.labels = T_to(read_file(folder, labels, count), .dtype = DT_DTYPE_INT64);
  return d;
}

static Data part_of(Data d, int64_t first, int64_t count) {
  return (Data){T_narrow(d.images, 0, first, count), T_narrow(d.labels, 0, first, count)};
}

static dt_module* convolve(int64_t inputs, int64_t outputs) {
  return T_nn_conv2d(inputs, outputs, T_DIMS(3), .padding = T_DIMS(1), .bias = 0);
}

static dt_module* make_model(void) {
  return T_SEQUENTIAL(convolve(1, 32), T_nn_batch_norm2d(32), T_nn_relu(),
                      T_nn_max_pool2d(T_DIMS(2)), convolve(32, 64), T_nn_batch_norm2d(64),
                      T_nn_relu(), T_nn_max_pool2d(T_DIMS(2)), convolve(64, 64),
                      T_nn_batch_norm2d(64), T_nn_relu(), T_nn_adaptive_avg_pool2d(T_DIMS(2)),
                      T_nn_flatten(), T_nn_dropout(.p = 0.25), T_nn_linear(256, 10));
}

/* Moves the images of a batch by up to two pixels; their borders are empty. */
static dt_tensor* augment(dt_tensor* images) {
  int64_t shift[2] = {0};
  T_read(T_randint(-2, 3, T_DIMS(2)), shift, sizeof shift);
  return T_roll(images, ((T_Dims){shift, 2}), .dims = T_DIMS(2, 3));
}

/* The mean loss. Each epoch has its own seed, so that one can go on in the middle. */
static double train_epoch(Trainer* t, int epoch) {
  const int64_t batches = T_data_loader_len(t->loader);
  double total = 0;
  T_manual_seed(epoch);
  T_module_train(t->model);
  T_data_loader_start(t->loader);
  for (int64_t i = 1; i <= batches && !T_status(); i++) {
    T_SCOPE {
      const T_Tensors batch = T_entries(T_data_loader_next(t->loader));
      if (batch.n != 2) break;
      T_optimizer_zero_grad(t->optimizer);
      dt_tensor* scores = T_module_forward(t->model, augment(batch.p[0]));
      dt_tensor* loss = T_cross_entropy(scores, batch.p[1]);
      T_backward(loss);
      T_optimizer_step(t->optimizer);
      total += T_item_double(loss);
      show_progress(i, batches, total / (double)i);
    }
  }
  T_lr_scheduler_step(t->schedule);
  return total / (double)batches;
}

/* In percent. */
static double accuracy(dt_module* model, Data d) {
  const int64_t count = T_size(d.labels, 0), batch = 500;
  int64_t right = 0;
  T_module_train(model, .mode = 0);
  T_set_grad_enabled(0);
  for (int64_t first = 0; first < count && !T_status(); first += batch) {
    T_SCOPE {
      const Data part = part_of(d, first, count - first < batch ? count - first : batch);
      dt_tensor* answers = T_argmax(T_module_forward(model, part.images), .dim = T_INT(1));
      right += T_item_int(T_sum(T_eq(answers, part.labels)));
    }
  }
  T_set_grad_enabled(1);
  return 100 * (double)right / (double)count;
}

/* Tensors with their names, as a checkpoint has them: the model's, the optimizer's, the progress.
 */
typedef struct Named {
  const char* names[ENTRIES];
  dt_tensor* tensors[ENTRIES];
  int64_t n;
} Named;

static void add(Named* all, dt_string_list* names, dt_tensor_list* tensors) {
  const int64_t n = T_string_list_len(names);
  for (int64_t i = 0; i < n && all->n < ENTRIES; i++, all->n++) {
    T_check(dt_string_list_get(names, i, &all->names[all->n]));
    all->tensors[all->n] = T_tensor_list_get(tensors, i);
  }
}

/* Writes everything that it takes to go on. The file is replaced whole. */
static void save(Trainer* t) {
  T_SCOPE {
    Named all = {.n = 0};
    dt_tensor_list* tensors = NULL;
    dt_string_list* names = T_module_state_dict(t->model, .tensors = &tensors);
    add(&all, names, tensors);
    names = T_optimizer_state_dict(t->optimizer, .tensors = &tensors);
    add(&all, names, tensors);
    all.names[all.n] = "progress";
    all.tensors[all.n] = T_from_data(t->progress, sizeof t->progress, T_DIMS(3), DT_DTYPE_FLOAT64);
    T_save_checkpoint(t->last_file, ((T_Strings){all.names, all.n + 1}),
                      ((T_Tensors){all.tensors, all.n + 1}));
  }
}

/* Reads what save() has written. */
static void go_on(Trainer* t) {
  T_SCOPE {
    Named all = {.n = 0};
    dt_tensor_list* tensors = NULL;
    dt_string_list* names = T_load_checkpoint(t->last_file, .tensors = &tensors);
    add(&all, names, tensors);
    const int64_t models = T_string_list_len(T_module_state_dict(t->model));
    const int64_t rest = all.n - models - 1; /* the optimizer's; the progress comes last */
    if (rest < 0)
      T_check(dt_error_set(DT_STATUS_VALUE_ERROR, "last_c.pt is no checkpoint of this program"));
    T_module_load_state_dict(t->model, ((T_Strings){all.names, models}),
                             ((T_Tensors){all.tensors, models}));
    T_optimizer_load_state_dict(t->optimizer, ((T_Strings){all.names + models, rest}),
                                ((T_Tensors){all.tensors + models, rest}));
    if (!T_status()) T_read(all.tensors[all.n - 1], t->progress, sizeof t->progress);
    for (int i = 0; i < (int)t->progress[0]; i++) T_lr_scheduler_step(t->schedule);
    if (!T_status()) printf("going on after epoch %d\n", (int)t->progress[0]);
  }
}

/* One epoch, and what is printed and written after it. */
static void run_epoch(Trainer* t, int epoch, Data held_back) {
  const double rate = T_optimizer_get(t->optimizer, "lr");
  const double loss = train_epoch(t, epoch), found = accuracy(t->model, held_back);
  t->progress[0] = epoch;
  t->progress[2] = found > t->progress[1] ? 0 : t->progress[2] + 1;
  if (found > t->progress[1]) {
    t->progress[1] = found;
    T_module_save(t->model, t->best_file);
  }
  save(t);
  if (T_status()) return;
  printf("epoch %d loss %.4f held back %.2f %% rate %.6f\n", epoch, loss, found, rate);
  fflush(stdout);
}

static void train(Trainer* t, Data d, int epochs, const char* folder) {
  const int64_t count = T_size(d.labels, 0), split = count * 9 / 10;
  const Data learned = part_of(d, 0, split), held_back = part_of(d, split, count - split);
  mkdir(folder, 0777); /* where it cannot be made, saving says so */
  snprintf(t->best_file, PATH_ROOM, "%s/best.safetensors", folder);
  snprintf(t->last_file, PATH_ROOM, "%s/last_c.pt", folder); /* last.pt is the Python program's */
  t->model = make_model();
  t->optimizer = T_optim_adamw(T_entries(T_module_parameters(t->model)), .lr = 0.003);
  t->schedule = T_optim_cosine_annealing_lr(t->optimizer, epochs);
  dt_dataset* data = T_dataset_new(T_LIST(learned.images, learned.labels));
  t->loader = T_data_loader_new(data, .batch_size = BATCH, .shuffle = 1);
  if (!access(t->last_file, F_OK)) go_on(t);
  for (int epoch = (int)t->progress[0] + 1; epoch <= epochs && !T_status(); epoch++) {
    if ((int)t->progress[2] == PATIENCE) {
      printf("stopped: no better than %.2f %% for %d epochs\n", t->progress[1], PATIENCE);
      break;
    }
    T_SCOPE {
      run_epoch(t, epoch, held_back);
    }
  }
  T_module_load(t->model, t->best_file);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: classifier DIR [epochs] [folder for checkpoints] [images]\n");
    return 2;
  }
  const int epochs = argc > 2 ? atoi(argv[2]) : 6;
  const char* folder = argc > 3 ? argv[3] : ".";
  const int64_t count = argc > 4 ? atoll(argv[4]) : 60000;
  T_SCOPE {
    Trainer t = {.progress = {0, -1, 0}};
    T_manual_seed(0);
    train(&t, load(argv[1], "train-images-idx3", "train-labels-idx1", count), epochs, folder);
    const double found =
        accuracy(t.model, load(argv[1], "t10k-images-idx3", "t10k-labels-idx1", count));
    if (!T_status()) printf("test accuracy %.2f %%\n", found);
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
