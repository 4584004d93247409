// Files, with errors that say which file and why.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/tensor/storage.h"

namespace dt {

// A number as it lies in memory, at the end of what will be written.
template <class T>
void append_number(std::string& s, T value) {
  s.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Bytes that can be read at any place: a file's, or those of somebody's memory.
class Input {
 public:
  // `name` begins sentences about it: "'weights.pt'", "the data".
  explicit Input(std::string name) : name_(std::move(name)) {}
  virtual ~Input() = default;
  Input(const Input&) = delete;

  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  // Exactly n bytes from `offset`, or an error that says the input is too short.
  void read(int64_t offset, void* to, int64_t n);
  std::string read_text(int64_t offset, int64_t n);

 protected:
  virtual void copy(int64_t offset, char* to, int64_t n) = 0;

  int64_t size_ = 0;

 private:
  std::string name_;
};

// A file open for reading.
class InputFile : public Input {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile() override;

  // All of it as memory that is read when it is looked at. What is written there stays there: the
  // file does not change.
  Ref<Storage> map();

 private:
  void copy(int64_t offset, char* to, int64_t n) override;

  std::string path_;
  int fd_ = -1;
};

// A blob that is read like a file.
class InputMemory : public Input {
 public:
  explicit InputMemory(Bytes bytes) : Input("the data"), bytes_(bytes) { size_ = bytes.size; }

 private:
  void copy(int64_t offset, char* to, int64_t n) override;

  Bytes bytes_;
};

// Where bytes go, from front to back.
class Output {
 public:
  virtual ~Output() = default;
  virtual void write(const void* from, int64_t n) = 0;
};

// A file that takes its place whole: `commit` flushes it to disk and renames it over `path`.
// Without commit nothing changes, and what was written goes away. A process killed at any moment
// leaves the old file or the new one.
class AtomicFile : public Output {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;

  void write(const void* from, int64_t n) override;
  void commit();

 private:
  std::string path_, temporary_;
  int fd_ = -1;
};

}  // namespace dt
