#include "core/data/loader.h"

#include <unistd.h>

#include <algorithm>

#include "core/ops/ops.h"
#include "core/runtime/context.h"
#include "core/runtime/generator.h"

namespace dt {

TensorDataset::TensorDataset(TensorList tensors) : tensors_(tensors.to_vector()) {
  DT_CHECK(!tensors.empty(), kValueError, "a dataset needs at least one tensor");
  for (const Tensor& x : tensors) {
    DT_CHECK(x.ndim() > 0, kValueError, "a dataset's tensor needs at least one dimension");
    DT_CHECK(x.size(0) == tensors[0].size(0), kValueError,
             "Size mismatch between tensors: ", tensors[0].size(0), " and ", x.size(0), " rows");
  }
  size_ = tensors[0].size(0);
}

std::vector<Tensor> TensorDataset::batch(const Tensor& indices) const {
  const GradMode no_grad(false);
  std::vector<Tensor> rows;
  for (const Tensor& x : tensors_) rows.push_back(index_select(x, 0, indices));
  return rows;
}

DataLoader::DataLoader(Ref<TensorDataset> dataset, const DataLoaderOptions& o)
    : dataset_(std::move(dataset)),
      batch_size_(o.batch_size),
      ahead_(std::max<int64_t>(1, o.num_workers * o.prefetch_factor)),
      shuffle_(o.shuffle),
      drop_last_(o.drop_last),
      workers_(static_cast<int>(o.num_workers)) {
  DT_CHECK(o.batch_size > 0, kValueError,
           "batch_size should be a positive integer value, but got batch_size=", o.batch_size);
  DT_CHECK(o.num_workers >= 0 && o.num_workers <= 256, kValueError,
           "num_workers must be from 0 to 256, got ", o.num_workers);
  DT_CHECK(o.prefetch_factor > 0 && o.prefetch_factor <= 1024, kValueError,
           "prefetch_factor must be from 1 to 1024, got ", o.prefetch_factor);
  generator_ = o.generator ? o.generator : default_generator();
}

DataLoader::~DataLoader() {
  stop_workers();
}

int64_t DataLoader::batches() const {
  const int64_t n = dataset_->size();
  return drop_last_ ? n / batch_size_ : (n + batch_size_ - 1) / batch_size_;
}

Tensor DataLoader::indices_of(int64_t batch) const {
  const int64_t first = batch * batch_size_;
  return slice(order_, 0, first, std::min(first + batch_size_, dataset_->size()), 1);
}

void DataLoader::start() {
  std::lock_guard<std::mutex> user(user_mutex_);
  begin_epoch();
}

void DataLoader::begin_epoch() {
  stop_workers();
  const GradMode no_grad(false);
  order_ = shuffle_ ? randperm(dataset_->size(), generator_)
                    : arange(0, dataset_->size(), 1, DType::INT64);
  next_ = 0;
  running_ = true;
  start_workers();
}

void DataLoader::start_workers() {
  if (workers_ == 0) return;
  slots_.clear();
  slots_.resize(static_cast<size_t>(std::min(ahead_, batches())));
  slots_begin_ = claimed_ = 0;
  stop_ = false;
  process_ = getpid();
  for (int i = 0; i < workers_; ++i) threads_.emplace_back([this] { work(); });
}

void DataLoader::stop_workers() {
  if (threads_.empty()) return;
  if (process_ != getpid()) {  // in the child of a fork the threads do not exist
    for (std::thread& t : threads_) new (&t) std::thread;
    threads_.clear();
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

void DataLoader::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] {
      return stop_ || (claimed_ < batches() &&
                       claimed_ < slots_begin_ + static_cast<int64_t>(slots_.size()));
    });
    if (stop_) return;
    const int64_t batch = claimed_++;
    lock.unlock();
    Slot result;
    try {
      result.batch = dataset_->batch(indices_of(batch));
    } catch (...) {
      result.error = std::current_exception();
    }
    result.ready = true;
    lock.lock();
    if (stop_) return;
    slots_[static_cast<size_t>(batch - slots_begin_)] = std::move(result);
    done_.notify_all();
  }
}

std::vector<Tensor> DataLoader::next() {
  std::lock_guard<std::mutex> user(user_mutex_);
  if (!running_) begin_epoch();
  if (next_ >= batches()) {
    running_ = false;
    return {};
  }
  const bool forked = !threads_.empty() && process_ != getpid();
  if (workers_ == 0 || forked) return dataset_->batch(indices_of(next_++));
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return slots_.front().ready; });
  Slot slot = std::move(slots_.front());
  slots_.pop_front();
  slots_.emplace_back();
  ++slots_begin_;
  ++next_;
  lock.unlock();
  work_.notify_one();
  if (slot.error) std::rethrow_exception(slot.error);
  return std::move(slot.batch);
}

Ref<TensorDataset> make_tensor_dataset(TensorList tensors) {
  return Ref<TensorDataset>::adopt(new TensorDataset(tensors));
}

Ref<DataLoader> make_data_loader(const Ref<TensorDataset>& dataset,
                                 const DataLoaderOptions& options) {
  return Ref<DataLoader>::adopt(new DataLoader(dataset, options));
}

}  // namespace dt
