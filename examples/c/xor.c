/* The shortest training run there is: a 2-4-1 network learns exclusive or.
 *
 *   xor
 *
 * One sees the loss of every hundredth epoch, which falls from 0.23 to 0, and what the network
 * answers to each pair. examples/python/xor.py is the same program.
 */
#include <dt.h>

int main(void) {
  T_SCOPE {
    int epoch;
    T_manual_seed(0);
    dt_tensor* x = T_FLOATS(T_DIMS(4, 2), 0, 0, 0, 1, 1, 0, 1, 1);
    dt_tensor* y = T_FLOATS(T_DIMS(4, 1), 0, 1, 1, 0);

    dt_module* model = T_SEQUENTIAL(T_nn_linear(2, 4), T_nn_tanh(), T_nn_linear(4, 1));
    dt_optimizer* optimizer = T_optim_sgd(T_entries(T_module_parameters(model)), .lr = 0.1);
    for (epoch = 1; epoch <= 1000 && !T_status(); epoch++) {
      T_SCOPE {
        T_optimizer_zero_grad(optimizer);
        dt_tensor* loss = T_mse_loss(T_module_forward(model, x), y);
        T_backward(loss);
        T_optimizer_step(optimizer);
        if (epoch % 100 == 0) printf("epoch %d loss %.6f\n", epoch, T_item_double(loss));
      }
    }

    float in[8], out[4];
    T_set_grad_enabled(0);
    T_read(x, in, sizeof in);
    T_read(T_module_forward(model, x), out, sizeof out);
    for (int i = 0; i < 4 && !T_status(); i++) {
      printf("%.0f xor %.0f = %.3f\n", (double)in[2 * i], (double)in[2 * i + 1], (double)out[i]);
    }
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
