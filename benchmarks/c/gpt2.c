/* GPT-2 as a C program runs it, for languages.py, which times the same from Python and Lua.
 *
 *   gpt2 train|generate COUNT TURNS BATCH TIME LAYERS DEVICE
 *
 * In a turn COUNT steps train on tokens [BATCH, TIME], or COUNT tokens are written behind them;
 * its end is a line. On a GPU a step is recorded once and replayed. */
#include <dt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 50304 };

typedef struct Training {
  dt_module* model;
  dt_optimizer* optimizer;
  dt_tensor *tokens, *next;
  T_Device device;
} Training;

/* Forward and backward in bfloat16 by autocast, and AdamW in float32. */
static void step(const Training* t) {
  T_SCOPE {
    T_optimizer_zero_grad(t->optimizer);
    T_autocast_begin(t->device.type, .dtype = DT_DTYPE_BFLOAT16);
    dt_tensor* scores = T_module_forward(t->model, t->tokens);
    dt_tensor* loss = T_cross_entropy(T_flatten(scores, .end_dim = 1), T_flatten(t->next));
    T_autocast_end();
    T_backward(loss);
    T_optimizer_step(t->optimizer);
  }
}

static void finish_turn(T_Device device) {
  T_synchronize(.device = device);
  puts("turn");
  fflush(stdout);
}

static void train(const Training* t, long count, long turns) {
  for (int i = 0; i < 3; i++) step(t); /* kernels are chosen, the optimizer's state is made */
  dt_graph* graph = NULL;
  if (t->device.type == DT_DEVICE_TYPE_CUDA) {
    graph = T_graph_new(.device = t->device);
    T_graph_begin(graph);
    step(t);
    T_graph_end(graph);
  }
  for (long turn = 0; turn < turns; turn++) {
    for (long i = 0; i < count; i++) {
      if (graph) {
        T_graph_replay(graph);
      } else {
        step(t);
      }
    }
    finish_turn(t->device);
  }
}

static void generate(const Training* t, long count, long turns) {
  T_module_to(t->model, .dtype = DT_DTYPE_BFLOAT16);
  T_module_train(t->model, .mode = 0);
  for (long turn = 0; turn < turns; turn++) {
    T_SCOPE {
      T_module_generate(t->model, t->tokens, count);
      finish_turn(t->device);
    }
  }
}

int main(int words, char** word) {
  const int trains = words == 8 && strcmp(word[1], "train") == 0;
  if (!trains && !(words == 8 && strcmp(word[1], "generate") == 0)) {
    fprintf(stderr, "usage: gpt2 train|generate COUNT TURNS BATCH TIME LAYERS DEVICE\n");
    return 2;
  }
  const long count = atol(word[2]), turns = atol(word[3]), batch = atol(word[4]);
  const long time = atol(word[5]), layers = atol(word[6]);
  const T_Device device = strcmp(word[7], "cuda") == 0 ? T_CUDA(0) : T_CPU;
  T_SCOPE {
    Training t = {.device = device};
    t.model =
        T_models_gpt2(.vocabulary = VOCABULARY, .layers = layers, .dropout = 0.0, .device = device);
    t.optimizer = T_optim_adamw(T_entries(T_module_parameters(t.model)), .lr = 1e-4);
    t.tokens = T_randint(0, VOCABULARY, T_DIMS(batch, time), .device = device);
    t.next = T_randint(0, VOCABULARY, T_DIMS(batch, time), .device = device);
    (trains ? train : generate)(&t, count, turns);
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
