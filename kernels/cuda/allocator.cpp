#include "kernels/cuda/allocator.h"

#include <stdio.h>

#include <algorithm>

namespace dt::cuda {

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGranule = 512;        // every block is a multiple of this
constexpr int64_t kLargestSmall = kMiB;  // blocks up to this come from small segments
constexpr int64_t kSmallSegment = 2 * kMiB;
constexpr int64_t kLargestShared = 10 * kMiB;  // blocks below this come from shared segments
constexpr int64_t kSharedSegment = 20 * kMiB;
constexpr int64_t kMostResting = 32 * kMiB;  // of a graph that is captured
constexpr int64_t kSegmentStep = 2 * kMiB;   // larger segments are multiples of this
// Nobody has as much, and sums with it do not overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 60;

int64_t round_up(int64_t bytes, int64_t step) {
  return (bytes + step - 1) / step * step;
}

int64_t segment_bytes(int64_t size) {
  if (size <= kLargestSmall) return kSmallSegment;
  if (size < kLargestShared) return kSharedSegment;
  return round_up(size, kSegmentStep);
}

struct Amount {
  char text[32];

  explicit Amount(int64_t bytes) {
    const double mib = static_cast<double>(bytes) / kMiB;
    if (bytes < 1024)
      snprintf(text, sizeof(text), "%d bytes", static_cast<int>(bytes));
    else if (bytes < kMiB)
      snprintf(text, sizeof(text), "%.2f KiB", mib * 1024);
    else if (bytes < 1024 * kMiB)
      snprintf(text, sizeof(text), "%.2f MiB", mib);
    else
      snprintf(text, sizeof(text), "%.2f GiB", mib / 1024);
  }
};

}  // namespace

// A piece of a segment. The pieces of a segment form a list in the order of their addresses.
struct Allocator::Block {
  char* address;
  int64_t size;
  void* stream;
  Pool* pool;
  Block* before = nullptr;
  Block* after = nullptr;
  bool is_free = false;
  int events = 0;            // how many are still to be waited for after the release
  std::vector<void*> users;  // the other streams that used it

  Block(char* address, int64_t size, void* stream, Pool* pool)
      : address(address), size(size), stream(stream), pool(pool) {}
  bool is_whole_segment() const { return !before && !after; }
};

bool Allocator::BySize::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return std::less<void*>()(a->stream, b->stream);
  if (a->size != b->size) return a->size < b->size;
  return a->address < b->address;
}

// The free blocks of small segments, or of all others.
struct Allocator::Pool {
  Arena* arena;
  bool is_small;
  std::set<Block*, BySize> free;
};

struct Allocator::Arena {
  Pool small{this, true, {}}, large{this, false, {}};
  int64_t taken = 0;  // blocks that are not free
  // Released while the graph is captured, oldest first: see rest().
  std::deque<Block*> resting;
  int64_t resting_bytes = 0;
  bool is_recording = false;
  bool is_needed = true;  // the graph exists; always true for the arena of no graph
};

Allocator::Allocator(Driver& driver, int32_t device) : driver_(driver), device_(device) {
  arenas_.push_back(std::make_unique<Arena>());
}

Allocator::~Allocator() = default;

// ---- allocation ---------------------------------------------------------------------------------

int32_t Allocator::allocate(int64_t bytes, void* stream, void** address, dt_fault* fault) {
  *address = nullptr;
  if (bytes <= 0) return DT_KERNEL_OK;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > kMaxBytes) {
    explain_shortage(bytes, fault);
    return DT_KERNEL_OUT_OF_MEMORY;
  }
  poll_uses();
  const int64_t size = round_up(bytes, kGranule);
  Arena& arena = arena_of(stream);
  Pool& pool = size <= kLargestSmall ? arena.small : arena.large;
  Block* block = take_best_fit(pool, size, stream);
  if (!block) {
    const int32_t code = add_segment(pool, size, stream, &block, fault);
    if (code != DT_KERNEL_OK) return code;
  }
  if (is_worth_splitting(*block, size)) split(block, size);
  ++arena.taken;
  allocated_ += block->size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  taken_[block->address] = block;
  *address = block->address;
  return DT_KERNEL_OK;
}

Allocator::Arena& Allocator::arena_of(void* stream) {
  if (!captures_.empty()) {
    const auto found = captures_.find(driver_.capture(stream));
    if (found != captures_.end()) return *found->second;
  }
  return *arenas_.front();
}

Allocator::Block* Allocator::take_best_fit(Pool& pool, int64_t size, void* stream) {
  Block key(nullptr, size, stream, &pool);
  const auto found = pool.free.lower_bound(&key);
  if (found == pool.free.end() || (*found)->stream != stream) return nullptr;
  Block* block = *found;
  pool.free.erase(found);
  block->is_free = false;
  return block;
}

int32_t Allocator::add_segment(Pool& pool, int64_t size, void* stream, Block** block,
                               dt_fault* fault) {
  const int64_t bytes = segment_bytes(size);
  void* memory = nullptr;
  int32_t code = driver_.allocate(bytes, &memory, fault);
  if (code == DT_KERNEL_OUT_OF_MEMORY && pool.arena->resting_bytes > 0) {
    wake(*pool.arena, 0);
    *block = take_best_fit(pool, size, stream);
    if (*block) return DT_KERNEL_OK;
  }
  if (code == DT_KERNEL_OUT_OF_MEMORY && driver_.may_free()) {
    wait_for_uses();
    // What waited may have become the very block that is wanted.
    *block = take_best_fit(pool, size, stream);
    if (*block) return DT_KERNEL_OK;
    give_back_cache();
    code = driver_.allocate(bytes, &memory, fault);
  }
  if (code == DT_KERNEL_OUT_OF_MEMORY) explain_shortage(bytes, fault);
  if (code != DT_KERNEL_OK) return code;
  reserved_ += bytes;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  *block = new Block(static_cast<char*>(memory), bytes, stream, &pool);
  return DT_KERNEL_OK;
}

void Allocator::explain_shortage(int64_t bytes, dt_fault* fault) {
  int64_t free = 0, total = 0;
  driver_.available(&free, &total);
  snprintf(fault->message, sizeof(fault->message),
           "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which "
           "%s is free. %s is allocated by dumbtorch, and %s is reserved by dumbtorch but "
           "unallocated.",
           Amount(bytes).text, static_cast<int>(device_), Amount(total).text, Amount(free).text,
           Amount(allocated_).text, Amount(reserved_ - allocated_).text);
}

// A rest that is worth keeping: any in a small segment, else one that a small block would not fit.
bool Allocator::is_worth_splitting(const Block& block, int64_t size) {
  const int64_t rest = block.size - size;
  return block.pool->is_small ? rest >= kGranule : rest > kLargestSmall;
}

// Cuts `block` down to `size` and makes a free block of the rest.
void Allocator::split(Block* block, int64_t size) {
  Block* rest = new Block(block->address + size, block->size - size, block->stream, block->pool);
  rest->before = block;
  rest->after = block->after;
  if (rest->after) rest->after->before = rest;
  block->after = rest;
  block->size = size;
  rest->is_free = true;
  rest->pool->free.insert(rest);
}

// ---- release ------------------------------------------------------------------------------------

void Allocator::release(void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = taken_.find(address);
  if (found == taken_.end()) return;
  Block* block = found->second;
  taken_.erase(found);
  allocated_ -= block->size;
  if (block->users.empty()) {
    rest(block);
    drop_finished_arenas();
  } else if (is_captured(*block)) {
    deferred_.push_back(block);
  } else {
    record_uses(block);
  }
}

// What a graph's call releases, and another takes at once, would make that one wait for whoever
// used it. So a block rests for a while.
void Allocator::rest(Block* block) {
  Arena& arena = *block->pool->arena;
  if (!arena.is_recording || block->size > kMostResting) return make_free(block);
  arena.resting.push_back(block);
  arena.resting_bytes += block->size;
  wake(arena, kMostResting);
}

// Lets the oldest go until not more than `most` bytes rest.
void Allocator::wake(Arena& arena, int64_t most) {
  while (arena.resting_bytes > most) {
    arena.resting_bytes -= arena.resting.front()->size;
    make_free(arena.resting.front());
    arena.resting.pop_front();
  }
}

void Allocator::make_free(Block* block) {
  --block->pool->arena->taken;
  absorb(block, block->before);
  absorb(block, block->after);
  block->is_free = true;
  block->pool->free.insert(block);
}

// Merges a neighbour into `block` if it is free.
void Allocator::absorb(Block* block, Block* neighbour) {
  if (!neighbour || !neighbour->is_free) return;
  neighbour->pool->free.erase(neighbour);
  if (neighbour == block->before) {
    block->address = neighbour->address;
    block->before = neighbour->before;
    if (block->before) block->before->after = block;
  } else {
    block->after = neighbour->after;
    if (block->after) block->after->before = block;
  }
  block->size += neighbour->size;
  delete neighbour;
}

// ---- blocks that several streams use ------------------------------------------------------------

void Allocator::use_on(void* address, void* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = taken_.find(address);
  if (found == taken_.end() || found->second->stream == stream) return;
  std::vector<void*>& users = found->second->users;
  if (std::find(users.begin(), users.end(), stream) == users.end()) users.push_back(stream);
}

// An event that is recorded on a captured stream becomes part of the graph and is never done.
bool Allocator::is_captured(const Block& block) {
  if (captures_.empty()) return false;
  return std::any_of(block.users.begin(), block.users.end(),
                     [this](void* stream) { return driver_.capture(stream) != 0; });
}

void Allocator::record_uses(Block* block) {
  for (void* stream : block->users) {
    uses_[stream].push_back({driver_.record(stream), block});
    ++block->events;
  }
  block->users.clear();
}

void Allocator::finish_use(const Use& use) {
  driver_.recycle(use.event);
  if (--use.block->events == 0) make_free(use.block);
}

// Frees the released blocks that no stream uses any more. A stream's events are done in the order
// in which they were recorded.
void Allocator::poll_uses() {
  if (uses_.empty()) return;
  for (auto of_stream = uses_.begin(); of_stream != uses_.end();) {
    std::deque<Use>& queue = of_stream->second;
    while (!queue.empty() && driver_.is_done(queue.front().event)) {
      finish_use(queue.front());
      queue.pop_front();
    }
    of_stream = queue.empty() ? uses_.erase(of_stream) : std::next(of_stream);
  }
  drop_finished_arenas();
}

void Allocator::wait_for_uses() {
  for (auto& [stream, queue] : uses_) {
    for (const Use& use : queue) {
      driver_.wait(use.event);
      finish_use(use);
    }
  }
  uses_.clear();
  drop_finished_arenas();
}

// ---- giving memory back -------------------------------------------------------------------------

void Allocator::give_back(Pool& pool) {
  for (auto i = pool.free.begin(); i != pool.free.end();) {
    Block* block = *i;
    if (!block->is_whole_segment()) {
      ++i;
      continue;
    }
    driver_.free(block->address);
    reserved_ -= block->size;
    i = pool.free.erase(i);
    delete block;
  }
}

void Allocator::give_back_cache() {
  give_back(arenas_.front()->small);
  give_back(arenas_.front()->large);
}

void Allocator::empty_cache() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!driver_.may_free()) return;
  wait_for_uses();
  give_back_cache();
}

dt_memory Allocator::memory() {
  const std::lock_guard<std::mutex> lock(mutex_);
  dt_memory memory = {allocated_, peak_allocated_, reserved_, peak_reserved_, 0, 0};
  driver_.available(&memory.free, &memory.total);
  return memory;
}

void Allocator::reset_peaks() {
  const std::lock_guard<std::mutex> lock(mutex_);
  peak_allocated_ = allocated_;
  peak_reserved_ = reserved_;
}

// ---- graphs -------------------------------------------------------------------------------------

Allocator::Arena* Allocator::begin_capture(uint64_t capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  arenas_.push_back(std::make_unique<Arena>());
  arenas_.back()->is_recording = true;
  return captures_[capture] = arenas_.back().get();
}

void Allocator::end_capture(Arena* arena) {
  const std::lock_guard<std::mutex> lock(mutex_);
  arena->is_recording = false;
  wake(*arena, 0);
  for (auto i = captures_.begin(); i != captures_.end();)
    i = i->second == arena ? captures_.erase(i) : std::next(i);
  if (!captures_.empty()) return;
  for (Block* block : deferred_) record_uses(block);
  deferred_.clear();
  drop_finished_arenas();
}

void Allocator::drop_graph(Arena* arena) {
  const std::lock_guard<std::mutex> lock(mutex_);
  arena->is_needed = false;
  drop_finished_arenas();
}

// When all blocks of an arena are free, they have merged into whole segments.
void Allocator::drop_finished_arenas() {
  if (arenas_.size() == 1 || !driver_.may_free()) return;
  for (size_t i = arenas_.size() - 1; i > 0; --i) {
    Arena& arena = *arenas_[i];
    if (arena.is_needed || arena.taken > 0) continue;
    give_back(arena.small);
    give_back(arena.large);
    arenas_.erase(arenas_.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace dt::cuda
