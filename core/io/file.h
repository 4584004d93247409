// Files, with errors that say which file and why.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

// A file open for reading.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;

  int64_t size() const { return size_; }
  // Exactly n bytes from `offset`, or an error that says the file is too short.
  void read(int64_t offset, void* to, int64_t n);

 private:
  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

// A file that takes its place whole: `commit` flushes it to disk and renames it over `path`.
// Without commit nothing changes, and what was written goes away. A process killed at any moment
// leaves the old file or the new one.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;

  void write(const void* from, int64_t n);
  void commit();

 private:
  std::string path_, temporary_;
  int fd_ = -1;
};

}  // namespace dt
