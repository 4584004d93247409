#include "core/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "core/base/error.h"

namespace dt {
namespace {

constexpr auto kSpin = std::chrono::microseconds(30);
constexpr int kMaxThreads = 1024;
constexpr uint64_t kNoTile = 0xffffffff;

void pause() {
  __builtin_ia32_pause();
}

int default_threads() {
  if (const char* text = std::getenv("DT_NUM_THREADS"); text && *text) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    DT_CHECK(*end == '\0' && n >= 1, kValueError,
             "DT_NUM_THREADS must be a whole number from 1 on, got '", text, "'");
    return static_cast<int>(std::min<long>(n, kMaxThreads));
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::min(CPU_COUNT(&set), kMaxThreads);
  const unsigned n = std::thread::hardware_concurrency();  // 0: not known
  return static_cast<int>(std::clamp<unsigned>(n, 1, kMaxThreads));
}

using Body = void (*)(void* context, int64_t tile, int64_t worker);

class ThreadPool {
 public:
  void run(int64_t tiles, int64_t workers, Body body, void* context);
  void resize(int threads);
  int threads() const { return threads_.load(std::memory_order_relaxed); }
  void forget_workers_after_fork();
  // False also for a call from inside of a tile.
  bool try_acquire() { return !busy_.exchange(true, std::memory_order_acquire); }
  void release() { busy_.store(false, std::memory_order_release); }

 private:
  // Each worker's share of the tiles is one run of neighbours, so that a worker finds in its caches
  // what it left there in the last job; who has finished helps the others. The ticket is
  // (job number << 32) + next free tile of the share. A worker that claims a tile knows that the
  // job cannot end before that tile is done, so body_ and the others are safe to read then, and
  // only then.
  struct alignas(64) Share {
    std::atomic<uint64_t> ticket{0};
  };

  // The workers. Those that a fork has left behind in the parent are kept, and no more: to free
  // them would end the process, since they were never joined.
  struct Crew {
    std::vector<std::thread> threads;
    Crew* left_behind;
  };

  void start_workers();
  void work(int64_t worker, uint64_t seen);
  void run_tiles(uint64_t job, int64_t worker);
  void leave_processor_to_caller() const;
  bool claim_and_run(uint64_t job, int64_t share, int64_t worker);
  int64_t first_tile(int64_t share) const {
    return tiles_.load(std::memory_order_relaxed) * share /
           shares_used_.load(std::memory_order_relaxed);
  }

  Share shares_[kMaxThreads];
  std::atomic<uint64_t> job_{0};  // set when the shares are ready
  std::atomic<int64_t> done_{0};
  std::atomic<int64_t> tiles_{0}, shares_used_{1};
  std::atomic<int> caller_cpu_{-1};
  Body body_ = nullptr;
  void* context_ = nullptr;

  std::atomic<bool> busy_{false};
  std::atomic<int> threads_{default_threads()};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  std::mutex sleep_mutex_, resize_mutex_;
  std::condition_variable wake_;
  Crew* crew_ = nullptr;
  Crew* left_behind_ = nullptr;
};

ThreadPool& pool() {
  static ThreadPool& p =
      *new ThreadPool;  // never destroyed: workers may outlive static destructors
  static const int at_fork =
      pthread_atfork(nullptr, nullptr, [] { pool().forget_workers_after_fork(); });
  (void)at_fork;
  return p;
}

// Runs one tile of a share if one is free. False when the share has no more.
bool ThreadPool::claim_and_run(uint64_t job, int64_t share, int64_t worker) {
  std::atomic<uint64_t>& ticket = shares_[share].ticket;
  uint64_t t = ticket.load(std::memory_order_acquire);
  int64_t tile = 0;
  do {
    if (t >> 32 != job || (t & kNoTile) == kNoTile) return false;
    tile = first_tile(share) + static_cast<int64_t>(t & kNoTile);
    if (tile >= first_tile(share + 1)) return false;
  } while (!ticket.compare_exchange_weak(t, t + 1, std::memory_order_acq_rel));
  body_(context_, tile, worker);
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

// The worker's own share first, then what the others have left.
void ThreadPool::run_tiles(uint64_t job, int64_t worker) {
  const int64_t shares = shares_used_.load(std::memory_order_relaxed);
  for (int64_t i = 0; i < shares && worker < shares; ++i) {
    while (claim_and_run(job, (worker + i) % shares, worker)) {
    }
  }
}

// The kernel may have woken a worker where the caller runs. To wait there for the caller's next job
// would keep it from coming, and to sleep would bring the worker back to the same place: a thread
// that is ready to run is moved to an idle processor, one that sleeps is not.
void ThreadPool::leave_processor_to_caller() const {
  if (sched_getcpu() == caller_cpu_.load(std::memory_order_relaxed)) std::this_thread::yield();
}

void ThreadPool::work(int64_t worker, uint64_t seen) {
  while (!stop_.load(std::memory_order_acquire)) {
    const auto start = std::chrono::steady_clock::now();
    uint64_t job = seen;
    for (int i = 1; (job = job_.load(std::memory_order_acquire)) == seen; ++i) {
      pause();
      if (stop_.load(std::memory_order_relaxed)) return;
      if (i % 64 != 0) continue;
      leave_processor_to_caller();
      if (std::chrono::steady_clock::now() - start < kSpin) continue;
      std::unique_lock<std::mutex> lock(sleep_mutex_);
      sleeping_.fetch_add(1);
      wake_.wait(lock, [&] { return job_.load() != seen || stop_.load(); });
      sleeping_.fetch_sub(1);
    }
    seen = job;
    run_tiles(job, worker);
  }
}

void ThreadPool::start_workers() {
  std::lock_guard<std::mutex> lock(resize_mutex_);
  if (crew_) return;
  const uint64_t seen = job_.load();
  stop_.store(false);
  try {
    crew_ = new Crew{{}, left_behind_};
    for (int i = 1; i < threads(); ++i)
      crew_->threads.emplace_back([this, i, seen] { work(i, seen); });
  } catch (const std::exception&) {  // fewer threads than wished: the others do the rest
  }
}

void ThreadPool::run(int64_t tiles, int64_t workers, Body body, void* context) {
  if (!crew_) start_workers();
  const int64_t shares = std::min({tiles, workers, static_cast<int64_t>(threads())});
  const uint64_t last = job_.load(std::memory_order_relaxed);
  const uint64_t job = (last + 1) & kNoTile;  // job numbers are 32 bits wide and begin again at 0
  for (int64_t i = 0; i < std::max(shares, shares_used_.load(std::memory_order_relaxed)); ++i)
    shares_[i].ticket.store((last << 32) | kNoTile);  // no late worker mixes the two jobs' numbers
  body_ = body;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  tiles_.store(tiles, std::memory_order_relaxed);
  shares_used_.store(shares, std::memory_order_relaxed);
  caller_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
  for (int64_t i = 0; i < shares; ++i)
    shares_[i].ticket.store(job << 32, std::memory_order_release);
  job_.store(job);
  if (sleeping_.load() > 0) {
    { std::lock_guard<std::mutex> lock(sleep_mutex_); }
    wake_.notify_all();
  }
  run_tiles(job, 0);
  for (int i = 0; done_.load(std::memory_order_acquire) < tiles; ++i) {
    if (i < 10000)
      pause();
    else
      std::this_thread::yield();
  }
}

void ThreadPool::resize(int threads) {
  while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  {
    std::lock_guard<std::mutex> lock(resize_mutex_);
    if (crew_) {
      stop_.store(true);
      { std::lock_guard<std::mutex> sleep_lock(sleep_mutex_); }
      wake_.notify_all();
      for (auto& w : crew_->threads) w.join();
      delete crew_;
      crew_ = nullptr;
    }
    threads_.store(threads);
  }
  busy_.store(false, std::memory_order_release);
}

// The child of a fork has none of the threads and must not touch locks that they may have held.
void ThreadPool::forget_workers_after_fork() {
  if (crew_) left_behind_ = crew_;
  crew_ = nullptr;
  sleeping_.store(0);
  busy_.store(false);
  new (&sleep_mutex_) std::mutex;
  new (&resize_mutex_) std::mutex;
  new (&wake_) std::condition_variable;
}

}  // namespace

void parallel(int64_t tiles, int64_t workers, Body body, void* context) {
  ThreadPool& p = pool();
  bool free_pool =
      tiles > 1 && workers > 1 && tiles < static_cast<int64_t>(kNoTile) && p.threads() > 1;
  free_pool = free_pool && p.try_acquire();
  if (!free_pool) {
    for (int64_t i = 0; i < tiles; ++i) body(context, i, 0);
    return;
  }
  p.run(tiles, workers, body, context);
  p.release();
}

int num_threads() {
  return pool().threads();
}

void set_num_threads(int n) {
  DT_CHECK(n >= 1, kValueError, "set_num_threads expects a positive number, got ", n);
  pool().resize(n < kMaxThreads ? n : kMaxThreads);
}

}  // namespace dt
