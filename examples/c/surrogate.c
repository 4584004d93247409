/* A program that learns while it simulates: a network replaces the costly part of a solver.
 *
 *   surrogate [steps] [folder for the network]
 *
 * A pendulum with friction is followed by the method of Runge and Kutta with 100 small steps for
 * each output. While the solver runs, its outputs train a network that does the same 100 steps at
 * once; then the saved network is read back and takes the solver's place in the loop. One sees the
 * loss fall and, at the end, both motions side by side and how far they are apart.
 * examples/python/surrogate.py is the same program.
 */
#include <dt.h>
#include <math.h>

#include "progress.h"

enum { BATCH = 64 };
static const double kStep = 0.1, kFriction = 0.2;

typedef struct State {
  double angle, speed;
} State;

static double acceleration(double angle, double speed) {
  return -sin(angle) - kFriction * speed;
}

/* The pendulum kStep seconds later: angle' = speed, speed' = -sin(angle) - friction * speed. */
static State solve(State s) {
  const double h = kStep / 100;
  for (int i = 0; i < 100; i++) {
    const double a1 = acceleration(s.angle, s.speed), v2 = s.speed + h / 2 * a1;
    const double a2 = acceleration(s.angle + h / 2 * s.speed, v2), v3 = s.speed + h / 2 * a2;
    const double a3 = acceleration(s.angle + h / 2 * v2, v3), v4 = s.speed + h * a3;
    const double a4 = acceleration(s.angle + h * v3, v4);
    s.angle += h / 6 * (s.speed + 2 * v2 + 2 * v3 + v4);
    s.speed += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
  }
  return s;
}

static dt_module* make_network(void) {
  return T_SEQUENTIAL(T_nn_linear(2, 32), T_nn_tanh(), T_nn_linear(32, 32), T_nn_tanh(),
                      T_nn_linear(32, 2));
}

/* Random states [BATCH, 2], and how they change in kStep seconds. */
static dt_tensor* draw_states(dt_tensor** change) {
  float start[BATCH][2], moved[BATCH][2];
  dt_tensor* states = T_sub(T_mul(T_rand(T_DIMS(BATCH, 2)), 4), 2);
  if (T_read(states, start, sizeof start)) return NULL;
  for (int i = 0; i < BATCH; i++) {
    const State before = {(double)start[i][0], (double)start[i][1]}, after = solve(before);
    moved[i][0] = (float)(after.angle - before.angle);
    moved[i][1] = (float)(after.speed - before.speed);
  }
  *change = T_from_data(moved, sizeof moved, T_DIMS(BATCH, 2), DT_DTYPE_FLOAT32);
  return states;
}

/* Each step: solve from new random states, and learn how they change. */
static void train(dt_module* network, int64_t steps) {
  dt_optimizer* optimizer = T_optim_adam(T_entries(T_module_parameters(network)), .lr = 0.005);
  dt_lr_scheduler* schedule = T_optim_cosine_annealing_lr(optimizer, steps);
  const int64_t often = steps / 10 > 0 ? steps / 10 : 1;
  for (int64_t step = 1; step <= steps && !T_status(); step++) {
    T_SCOPE {
      dt_tensor* change = NULL;
      dt_tensor* start = draw_states(&change);
      T_optimizer_zero_grad(optimizer);
      dt_tensor* loss = T_mse_loss(T_module_forward(network, start), T_div(change, kStep));
      T_backward(loss);
      T_optimizer_step(optimizer);
      T_lr_scheduler_step(schedule);
      show_progress(step, steps, T_item_double(loss));
      if ((step == 1 || step % often == 0) && !T_status()) {
        clear_progress();
        printf("step %d loss %.6f\n", (int)step, T_item_double(loss));
        fflush(stdout);
      }
    }
  }
}

/* What solve() gives, as the network has learned it. */
static State foretell(dt_module* network, State s) {
  float change[2] = {0};
  T_SCOPE {
    dt_tensor* state = T_FLOATS(T_DIMS(1, 2), (float)s.angle, (float)s.speed);
    T_read(T_module_forward(network, state), change, sizeof change);
  }
  s.angle += kStep * (double)change[0];
  s.speed += kStep * (double)change[1];
  return s;
}

static void compare(dt_module* network) {
  State exact = {1.5, 0}, guess = exact;
  double farthest = 0;
  T_set_grad_enabled(0);
  for (int i = 1; i <= 100 && !T_status(); i++) {
    exact = solve(exact);
    guess = foretell(network, guess);
    farthest = fmax(farthest, fabs(exact.angle - guess.angle));
    if (i % 10 == 0)
      printf("t %4.1f  solver %7.4f  network %7.4f\n", i * kStep, exact.angle, guess.angle);
  }
  printf("farthest apart %.4f\n", farthest);
}

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? atoll(argv[1]) : 1000;
  char path[4096];
  snprintf(path, sizeof path, "%s/pendulum.safetensors", argc > 2 ? argv[2] : ".");
  T_SCOPE {
    T_manual_seed(0);
    dt_module* network = make_network();
    train(network, steps);
    T_module_save(network, path);

    network = make_network();
    T_module_load(network, path);
    if (!T_status()) compare(network);
  }
  if (T_status()) fprintf(stderr, "%s\n", T_message());
  return T_status() != 0;
}
