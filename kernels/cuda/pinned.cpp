#include "kernels/cuda/pinned.h"

#include <stdio.h>

namespace dt::cuda {

namespace {

constexpr int64_t kSmallest = 4096;  // a page
constexpr int64_t kLargest = int64_t{1} << 60;

int64_t size_class(int64_t bytes) {
  int64_t size = kSmallest;
  while (size < bytes) size *= 2;
  return size;
}

}  // namespace

int32_t PinnedCache::allocate(int64_t bytes, void** address, dt_fault* fault) {
  *address = nullptr;
  if (bytes <= 0) return DT_KERNEL_OK;
  const std::lock_guard<std::mutex> lock(mutex_);
  poll();
  const int64_t size = size_class(bytes < kLargest ? bytes : kLargest);
  if ((*address = take_free(size))) return DT_KERNEL_OK;
  int32_t code = driver_.allocate(size, address, fault);
  if (code == DT_KERNEL_OUT_OF_MEMORY && driver_.may_free()) {
    unlock_free();
    code = driver_.allocate(size, address, fault);
  }
  if (code == DT_KERNEL_OUT_OF_MEMORY)
    snprintf(fault->message, sizeof(fault->message),
             "not enough memory: could not lock %lld bytes of the host's memory",
             static_cast<long long>(size));
  if (code != DT_KERNEL_OK) return code;
  Block& block = blocks_[static_cast<char*>(*address)];
  block.size = size;
  block.is_taken = true;
  return DT_KERNEL_OK;
}

void* PinnedCache::take_free(int64_t size) {
  const auto found = free_.lower_bound({size, nullptr});
  if (found == free_.end() || found->first != size) return nullptr;
  char* const address = found->second;
  free_.erase(found);
  blocks_[address].is_taken = true;
  return address;
}

void PinnedCache::release(void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(static_cast<char*>(address));
  if (found == blocks_.end() || !found->second.is_taken) return;
  found->second.is_taken = false;
  park(found);
}

// Puts a block that nobody holds where it belongs.
void PinnedCache::park(Blocks::iterator found) {
  if (is_idle(found->second))
    free_.insert({found->second.size, found->first});
  else
    waiting_.insert(found->first);
}

bool PinnedCache::is_idle(Block& block) {
  while (!block.events.empty() && driver_.is_done(block.events.begin()->second)) {
    driver_.recycle(block.events.begin()->second);
    block.events.erase(block.events.begin());
  }
  return block.events.empty() && block.graphs == 0;
}

void PinnedCache::poll() {
  for (auto i = waiting_.begin(); i != waiting_.end();) {
    const auto found = blocks_.find(*i);
    if (!is_idle(found->second)) {
      ++i;
      continue;
    }
    free_.insert({found->second.size, found->first});
    i = waiting_.erase(i);
  }
}

PinnedCache::Blocks::iterator PinnedCache::find(const void* address) {
  char* const at = static_cast<char*>(const_cast<void*>(address));
  auto found = blocks_.upper_bound(at);
  if (found == blocks_.begin()) return blocks_.end();
  --found;
  return at < found->first + found->second.size ? found : blocks_.end();
}

bool PinnedCache::contains(const void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return find(address) != blocks_.end();
}

void PinnedCache::copied(const void* address, void* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = find(address);
  if (found == blocks_.end()) return;
  // The stream's later event stands for its earlier one.
  void*& event = found->second.events[stream];
  if (event) driver_.recycle(event);
  event = driver_.record(stream);
}

void* PinnedCache::keep(const void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = find(address);
  if (found == blocks_.end()) return nullptr;
  ++found->second.graphs;
  return found->first;
}

void PinnedCache::forget(void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(static_cast<char*>(address));
  if (found != blocks_.end()) --found->second.graphs;
}

void PinnedCache::give_back() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!driver_.may_free()) return;
  poll();
  unlock_free();
}

void PinnedCache::unlock_free() {
  for (const auto& [size, address] : free_) {
    driver_.free(address);
    blocks_.erase(address);
  }
  free_.clear();
}

}  // namespace dt::cuda
