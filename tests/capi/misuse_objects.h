/* Good objects of the layers above the tensor: a new handle kind gets a line in misuse_kinds.def
 * and here. */
static void misuse_make_objects(void) {
  dt_tensor_list* parameters;
  MUST(dt_nn_relu(NULL, &good.module));
  MUST(dt_module_named_parameters(good.module, &good.string_list, &parameters));
  dt_tensor_list_release(parameters);
  MUST(dt_optim_sgd(good.tensors, 1, NULL, &good.optimizer));
  MUST(dt_optim_step_lr(good.optimizer, 1, 0.5, &good.lr_scheduler));
  MUST(dt_dataset_new(good.tensors, 1, &good.dataset));
  MUST(dt_data_loader_new(good.dataset, NULL, &good.data_loader));
  MUST(dt_stream_new(DT_DEVICE_TYPE_CPU, 0, 0, &good.stream));
  MUST(dt_event_new(DT_DEVICE_TYPE_CPU, 0, 0, &good.event));
  MUST(dt_profiler_start(0, 0, 0, 1000, &good.profiler));
  MUST(dt_graph_new(DT_DEVICE_TYPE_CPU, 0, &good.graph));
  MUST(dt_kv_cache_new(0, &good.kv_cache));
  MUST(dt_grad_scaler_new(8, 2, 0.5, 100, &good.grad_scaler));
}

static void misuse_release_objects(void) {
  dt_grad_scaler_release(good.grad_scaler);
  dt_kv_cache_release(good.kv_cache);
  dt_graph_release(good.graph);
  dt_profiler_release(good.profiler);
  dt_event_release(good.event);
  dt_stream_release(good.stream);
  dt_data_loader_release(good.data_loader);
  dt_dataset_release(good.dataset);
  dt_lr_scheduler_release(good.lr_scheduler);
  dt_optimizer_release(good.optimizer);
  dt_string_list_release(good.string_list);
  dt_module_release(good.module);
}
