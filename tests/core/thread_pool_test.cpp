// The thread pool: each tile once, no worker twice at the same time, whoever calls.
#include "core/runtime/thread_pool.h"

#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace dt {
namespace {

std::atomic<int> failures{0};

void check(bool ok, const char* what) {
  if (ok) return;
  std::printf("FAIL %s\n", what);
  ++failures;
}

struct Job {
  int64_t tiles, workers;
  std::unique_ptr<std::atomic<int>[]> runs;  // of each tile
  std::unique_ptr<std::atomic<bool>[]> at_work;

  Job(int64_t tiles, int64_t workers)
      : tiles(tiles),
        workers(workers),
        runs(new std::atomic<int>[tiles]()),
        at_work(new std::atomic<bool>[workers]()) {}
};

void run_tile(void* context, int64_t tile, int64_t worker) {
  Job& job = *static_cast<Job*>(context);
  check(0 <= tile && tile < job.tiles, "a tile of this job");
  check(0 <= worker && worker < job.workers, "a worker of this job");
  check(!job.at_work[worker].exchange(true), "a worker does one tile at a time");
  // Tiles of different lengths, so that workers have to help each other.
  volatile int64_t sum = 0;
  for (int64_t i = 0; i < tile % 7 * 100; ++i) sum = sum + i;
  ++job.runs[tile];
  job.at_work[worker] = false;
}

void check_job(int64_t tiles, int64_t workers) {
  Job job(tiles, workers);
  parallel(tiles, workers, run_tile, &job);
  bool once = true;
  for (int64_t i = 0; i < tiles; ++i) once = once && job.runs[i] == 1;
  check(once, "each tile runs once");
}

void check_jobs() {
  for (int64_t round = 0; round < 300; ++round) {
    for (int64_t tiles : {1, 2, 3, 5, 64, 257}) check_job(tiles, 1 + round % 9);
  }
}

void check_nested() {
  const auto outer = [](void*, int64_t, int64_t) { check_job(9, 4); };
  parallel(16, 4, outer, nullptr);
}

int64_t sleeps() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

// A worker that has only the caller's processor to run on leaves it to the caller: it waits there
// for no job, and is not woken for each.
void check_one_processor() {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);  // and of the workers that it starts
  set_num_threads(2);
  constexpr int64_t kJobs = 2000;
  const int64_t before = sleeps();
  for (int64_t i = 0; i < kJobs; ++i) check_job(64, 2);
  check(sleeps() - before < kJobs / 20, "a worker on the caller's processor stays ready");
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
}  // namespace dt

int main() {
  dt::check_one_processor();
  for (int threads : {1, 2, 3, 8}) {
    dt::set_num_threads(threads);
    dt::check_jobs();
    dt::check_nested();
  }
  // Callers from several threads, while the number of threads changes.
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back(dt::check_jobs);
  for (int threads : {2, 5, 1, 4, 3}) dt::set_num_threads(threads);
  for (std::thread& caller : callers) caller.join();
  if (dt::failures == 0) std::printf("ok\n");
  return dt::failures != 0;
}
