/* Networks that people know, ready made: a ResNet-18 that trains, and a GPT-2 that writes.
 *
 *   models train [steps] [cpu or cuda]
 *   models write FILE COUNT TOKEN...
 *
 * `train` makes up eight images of four classes; one sees the loss fall as the network learns them
 * by heart. `write` reads a safetensors file of GPT-2 of any size, as it is published, and goes on
 * from the tokens: `gpt2` is the same network, written by hand, and turns text into tokens.
 * examples/python/models.py is the same program.
 */
#include <dt.h>

static void train(int64_t steps, T_Device device) {
  T_manual_seed(0);
  dt_module* model = T_models_resnet18(.num_classes = 4);
  T_module_to(model, .device = device);
  dt_tensor* images = T_to(T_randn(T_DIMS(8, 3, 32, 32)), .device = device);
  dt_tensor* classes = T_to(T_bitwise_and(T_arange(0, 8), 3), .device = device);
  dt_optimizer* optimizer = T_optim_sgd(T_entries(T_module_parameters(model)), .lr = 0.02);
  for (int64_t step = 1; step <= steps && !T_status(); step++) {
    T_SCOPE {
      T_optimizer_zero_grad(optimizer);
      dt_tensor* loss = T_cross_entropy(T_module_forward(model, images), classes);
      T_backward(loss);
      T_optimizer_step(optimizer);
      const double value = T_item_double(loss);
      if (!T_status()) printf("step %d loss %.4f\n", (int)step, value);
    }
  }
}

/* A GPT-2 of the sizes that a file's tensors have. */
static dt_module* gpt2_of(dt_string_list* names, dt_tensor_list* tensors) {
  int64_t vocabulary = 0, width = 0, context = 0, layers = 0;
  for (int64_t i = 0; i < T_string_list_len(names) && !T_status(); i++) {
    const char* name = "";
    T_check(dt_string_list_get(names, i, &name));
    dt_tensor* tensor = T_tensor_list_get(tensors, i);
    if (strstr(name, "wte.weight")) vocabulary = T_size(tensor, 0);
    if (strstr(name, "wte.weight")) width = T_size(tensor, 1);
    if (strstr(name, "wpe.weight")) context = T_size(tensor, 0);
    if (strstr(name, ".attn.c_attn.weight")) layers++;
  }
  if (!width || !context || !layers) {
    T_check(dt_error_set(DT_STATUS_VALUE_ERROR,
                         "the weights are no GPT-2's, which have wte.weight, wpe.weight and "
                         "h.0.attn.c_attn.weight"));
  }
  return T_models_gpt2(.vocabulary = vocabulary, .context = context, .width = width,
                       .layers = layers, .heads = width / 64);
}

static void write_tokens(const char* path, int64_t count, const int64_t* tokens, int64_t given) {
  dt_tensor_list* tensors = NULL;
  dt_string_list* names = T_load_safetensors(path, .tensors = &tensors);
  dt_module* model = gpt2_of(names, tensors);
  T_module_load(model, path);
  T_module_train(model, .mode = 0);
  T_manual_seed(0);
  dt_tensor* start = T_from_ints(((T_Dims){tokens, given}), .size = T_DIMS(1, given));
  dt_tensor* text = T_module_generate(model, start, count, .temperature = 0.8, .top_k = T_INT(40));
  const int64_t all = T_size(text, 1);
  for (int64_t i = 0; i < all && !T_status(); i++)
    printf("%d%c", (int)T_item_int(T_select(T_select(text, 1, i), 0, 0)), i + 1 < all ? ' ' : '\n');
}

int main(int argc, char** argv) {
  enum { MOST = 1024 };
  int64_t tokens[MOST];
  int good = 1;
  T_SCOPE {
    if (argc > 1 && !strcmp(argv[1], "train")) {
      const int on_gpu = argc > 3 && !strcmp(argv[3], "cuda");
      train(argc > 2 ? atoll(argv[2]) : 10, on_gpu ? T_CUDA(0) : T_CPU);
    } else if (argc > 4 && argc - 4 <= MOST && !strcmp(argv[1], "write")) {
      for (int i = 4; i < argc; i++) tokens[i - 4] = atoll(argv[i]);
      write_tokens(argv[2], atoll(argv[3]), tokens, argc - 4);
    } else {
      fprintf(stderr,
              "usage: models train [steps] [cpu or cuda]\n"
              "       models write FILE COUNT TOKEN...\n");
      good = 0;
    }
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0 || !good;
}
