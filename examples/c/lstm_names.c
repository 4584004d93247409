/* An LSTM that invents first names, one character at a time.
 *
 *   lstm_names NAMES [steps] [cpu or cuda]
 *
 * NAMES is a file with a name on each line. One sees the loss fall and, at the end, names that the
 * file does not have but might: with 32,000 English names 2000 steps are half a minute on a CPU.
 * examples/python/lstm_names.py is the same program.
 */
#include <ctype.h>
#include <dt.h>

#include "progress.h"

enum { WIDTH = 128, BATCH = 64, LONGEST = 20, ROW = LONGEST + 2 };

/* Token 0 begins and ends a name; 1 to 26 are the letters. */
typedef struct Model {
  dt_module *root, *embedding, *lstm, *head;
} Model;

static dt_module* part(dt_module* parent, const char* name, dt_module* child) {
  T_module_register_module(parent, name, child);
  return child;
}

static Model make_model(void) {
  Model m;
  m.root = T_module_new("Names");
  m.embedding = part(m.root, "embedding", T_nn_embedding(27, 32));
  m.lstm = part(m.root, "lstm", T_nn_lstm(32, WIDTH, .batch_first = 1));
  m.head = part(m.root, "head", T_nn_linear(WIDTH, 27));
  return m;
}

/* The scores of each next token. `state` is what the LSTM remembers, NULL for nothing; it is
 * replaced by what it remembers afterwards. */
static dt_tensor* forward(const Model* m, dt_tensor* tokens, dt_tensor* state[2]) {
  dt_tensor* x = T_module_forward(m->embedding, tokens);
  dt_tensor_list* out = T_module_forward_outputs(m->lstm, T_LIST(x, state[0], state[1]));
  for (int i = 0; i < 2; i++) state[i] = T_tensor_list_get(out, i + 1);
  return T_module_forward(m->head, T_tensor_list_get(out, 0));
}

/* The cross-entropy of each token given those before it; -1 fills the lines of short names. */
static dt_tensor* loss_of(const Model* m, dt_tensor* tokens) {
  dt_tensor* state[2] = {NULL, NULL};
  dt_tensor* input = T_clamp(T_narrow(tokens, 1, 0, ROW - 1), .min = T_OP(0));
  dt_tensor* scores = forward(m, input, state);
  return T_cross_entropy(T_flatten(scores, .start_dim = 0, .end_dim = 1),
                         T_flatten(T_narrow(tokens, 1, 1, ROW - 1)), .ignore_index = -1);
}

/* Writes 0, the letters, 0, then -1 into `row`. False if the name has something else than letters.
 */
static int encode(const char* name, int length, int64_t* row) {
  for (int i = 0; i < ROW; i++) row[i] = i == 0 || i == length + 1 ? 0 : -1;
  for (int i = 0; i < length; i++) {
    const int letter = tolower((unsigned char)name[i]);
    if (letter < 'a' || letter > 'z') return 0;
    row[i + 1] = letter - 'a' + 1;
  }
  return 1;
}

static int name_length(const char* line) {
  return (int)strcspn(line, "\r\n");
}

/* The names as rows of tokens, to be freed; NULL, and a message, if there are none. */
static int64_t* read_names(const char* path, int64_t* count) {
  char line[256];
  int64_t room = 1024;
  FILE* file = fopen(path, "r");
  int64_t* rows = file ? malloc((size_t)room * ROW * sizeof *rows) : NULL;
  *count = 0;
  while (rows && fgets(line, sizeof line, file)) {
    const int length = name_length(line);
    if (length == 0 || length > LONGEST) continue;
    if (*count == room) {
      int64_t* more = realloc(rows, (size_t)(room *= 2) * ROW * sizeof *rows);
      if (!more) free(rows);
      if (!(rows = more)) break;
    }
    if (!encode(line, length, rows + ROW * (*count)++)) {
      fprintf(stderr, "%s: name %d is not made of letters a to z\n", path, (int)*count);
      free(rows);
      fclose(file);
      return NULL;
    }
  }
  if (file) fclose(file);
  if (*count > 0 && rows) return rows;
  fprintf(stderr, "%s: cannot be read, or has no names\n", path);
  free(rows);
  return NULL;
}

static void train(const Model* m, dt_tensor* tokens, int64_t steps) {
  const T_Tensors parameters = T_entries(T_module_parameters(m->root));
  dt_optimizer* optimizer = T_optim_adamw(parameters, .lr = 0.005);
  dt_lr_scheduler* schedule = T_optim_cosine_annealing_lr(optimizer, steps);
  const int64_t often = steps / 10 > 0 ? steps / 10 : 1;
  for (int64_t step = 1; step <= steps && !T_status(); step++) {
    T_SCOPE {
      T_optimizer_zero_grad(optimizer);
      dt_tensor* chosen = T_randint(0, T_size(tokens, 0), T_DIMS(BATCH));
      dt_tensor* loss = loss_of(m, T_index(tokens, T_LIST(chosen)));
      T_backward(loss);
      T_clip_grad_norm_(parameters, 1.0);
      T_optimizer_step(optimizer);
      T_lr_scheduler_step(schedule);
      show_progress(step, steps, T_item_double(loss));
      if ((step == 1 || step % often == 0) && !T_status()) {
        clear_progress();
        printf("step %d loss %.4f\n", (int)step, T_item_double(loss));
        fflush(stdout);
      }
    }
  }
}

/* Prints a name: each letter drawn with the probability that the model gives it after those before.
 */
static void invent(const Model* m) {
  dt_tensor* state[2] = {NULL, NULL};
  int64_t token = 0;
  for (int i = 0; i < LONGEST; i++) {
    dt_tensor* scores = forward(m, T_LONGS(T_DIMS(1, 1), token), state);
    token = T_item_int(T_multinomial(T_softmax(T_select(scores, 1, -1), -1), 1));
    if (token == 0 || T_status()) break;
    putchar('a' + (int)token - 1);
  }
  putchar('\n');
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: lstm_names NAMES [steps] [cpu or cuda]\n");
    return 2;
  }
  const int64_t steps = argc > 2 ? atoll(argv[2]) : 2000;
  int64_t count;
  int64_t* rows = read_names(argv[1], &count);
  if (!rows) return 1;
  printf("%d names\n", (int)count);
  T_SCOPE {
    T_set_default_device(argc > 3 && !strcmp(argv[3], "cuda") ? T_CUDA(0) : T_CPU);
    T_manual_seed(0);
    const Model model = make_model();
    train(&model, T_from_ints(((T_Dims){rows, count * ROW}), .size = T_DIMS(count, ROW)), steps);
    T_set_grad_enabled(0);
    for (int i = 0; i < 10 && !T_status(); i++) {
      T_SCOPE {
        invent(&model);
      }
    }
  }
  free(rows);
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
