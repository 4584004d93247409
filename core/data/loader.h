// Datasets of tensors, and the loader that serves them in shuffled batches.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/ops/options.h"
#include "core/tensor/tensor.h"

namespace dt {

class Generator;

// torch.utils.data.TensorDataset: item i is row i of each tensor.
class TensorDataset : public RefCounted {
 public:
  explicit TensorDataset(TensorList tensors);
  static void destroy(TensorDataset* d) { delete d; }

  int64_t size() const { return size_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // The rows `indices` (int64, 1-d) of each tensor.
  std::vector<Tensor> batch(const Tensor& indices) const;

 private:
  std::vector<Tensor> tensors_;
  int64_t size_;
};

// torch.utils.data.DataLoader over a TensorDataset. With workers, threads of the library gather
// batches ahead, in order; they run no user code. One epoch at a time: `start` shuffles anew and
// begins at the first batch.
class DataLoader : public RefCounted {
 public:
  DataLoader(Ref<TensorDataset> dataset, const DataLoaderOptions& options);
  ~DataLoader();
  static void destroy(DataLoader* l) { delete l; }

  const Ref<TensorDataset>& dataset() const { return dataset_; }
  int64_t batches() const;  // in an epoch
  void start();
  // The next batch; an empty list after the last. Starts an epoch if none has begun.
  std::vector<Tensor> next();

 private:
  void begin_epoch();
  // What the worker threads share, and the threads.
  struct Workers;

  void work(Workers& w);
  void start_workers();
  void stop_workers();
  std::vector<Tensor> next_from_workers();
  Tensor indices_of(int64_t batch) const;

  const Ref<TensorDataset> dataset_;
  const int64_t batch_size_, ahead_;
  const bool shuffle_, drop_last_;
  const int worker_count_;
  const Ref<Generator> generator_;  // null: the default one of whoever starts an epoch

  Tensor order_;  // of this epoch
  int64_t next_ = 0;
  bool running_ = false;
  std::mutex user_mutex_;             // one caller at a time
  std::unique_ptr<Workers> workers_;  // null: batches are made when they are asked for
};

Ref<TensorDataset> make_tensor_dataset(TensorList tensors);
Ref<DataLoader> make_data_loader(const Ref<TensorDataset>& dataset,
                                 const DataLoaderOptions& options);

}  // namespace dt
