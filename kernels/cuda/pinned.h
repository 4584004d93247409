// Page-locked memory of the host: the device copies to and from it directly and asynchronously.
// Locking pages takes longer than most copies, so blocks are kept. Their sizes are powers of two.
//
// A block may be released while a copy still runs: every copy that touches a block leaves an event
// with it, and the block is given out again when all are done.
#pragma once

#include <stdint.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "kernels/abi.h"
#include "kernels/cuda/driver.h"

namespace dt::cuda {

class PinnedCache {
 public:
  explicit PinnedCache(Driver& driver) : driver_(driver) {}
  PinnedCache(const PinnedCache&) = delete;
  PinnedCache& operator=(const PinnedCache&) = delete;
  ~PinnedCache() { give_back(); }

  int32_t allocate(int64_t bytes, void** block, dt_fault* fault);
  void release(void* block);
  // Whether the address lies in a block that somebody holds or that a graph copies.
  bool contains(const void* address);
  // `stream` has been told to copy to or from the address. Other memory is ignored.
  void copied(const void* address, void* stream);
  // The same for a graph, which copies at each launch: the block that holds the address stays
  // reserved for it until `forget`. Returns null for other memory.
  void* keep(const void* address);
  void forget(void* block);
  // Unlocks the pages that nobody uses.
  void give_back();

 private:
  struct Block {
    int64_t size = 0;
    bool is_taken = false;
    int graphs = 0;
    std::map<void*, void*> events;  // of the last copy on each stream
  };
  using Blocks = std::map<char*, Block>;

  Blocks::iterator find(const void* address);
  bool is_idle(Block& block);
  void* take_free(int64_t size);
  void park(Blocks::iterator found);
  void poll();
  void unlock_free();

  Driver& driver_;
  std::mutex mutex_;
  Blocks blocks_;                             // all, by address
  std::set<std::pair<int64_t, char*>> free_;  // by size
  std::set<char*> waiting_;                   // released, but still copied or kept
};

}  // namespace dt::cuda
