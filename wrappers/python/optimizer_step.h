/* A step of an optimizer over a group of parameters. A part of tensor_type.c: for small networks,
 * what Python would do for each parameter takes longer than the arithmetic. */
#ifndef DUMBTORCH_PYTHON_OPTIMIZER_STEP_H
#define DUMBTORCH_PYTHON_OPTIMIZER_STEP_H

/* The parameters that take the step, with what dt_optimizer_update wants of them. */
typedef struct {
  dt_tensor** params;
  dt_tensor** grads;  /* owned */
  dt_tensor** states; /* kind by kind, of `most` parameters each */
  double* settings;
  int64_t n, most, kinds, settings_n;
} Step;

static int make_step(Step* step, Py_ssize_t params, Py_ssize_t kinds, Py_ssize_t settings) {
  const size_t most = (size_t)params, tensors = most * (size_t)(2 + kinds);
  *step = (Step){.most = params, .kinds = kinds, .settings_n = settings};
  step->params = calloc(tensors + 1, sizeof(dt_tensor*));
  step->settings = calloc((size_t)settings + 1, sizeof(double));
  if (!step->params || !step->settings) return PyErr_NoMemory(), -1;
  step->grads = step->params + most;
  step->states = step->grads + most;
  return 0;
}

static void free_step(Step* step) {
  for (int64_t i = 0; i < step->n; i++) dt_tensor_release(step->grads[i]);
  free(step->params);
  free(step->settings);
}

/* The state of one parameter, whose place is the next. 1 if all that the settings need is there,
 * 0 if not, -1 with an exception. `kept` names the kinds, None where none is needed. */
static int add_states(Step* step, PyObject* state, PyObject* kept) {
  if (state && !PyDict_Check(state))
    return PyErr_Format(PyExc_TypeError, "the optimizer's state of a parameter is no dict"), -1;
  for (int64_t k = 0; k < step->kinds; k++) {
    PyObject* const name = PyTuple_GetItem(kept, k);
    if (name == Py_None) continue;
    PyObject* const x = state ? PyDict_GetItemWithError(state, name) : NULL;
    if (!x && PyErr_Occurred()) return -1;
    if (!x || x == Py_None) return 0;
    if (!PyObject_TypeCheck(x, base_type))
      return PyErr_Format(PyExc_TypeError, "the optimizer's state '%U' is no tensor", name), -1;
    step->states[k * step->most + step->n] = handle_of(x);
  }
  return 1;
}

/* Adds a parameter that has a gradient; to `left` if its state is not there yet. */
static int add_parameter(Step* step, PyObject* param, PyObject* state, PyObject* kept,
                         PyObject* left) {
  if (!PyObject_TypeCheck(param, base_type))
    return PyErr_Format(PyExc_TypeError, "optimizer_step: not a tensor"), -1;
  dt_tensor* grad = NULL;
  if (dt_tensor_grad(handle_of(param), &grad)) return raise_last_error(), -1;
  if (!grad) return 0;
  PyObject* const own = PyDict_GetItemWithError(state, param);
  const int there = own || !PyErr_Occurred() ? add_states(step, own, kept) : -1;
  if (there > 0) {
    step->params[step->n] = handle_of(param);
    step->grads[step->n++] = grad;
    return 0;
  }
  dt_tensor_release(grad);
  return there ? there : PyList_Append(left, param);
}

/* All settings in the order of the row. The first is the learning rate: it is read on its device if
 * it is a tensor. */
static int read_settings(Step* step, PyObject* settings, Operand* rate) {
  PyObject* const lr = PyTuple_GetItem(settings, 0);
  const int plain = read_operand(lr, rate);
  if (plain < 0) return -1;
  if (!plain) *rate = (Operand){NULL, DT_SCALAR_KIND_FLOAT, 0, PyFloat_AsDouble(lr)};
  for (int64_t i = rate->handle ? 1 : 0; i < step->settings_n && !PyErr_Occurred(); i++)
    step->settings[i] = PyFloat_AsDouble(PyTuple_GetItem(settings, i));
  return PyErr_Occurred() ? -1 : 0;
}

static dt_status take_step(const Step* step, const char* name, const Operand* rate, int first,
                           dt_tensor* unless) {
  /* Those that are left out leave gaps between the kinds. */
  for (int64_t k = 1; k < step->kinds; k++)
    memmove(step->states + k * step->n, step->states + k * step->most,
            (size_t)step->n * sizeof(dt_tensor*));
  const int64_t n = step->n, states = n * step->kinds;
  if (unless)
    return dt_optimizer_update_unless(name, step->params, n, step->grads, n, step->states, states,
                                      rate->handle, rate->kind, rate->i, rate->f, step->settings,
                                      step->settings_n, first, unless);
  return dt_optimizer_update(name, step->params, n, step->grads, n, step->states, states,
                             rate->handle, rate->kind, rate->i, rate->f, step->settings,
                             step->settings_n, first);
}

/* optimizer_step(name, params, first, state, kept, settings, unless): those of the list `params`
 * that have a gradient take a step, but for those whose state is not whole: a list of them is
 * returned. `state` is a dict of dicts by parameter and name, `kept` and `settings` are what the
 * optimizer's row makes of a group, `unless` is None or what a GradScaler found. */
static PyObject* optimizer_step(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  (void)module;
  if (n != 7 || !PyUnicode_Check(args[0]) || !PyList_Check(args[1]) || !PyDict_Check(args[3]) ||
      !PyTuple_Check(args[4]) || !PyTuple_Check(args[5]))
    return PyErr_Format(PyExc_TypeError, "optimizer_step: not a row and a group of parameters");
  PyObject *const params = args[1], *const kept = args[4], *const settings = args[5];
  PyObject* left = PyList_New(0);
  const char* const name = PyUnicode_AsUTF8AndSize(args[0], NULL);
  Step step;
  Operand rate;
  int failed = make_step(&step, PyList_Size(params), PyTuple_Size(kept), PyTuple_Size(settings)) ||
               !left || !name || read_settings(&step, settings, &rate);
  for (Py_ssize_t i = 0; !failed && i < step.most && i < PyList_Size(params); i++)
    failed = add_parameter(&step, PyList_GetItem(params, i), args[3], kept, left);
  if (!failed && step.n) {
    dt_tensor* const unless = args[6] == Py_None ? NULL : handle_of(args[6]);
    const int first = args[2] == Py_True;
    Py_BEGIN_ALLOW_THREADS;
    failed = take_step(&step, name, &rate, first, unless);
    Py_END_ALLOW_THREADS;
    if (failed) raise_last_error();
  }
  free_step(&step);
  if (failed) Py_CLEAR(left);
  return left;
}

/* The device whose captured steps read the learning rate: that of the first parameter that steps on
 * a GPU. None if there is no such parameter. */
static PyObject* rate_device(PyObject* module, PyObject* params) {
  (void)module;
  if (!PyList_Check(params)) return PyErr_Format(PyExc_TypeError, "rate_device: not a list");
  for (Py_ssize_t i = 0; i < PyList_Size(params); i++) {
    PyObject* const param = PyList_GetItem(params, i);
    dt_device_type type = 0;
    int64_t index = 0;
    dt_tensor* grad = NULL;
    if (!PyObject_TypeCheck(param, base_type))
      return PyErr_Format(PyExc_TypeError, "rate_device: not a tensor");
    if (dt_tensor_device(handle_of(param), &type, &index)) return raise_last_error();
    if (type == DT_DEVICE_TYPE_CPU) continue;
    if (dt_tensor_grad(handle_of(param), &grad)) return raise_last_error();
    if (!grad) continue;
    dt_tensor_release(grad);
    return get_device(param, NULL);
  }
  Py_RETURN_NONE;
}

#endif
