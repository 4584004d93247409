// The caching allocator of a device. Asking the driver for memory takes up to a millisecond and
// giving it back waits for the whole device, so freed memory is kept and cut up again.
//
// It is stream-ordered: a block belongs to the stream it was allocated for and goes back to that
// stream's free blocks while its last kernel may still be running, because the next owner's kernels
// queue up behind. Only a block that other streams used too has to wait, until events that are
// recorded at its release are done.
//
// Sizes follow PyTorch's allocator, so that memory use does. Up to 1 MiB, blocks are cut from
// segments of 2 MiB; below 10 MiB, from segments of 20 MiB; larger ones get a segment of their own,
// in steps of 2 MiB. The best fit is taken and split, and a freed block merges with its free
// neighbours in the segment.
//
// Nothing in these files needs a GPU: a Driver (driver.h) stands between, and tests bring their
// own.
#pragma once

#include <stdint.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "kernels/abi.h"
#include "kernels/cuda/driver.h"

namespace dt::cuda {

class Allocator {
 public:
  struct Arena;

  // The memory itself stays: empty the cache first, once all blocks are released.
  Allocator(Driver& driver, int32_t device);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // As the functions of the same names in dt_backend. Zero bytes are no block: null.
  int32_t allocate(int64_t bytes, void* stream, void** block, dt_fault* fault);
  void release(void* block);
  void use_on(void* block, void* stream);
  dt_memory memory();
  void reset_peaks();
  // Does nothing while a graph is captured, see Driver::may_free.
  void empty_cache();

  // A graph replays on the addresses that it was recorded with, so its memory comes from an arena
  // of its own, in which blocks are reused but never leave. `drop_graph` says that the graph is
  // gone; the arena's memory goes back as soon as its last block is released too.
  Arena* begin_capture(uint64_t capture);
  void end_capture(Arena* arena);
  void drop_graph(Arena* arena);

 private:
  struct Pool;
  struct Block;
  struct Use {
    void* event;
    Block* block;
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const;
  };

  Arena& arena_of(void* stream);
  Block* take_best_fit(Pool& pool, int64_t size, void* stream);
  int32_t add_segment(Pool& pool, int64_t size, void* stream, Block** block, dt_fault* fault);
  void explain_shortage(int64_t bytes, dt_fault* fault);
  static bool is_worth_splitting(const Block& block, int64_t size);
  void split(Block* block, int64_t size);
  void rest(Block* block);
  void wake(Arena& arena, int64_t most);
  void make_free(Block* block);
  void absorb(Block* block, Block* neighbour);
  bool is_captured(const Block& block);
  void record_uses(Block* block);
  void finish_use(const Use& use);
  void poll_uses();
  void wait_for_uses();
  void give_back(Pool& pool);
  void give_back_cache();
  void drop_finished_arenas();

  Driver& driver_;
  const int32_t device_;
  std::mutex mutex_;
  std::unordered_map<void*, Block*> taken_;          // by address: what the caller holds
  std::unordered_map<void*, std::deque<Use>> uses_;  // by stream, oldest first
  std::vector<Block*> deferred_;                // released while one of their users was captured
  std::vector<std::unique_ptr<Arena>> arenas_;  // the first is for everything but graphs
  std::map<uint64_t, Arena*> captures_;         // those going on
  int64_t allocated_ = 0, peak_allocated_ = 0, reserved_ = 0, peak_reserved_ = 0;
};

}  // namespace dt::cuda
