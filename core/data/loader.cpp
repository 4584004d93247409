#include "core/data/loader.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"
#include "core/runtime/generator.h"

namespace dt {

struct DataLoader::Workers {
  struct Prefetched {
    std::vector<Tensor> batch;
    std::exception_ptr error;
    bool ready = false;
  };

  std::mutex mutex;  // guards all but the threads
  std::condition_variable work, done;
  std::deque<Prefetched> slots;  // batches next_ and later
  int64_t slots_begin = 0;       // the batch of slots[0]
  int64_t claimed = 0;           // the next batch that no worker has taken
  bool stop = false;
  std::vector<std::thread> threads;
  const int process = getpid();  // threads do not survive a fork
};

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
  for (const Tensor& x : tensors_) rows.push_back(index_select(x, 0, to(indices, x.device())));
  return rows;
}

DataLoader::DataLoader(Ref<TensorDataset> dataset, const DataLoaderOptions& o)
    : dataset_(std::move(dataset)),
      batch_size_(o.batch_size),
      ahead_(std::max<int64_t>(1, o.num_workers * o.prefetch_factor)),
      shuffle_(o.shuffle),
      drop_last_(o.drop_last),
      worker_count_(static_cast<int>(o.num_workers)),
      generator_(o.generator) {
  DT_CHECK(o.batch_size > 0, kValueError,
           "batch_size should be a positive integer value, but got batch_size=", o.batch_size);
  DT_CHECK(o.num_workers >= 0 && o.num_workers <= 256, kValueError,
           "num_workers must be from 0 to 256, got ", o.num_workers);
  DT_CHECK(o.prefetch_factor > 0 && o.prefetch_factor <= 1024, kValueError,
           "prefetch_factor must be from 1 to 1024, got ", o.prefetch_factor);
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
  order_ = shuffle_ ? randperm(dataset_->size(), generator_, kIndexDType, kCpu)
                    : arange(0, dataset_->size(), 1, kIndexDType, kCpu);
  next_ = 0;
  running_ = true;
  start_workers();
}

void DataLoader::start_workers() {
  if (worker_count_ == 0 || batches() == 0) return;
  auto workers = std::make_unique<Workers>();
  workers->slots.resize(static_cast<size_t>(std::min(ahead_, batches())));
  try {
    for (int i = 0; i < worker_count_; ++i) {
      workers->threads.emplace_back([this, w = workers.get()] { work(*w); });
    }
  } catch (const std::exception&) {  // fewer threads than wished, or none
    if (workers->threads.empty()) return;
  }
  workers_ = std::move(workers);
}

void DataLoader::stop_workers() {
  if (!workers_) return;
  if (workers_->process != getpid()) {
    // In the child of a fork the threads do not exist, and their locks and condition variables are
    // as the threads left them: to destroy them would wait for ever. They are leaked on purpose.
    (void)workers_.release();
    return;
  }
  {
    std::lock_guard<std::mutex> lock(workers_->mutex);
    workers_->stop = true;
  }
  workers_->work.notify_all();
  for (std::thread& t : workers_->threads) t.join();
  workers_.reset();
}

void DataLoader::work(Workers& w) {
  std::unique_lock<std::mutex> lock(w.mutex);
  for (;;) {
    w.work.wait(lock, [&] {
      const int64_t end = w.slots_begin + static_cast<int64_t>(w.slots.size());
      return w.stop || (w.claimed < batches() && w.claimed < end);
    });
    if (w.stop) return;
    const int64_t batch = w.claimed++;
    lock.unlock();
    Workers::Prefetched result;
    try {
      result.batch = dataset_->batch(indices_of(batch));
    } catch (...) {
      result.error = std::current_exception();
    }
    result.ready = true;
    lock.lock();
    if (w.stop) return;
    w.slots[static_cast<size_t>(batch - w.slots_begin)] = std::move(result);
    w.done.notify_all();
  }
}

std::vector<Tensor> DataLoader::next() {
  std::lock_guard<std::mutex> user(user_mutex_);
  if (!running_) begin_epoch();
  if (next_ >= batches()) {
    running_ = false;
    return {};
  }
  if (workers_ && workers_->process != getpid()) stop_workers();
  return workers_ ? next_from_workers() : dataset_->batch(indices_of(next_++));
}

std::vector<Tensor> DataLoader::next_from_workers() {
  Workers& w = *workers_;
  std::unique_lock<std::mutex> lock(w.mutex);
  w.done.wait(lock, [&] { return w.slots.front().ready; });
  Workers::Prefetched slot = std::move(w.slots.front());
  w.slots.pop_front();
  w.slots.emplace_back();
  ++w.slots_begin;
  ++next_;
  lock.unlock();
  w.work.notify_one();
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
