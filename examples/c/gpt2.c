/* GPT-2: trained from scratch, or with its published weights, which continue a text.
 *
 *   gpt2 train STEPS [TOKENS or random] [124M or tiny] [cpu or cuda]
 *   gpt2 write FOLDER TEXT [how many tokens]
 *
 * `train` takes a file of 16-bit tokens, or makes some up: one sees the loss fall from ln(50257),
 * 10.8. A step of 124M takes seconds on a CPU. `write` wants a folder with model.safetensors or
 * pytorch_model.bin, vocab.json and merges.txt, as they are published for GPT-2 of any size; one
 * sees the text and how it goes on. examples/python/gpt2.py does the same; the network is written
 * out here, and taken from dumbtorch.models there.
 */
#include <dt.h>
#include <math.h>

#include "bpe.h"
#include "progress.h"

enum { BATCH = 4, TIME = 64, MAX_LAYERS = 64 }; /* so many tokens in a step */

typedef struct Sizes {
  int64_t vocabulary, context, width, layers, heads;
} Sizes;

static const Sizes k124M = {50257, 1024, 768, 12, 12}, kTiny = {257, 64, 128, 2, 2};

/* x @ weight + bias: the weight is [inputs, outputs], as the published one. */
typedef struct Conv1D {
  dt_tensor *weight, *bias;
} Conv1D;

typedef struct Block {
  dt_module *ln_1, *ln_2;
  Conv1D c_attn, attn_proj, c_fc, mlp_proj;
} Block;

typedef struct Model {
  Sizes sizes;
  dt_module *root, *wte, *wpe, *ln_f;
  dt_tensor* table; /* wte's weight, which is the last layer's too */
  Block h[MAX_LAYERS];
  dt_kv_cache* caches[MAX_LAYERS]; /* of the tokens so far, while a text is written */
} Model;

static dt_module* part(dt_module* parent, const char* name, dt_module* child) {
  T_module_register_module(parent, name, child);
  return child;
}

static Conv1D make_conv1d(dt_module* parent, const char* name, int64_t in, int64_t out,
                          double std) {
  Conv1D c;
  dt_module* module = part(parent, name, T_module_new("Conv1D"));
  c.weight = T_requires_grad_(T_normal_(T_empty(T_DIMS(in, out)), .std = std));
  c.bias = T_requires_grad_(T_zeros(T_DIMS(out)));
  T_module_register_parameter(module, "weight", c.weight);
  T_module_register_parameter(module, "bias", c.bias);
  return c;
}

static Block make_block(dt_module* block, const Sizes* s) {
  const int64_t w = s->width;
  const double out_std = 0.02 * pow(2.0 * (double)s->layers, -0.5);
  Block b;
  b.ln_1 = part(block, "ln_1", T_nn_layer_norm(T_DIMS(w)));
  dt_module* attention = part(block, "attn", T_module_new("Attention"));
  b.c_attn = make_conv1d(attention, "c_attn", w, 3 * w, 0.02);
  b.attn_proj = make_conv1d(attention, "c_proj", w, w, out_std);
  b.ln_2 = part(block, "ln_2", T_nn_layer_norm(T_DIMS(w)));
  dt_module* mlp = part(block, "mlp", T_module_new("MLP"));
  b.c_fc = make_conv1d(mlp, "c_fc", w, 4 * w, 0.02);
  b.mlp_proj = make_conv1d(mlp, "c_proj", 4 * w, w, out_std);
  return b;
}

static dt_tensor* draw_embedding(dt_module* embedding) {
  dt_tensor* weight = T_tensor_list_get(T_module_parameters(embedding), 0);
  T_normal_(T_detach(weight), .std = 0.02);
  return weight;
}

static void make_model(Model* m, Sizes sizes) {
  *m = (Model){.sizes = sizes};
  m->root = T_module_new("GPT2");
  m->wte = part(m->root, "wte", T_nn_embedding(sizes.vocabulary, sizes.width));
  m->wpe = part(m->root, "wpe", T_nn_embedding(sizes.context, sizes.width));
  dt_module* blocks = part(m->root, "h", T_nn_sequential());
  for (int64_t i = 0; i < sizes.layers; i++) {
    dt_module* block = T_module_new("Block");
    m->h[i] = make_block(block, &sizes);
    T_module_append(blocks, block);
  }
  m->ln_f = part(m->root, "ln_f", T_nn_layer_norm(T_DIMS(sizes.width)));
  m->table = draw_embedding(m->wte);
  draw_embedding(m->wpe);
}

static dt_tensor* apply(const Conv1D* c, dt_tensor* x) {
  return T_linear(x, T_t(c->weight), .bias = c->bias);
}

/* With a cache the tokens come after those that it has seen: one alone, which sees all of them. */
static dt_tensor* attend(const Block* b, int64_t heads, dt_tensor* x, dt_kv_cache* cache) {
  const int64_t batch = T_size(x, 0), time = T_size(x, 1), width = T_size(x, 2);
  dt_tensor* parts = T_reshape(apply(&b->c_attn, x), T_DIMS(batch, time, 3, heads, width / heads));
  parts = T_permute(parts, T_DIMS(2, 0, 3, 1, 4));
  dt_tensor *key = T_select(parts, 0, 1), *value = T_select(parts, 0, 2);
  if (cache) key = T_kv_cache_update(cache, key, value, .values = &value);
  dt_tensor* y =
      T_scaled_dot_product_attention(T_select(parts, 0, 0), key, value, .is_causal = time > 1);
  return apply(&b->attn_proj, T_reshape(T_transpose(y, 1, 2), T_DIMS(batch, time, width)));
}

/* The scores [N, time, vocabulary] of each next token. */
static dt_tensor* forward(const Model* m, dt_tensor* tokens) {
  const int64_t past = m->caches[0] ? T_kv_cache_length(m->caches[0]) : 0;
  dt_tensor* places = T_arange(past, past + T_size(tokens, 1));
  places = T_to(places, .device = T_device(tokens));
  dt_tensor* x = T_add(T_module_forward(m->wte, tokens), T_module_forward(m->wpe, places));
  for (int64_t i = 0; i < m->sizes.layers; i++) {
    const Block* b = &m->h[i];
    x = T_add(x, attend(b, m->sizes.heads, T_module_forward(b->ln_1, x), m->caches[i]));
    dt_tensor* y = apply(&b->c_fc, T_module_forward(b->ln_2, x));
    x = T_add(x, apply(&b->mlp_proj, T_gelu(y, .approximate = DT_APPROXIMATE_TANH)));
  }
  return T_linear(T_module_forward(m->ln_f, x), m->table);
}

/* The 16-bit tokens of a file, or 10000 random ones. */
static dt_tensor* read_tokens(const char* path, int64_t vocabulary) {
  dt_tensor* tokens = NULL;
  if (!strcmp(path, "random")) return T_randint(0, vocabulary, T_DIMS(10000));
  FILE* file = fopen(path, "rb");
  long size = -1;
  if (file && !fseek(file, 0, SEEK_END)) size = ftell(file) / 2;
  int16_t* data = size > TIME ? malloc((size_t)size * sizeof *data) : NULL;
  if (data && !fseek(file, 0, SEEK_SET) && fread(data, 2, (size_t)size, file) == (size_t)size)
    tokens = T_from_data(data, 2 * size, T_DIMS(size), DT_DTYPE_INT16);
  if (file) fclose(file);
  free(data);
  if (tokens) tokens = T_bitwise_and(T_to(tokens, .dtype = DT_DTYPE_INT64), 0xFFFF);
  if (tokens && T_item_int(T_max(tokens)) < vocabulary) return tokens;
  T_check(dt_error_set(DT_STATUS_VALUE_ERROR,
                       "the file has too few tokens, or one beyond the vocabulary"));
  return NULL;
}

static double train_step(const Model* m, dt_optimizer* optimizer, T_Tensors parameters,
                         dt_tensor* tokens, T_Device device) {
  dt_tensor* starts = T_randint(0, T_numel(tokens) - TIME, T_DIMS(BATCH, 1));
  dt_tensor* batch = T_index(tokens, T_LIST(T_add(starts, T_arange(0, TIME + 1))));
  batch = T_to(batch, .device = device);
  T_optimizer_zero_grad(optimizer);
  dt_tensor* scores = forward(m, T_narrow(batch, 1, 0, TIME));
  dt_tensor* loss = T_cross_entropy(T_flatten(scores, .start_dim = 0, .end_dim = 1),
                                    T_flatten(T_narrow(batch, 1, 1, TIME)));
  T_backward(loss);
  T_clip_grad_norm_(parameters, 1.0);
  T_optimizer_step(optimizer);
  return T_item_double(loss);
}

static void train(int64_t steps, const char* path, Sizes sizes, T_Device device) {
  Model m;
  T_manual_seed(0);
  make_model(&m, sizes);
  const T_Tensors parameters = T_entries(T_module_parameters(m.root));
  int64_t count = 0;
  for (int64_t i = 0; i < parameters.n; i++) count += T_numel(parameters.p[i]);
  if (!T_status()) printf("%d parameters\n", (int)count);
  dt_tensor* tokens = read_tokens(path, sizes.vocabulary);
  T_module_to(m.root, .device = device);
  dt_optimizer* optimizer =
      T_optim_adamw(parameters, .lr = 6e-4, .beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1);
  for (int64_t step = 1; step <= steps && !T_status(); step++) {
    T_SCOPE {
      const double loss = train_step(&m, optimizer, parameters, tokens, device);
      clear_progress();
      if (!T_status()) printf("step %d loss %.4f\n", (int)step, loss);
      fflush(stdout);
      show_progress(step, steps, loss);
    }
  }
}

/* The sizes that a file's tensors say. */
static Sizes sizes_of(dt_string_list* names, dt_tensor_list* tensors) {
  Sizes s = {0};
  for (int64_t i = 0; i < T_string_list_len(names); i++) {
    const char* name = NULL;
    if (!T_check(dt_string_list_get(names, i, &name))) break;
    dt_tensor* tensor = T_tensor_list_get(tensors, i);
    if (strstr(name, "wte.weight")) s.vocabulary = T_size(tensor, 0);
    if (strstr(name, "wte.weight")) s.width = T_size(tensor, 1);
    if (strstr(name, "wpe.weight")) s.context = T_size(tensor, 0);
    if (strstr(name, ".attn.c_attn.weight")) s.layers++;
  }
  s.heads = s.width / 64;
  return s;
}

static int exists(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file) fclose(file);
  return file != NULL;
}

static int ends_with(const char* text, const char* end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

/* The folder's weights, in whichever of the two files they were published. PyTorch's is a zip file
 * if its version was 1.6 or newer; what is older only Python reads, and saves anew. */
static dt_string_list* read_weights(const char* folder, dt_tensor_list** list) {
  char path[4096], pytorchs[4096];
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  snprintf(pytorchs, sizeof pytorchs, "%s/pytorch_model.bin", folder);
  if (exists(path)) return T_load_safetensors(path, .tensors = list);
  if (exists(pytorchs)) return T_load_checkpoint(pytorchs, .tensors = list);
  snprintf(path, sizeof path, "%.4000s has no model.safetensors and no pytorch_model.bin", folder);
  T_check(dt_error_set(DT_STATUS_IO, path));
  return NULL;
}

/* Without the masks, the copy of wte, and "transformer." in front. */
static void load_model(Model* m, const char* folder) {
  dt_tensor_list* list = NULL;
  dt_string_list* names = read_weights(folder, &list);
  const Sizes sizes = sizes_of(names, list);
  const int64_t n = T_string_list_len(names);
  if (T_status()) return;
  if (sizes.heads < 1 || sizes.layers < 1 || sizes.layers > MAX_LAYERS || sizes.context < 1) {
    T_check(dt_error_set(DT_STATUS_VALUE_ERROR,
                         "the weights are no GPT-2's, which have wte.weight, wpe.weight and "
                         "h.0.attn.c_attn.weight"));
    return;
  }
  make_model(m, sizes);
  const T_Tensors all = T_entries(list);
  const char** kept = malloc((size_t)n * sizeof *kept);
  dt_tensor** tensors = malloc((size_t)n * sizeof *tensors);
  int64_t count = 0;
  for (int64_t i = 0; kept && tensors && i < n; i++) {
    const char* name = "";
    T_check(dt_string_list_get(names, i, &name));
    if (!strncmp(name, "transformer.", 12)) name += 12;
    if (!strcmp(name, "lm_head.weight") || ends_with(name, ".attn.bias")) continue;
    if (ends_with(name, ".attn.masked_bias")) continue;
    kept[count] = name;
    tensors[count++] = all.p[i];
  }
  T_module_load_state_dict(m->root, ((T_Strings){kept, count}), ((T_Tensors){tensors, count}));
  free(kept);
  free(tensors);
}

/* One of the 40 most likely tokens to come next, with the probability that the model gives it. */
static int64_t draw(Model* m, const int64_t* tokens, int64_t count) {
  int64_t drawn = 0;
  T_SCOPE {
    if (count > m->sizes.context) { /* each token has another place than before */
      tokens += count - m->sizes.context;
      count = m->sizes.context;
      for (int64_t i = 0; i < m->sizes.layers; i++) T_kv_cache_truncate(m->caches[i], 0);
    }
    const int64_t seen = T_kv_cache_length(m->caches[0]), time = count - seen;
    dt_tensor* input = T_from_ints(((T_Dims){tokens + seen, time}), .size = T_DIMS(1, time));
    dt_tensor* scores = T_select(forward(m, input), 1, -1);
    drawn = T_item_int(T_sample_logits(scores, .temperature = 0.8, .top_k = T_INT(40)));
  }
  return drawn;
}

/* Continues `count` tokens, which have room for `more`, and prints them. */
static void go_on(Model* m, const BPE* bpe, int64_t* tokens, int64_t count, int64_t more) {
  printf("%d tokens:", (int)count);
  for (int64_t i = 0; i < count; i++) printf(" %d", (int)tokens[i]);
  printf("\n");
  T_manual_seed(0);
  T_set_grad_enabled(0);
  for (int64_t i = 0; i < m->sizes.layers; i++)
    m->caches[i] = T_kv_cache_new(.capacity = m->sizes.context);
  for (const int64_t end = count + more; count < end && !T_status(); count++)
    tokens[count] = draw(m, tokens, count);
  for (int64_t i = 0; i < count && !T_status(); i++) {
    const int known = tokens[i] >= 0 && tokens[i] < bpe->pieces;
    if (known)
      fwrite(bpe->by_number[tokens[i]].bytes, 1, (size_t)bpe->by_number[tokens[i]].length, stdout);
  }
  printf("\n");
}

static int write_text(const char* folder, const char* text, int64_t more) {
  BPE bpe;
  Model m;
  int64_t* tokens = malloc((strlen(text) + (size_t)more + 1) * sizeof *tokens);
  const int64_t count = tokens && bpe_open(&bpe, folder) ? bpe_encode(&bpe, text, tokens) : 0;
  if (count > 0) {
    load_model(&m, folder);
    if (!T_status()) go_on(&m, &bpe, tokens, count, more);
  }
  if (tokens) bpe_free(&bpe);
  free(tokens);
  return count > 0;
}

int main(int argc, char** argv) {
  int good = 0;
  T_SCOPE {
    if (argc > 2 && !strcmp(argv[1], "train")) {
      const Sizes sizes = argc > 4 && !strcmp(argv[4], "tiny") ? kTiny : k124M;
      const T_Device device = argc > 5 && !strcmp(argv[5], "cuda") ? T_CUDA(0) : T_CPU;
      train(atoll(argv[2]), argc > 3 ? argv[3] : "random", sizes, device);
      good = 1;
    } else if (argc > 3 && !strcmp(argv[1], "write")) {
      const int64_t more = argc > 4 ? atoll(argv[4]) : 50;
      good = write_text(argv[2], argv[3], more > 0 ? more : 0);
    } else {
      fprintf(stderr,
              "usage: gpt2 train STEPS [TOKENS or random] [124M or tiny] [cpu or cuda]\n"
              "       gpt2 write FOLDER TEXT [how many tokens]\n");
    }
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0 || !good;
}
