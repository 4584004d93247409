/* A GPT that writes one character at a time: two layers, four heads, 64 wide, 120,000 parameters.
 *
 *   char_gpt TEXT [steps] [cpu or cuda]
 *
 * TEXT is any plain text, such as tiny Shakespeare (a million characters of his plays). One sees
 * the loss fall from about 4.4, a little more than the ln(characters) of guessing, to about 1.7,
 * and then 200 characters that look like the text: 2000 steps are some minutes on a CPU.
 * examples/python/char_gpt.py is the same program.
 */
#include <dt.h>

#include "progress.h"

enum { LAYERS = 2, HEADS = 4, WIDTH = 64, CONTEXT = 128, BATCH = 32 };

/* Attention, in which each place looks back, and a small network at each place. */
typedef struct Block {
  dt_module *ln_1, *qkv, *proj, *ln_2, *mlp;
} Block;

typedef struct Model {
  dt_module *root, *wte, *wpe, *ln_f, *head;
  Block h[LAYERS];
} Model;

/* Makes `child` a part of `parent`: its parameters are the parent's too. */
static dt_module* part(dt_module* parent, const char* name, dt_module* child) {
  T_module_register_module(parent, name, child);
  return child;
}

static Block make_block(dt_module* blocks) {
  Block b;
  dt_module* root = T_module_new("Block");
  b.ln_1 = part(root, "ln_1", T_nn_layer_norm(T_DIMS(WIDTH)));
  b.qkv = part(root, "qkv", T_nn_linear(WIDTH, 3 * WIDTH));
  b.proj = part(root, "proj", T_nn_linear(WIDTH, WIDTH));
  b.ln_2 = part(root, "ln_2", T_nn_layer_norm(T_DIMS(WIDTH)));
  b.mlp =
      part(root, "mlp",
           T_SEQUENTIAL(T_nn_linear(WIDTH, 4 * WIDTH), T_nn_gelu(), T_nn_linear(4 * WIDTH, WIDTH)));
  T_module_append(blocks, root);
  return b;
}

static Model make_model(int64_t vocabulary) {
  Model m;
  m.root = T_module_new("CharGPT");
  m.wte = part(m.root, "wte", T_nn_embedding(vocabulary, WIDTH));
  m.wpe = part(m.root, "wpe", T_nn_embedding(CONTEXT, WIDTH));
  dt_module* blocks = part(m.root, "h", T_nn_sequential());
  for (int i = 0; i < LAYERS; i++) m.h[i] = make_block(blocks);
  m.ln_f = part(m.root, "ln_f", T_nn_layer_norm(T_DIMS(WIDTH)));
  m.head = part(m.root, "head", T_nn_linear(WIDTH, vocabulary, .bias = 0));
  return m;
}

/* With a cache the places come after those that it has seen. */
static dt_tensor* attend(const Block* b, dt_tensor* x, dt_kv_cache* cache) {
  const int64_t batch = T_size(x, 0), time = T_size(x, 1);
  dt_tensor* parts =
      T_reshape(T_module_forward(b->qkv, x), T_DIMS(batch, time, 3, HEADS, WIDTH / HEADS));
  parts = T_permute(parts, T_DIMS(2, 0, 3, 1, 4));
  dt_tensor *key = T_select(parts, 0, 1), *value = T_select(parts, 0, 2);
  if (cache) key = T_kv_cache_update(cache, key, value, .values = &value);
  /* All places at once, each looking back; or the last one alone, which sees everything. */
  dt_tensor* y =
      T_scaled_dot_product_attention(T_select(parts, 0, 0), key, value, .is_causal = time > 1);
  return T_module_forward(b->proj, T_reshape(T_transpose(y, 1, 2), T_DIMS(batch, time, WIDTH)));
}

/* The scores of each next token. `caches`, one for each layer, or NULL. */
static dt_tensor* forward(const Model* m, dt_tensor* tokens, dt_kv_cache* const* caches) {
  const int64_t past = caches ? T_kv_cache_length(caches[0]) : 0;
  dt_tensor* places = T_arange(past, past + T_size(tokens, 1));
  dt_tensor* x = T_add(T_module_forward(m->wte, tokens), T_module_forward(m->wpe, places));
  for (int i = 0; i < LAYERS; i++) {
    const Block* b = &m->h[i];
    x = T_add(x, attend(b, T_module_forward(b->ln_1, x), caches ? caches[i] : NULL));
    x = T_add(x, T_module_forward(b->mlp, T_module_forward(b->ln_2, x)));
  }
  return T_module_forward(m->head, T_module_forward(m->ln_f, x));
}

/* How badly each token is foretold from those before it: the cross-entropy. */
static dt_tensor* loss_of(const Model* m, dt_tensor* tokens) {
  const int64_t time = T_size(tokens, 1) - 1;
  dt_tensor* scores = forward(m, T_narrow(tokens, 1, 0, time), NULL);
  return T_cross_entropy(T_flatten(scores, .start_dim = 0, .end_dim = 1),
                         T_flatten(T_narrow(tokens, 1, 1, time)));
}

static dt_tensor* draw_batch(dt_tensor* text) {
  dt_tensor* starts = T_randint(0, T_numel(text) - CONTEXT, T_DIMS(BATCH, 1));
  return T_index(text, T_LIST(T_add(starts, T_arange(0, CONTEXT + 1))));
}

static void train(const Model* m, dt_tensor* text, int64_t steps) {
  dt_optimizer* optimizer = T_optim_adamw(T_entries(T_module_parameters(m->root)), .lr = 0.003);
  dt_lr_scheduler* schedule = T_optim_cosine_annealing_lr(optimizer, steps);
  const int64_t often = steps / 10 > 0 ? steps / 10 : 1;
  for (int64_t step = 1; step <= steps && !T_status(); step++) {
    T_SCOPE {
      T_optimizer_zero_grad(optimizer);
      dt_tensor* loss = loss_of(m, draw_batch(text));
      T_backward(loss);
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

static double mean_loss(const Model* m, dt_tensor* text) {
  double sum = 0;
  T_set_grad_enabled(0);
  for (int i = 0; i < 10; i++) {
    T_SCOPE {
      sum += T_item_double(loss_of(m, draw_batch(text)));
    }
  }
  T_set_grad_enabled(1);
  return sum / 10;
}

/* Prints the token `last` and `count` more, each drawn with the probability that the model gives
 * it. Keys and values of the tokens before are kept, until there are more than CONTEXT: then each
 * has another place than before. */
static void sample(const Model* m, int64_t last, int count, const unsigned char* characters) {
  int64_t tokens[CONTEXT] = {last}, time = 1;
  dt_kv_cache* caches[LAYERS];
  for (int i = 0; i < LAYERS; i++) caches[i] = T_kv_cache_new(.capacity = CONTEXT);
  T_set_grad_enabled(0);
  putchar(characters[last]);
  for (int i = 0; i < count && !T_status(); i++) {
    T_SCOPE {
      const int64_t seen = T_kv_cache_length(caches[0]);
      dt_tensor* input =
          T_from_ints(((T_Dims){tokens + seen, time - seen}), .size = T_DIMS(1, time - seen));
      dt_tensor* scores = T_select(forward(m, input, caches), 1, -1);
      last = T_item_int(T_sample_logits(scores, .temperature = 0.8));
    }
    if (T_status()) break;
    if (time == CONTEXT) {
      memmove(tokens, tokens + 1, (size_t)(--time) * sizeof *tokens);
      for (int k = 0; k < LAYERS; k++) T_kv_cache_truncate(caches[k], 0);
    }
    tokens[time++] = last;
    putchar(characters[last]);
  }
  putchar('\n');
  T_set_grad_enabled(1);
}

/* The bytes of a file, to be freed; NULL if it cannot be read. */
static unsigned char* read_text(const char* path, int64_t* count) {
  FILE* file = fopen(path, "rb");
  unsigned char* data = NULL;
  long size = -1;
  if (file && !fseek(file, 0, SEEK_END)) size = ftell(file);
  if (size >= 0 && !fseek(file, 0, SEEK_SET)) data = malloc((size_t)size + 1);
  *count = data ? (int64_t)fread(data, 1, (size_t)size, file) : 0;
  if (file) fclose(file);
  return data;
}

/* Numbers the different bytes in their order: the tokens, and what each of them is. */
static dt_tensor* tokenize(const unsigned char* data, int64_t count, unsigned char* characters,
                           int* vocabulary) {
  int64_t number[256] = {0};
  for (int64_t i = 0; i < count; i++) number[data[i]] = 1;
  *vocabulary = 0;
  for (int c = 0; c < 256; c++) {
    if (!number[c]) continue;
    characters[*vocabulary] = (unsigned char)c;
    number[c] = (*vocabulary)++;
  }
  dt_tensor* lookup = T_from_ints(((T_Dims){number, 256}));
  dt_tensor* bytes = T_from_data(data, count, T_DIMS(count), DT_DTYPE_UINT8);
  return T_index(lookup, T_LIST(T_to(bytes, .dtype = DT_DTYPE_INT64)));
}

static void run(const unsigned char* data, int64_t count, int64_t steps) {
  unsigned char characters[256];
  int vocabulary;
  dt_tensor* text = tokenize(data, count, characters, &vocabulary);
  const int64_t split = count * 9 / 10;
  printf("%d characters, %d different ones\n", (int)count, vocabulary);

  T_manual_seed(0);
  const Model model = make_model(vocabulary);
  train(&model, T_narrow(text, 0, 0, split), steps);
  T_manual_seed(1);
  const double loss = mean_loss(&model, T_narrow(text, 0, split, count - split));
  if (!T_status()) printf("loss on text it has not seen %.4f\n", loss);
  sample(&model, T_item_int(T_select(text, 0, 0)), 200, characters);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: char_gpt TEXT [steps] [cpu or cuda]\n");
    return 2;
  }
  const int64_t steps = argc > 2 ? atoll(argv[2]) : 2000;
  int64_t count;
  unsigned char* data = read_text(argv[1], &count);
  if (count < 10 * (CONTEXT + 1)) {
    fprintf(stderr, "%s: cannot be read, or has too few characters\n", argv[1]);
    free(data);
    return 1;
  }
  T_SCOPE {
    T_set_default_device(argc > 3 && !strcmp(argv[3], "cuda") ? T_CUDA(0) : T_CPU);
    run(data, count, steps);
  }
  free(data);
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
