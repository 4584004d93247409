#include "core/io/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "core/base/error.h"

namespace dt {
namespace {

[[noreturn]] void fail_io(const char* what, const std::string& path) {
  const int error = errno;
  fail(Code::kIo, "cannot ", what, " '", path, "': ", std::strerror(error));
}

struct PathParts {
  std::string folder, name;
};

PathParts split_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// The file that a chain of links leads to, whether it exists yet or not: a link is not replaced,
// what it stands for is.
std::string behind_links(std::string path) {
  constexpr int kMaxLinks = 40;  // the system's own limit; more is an error of whoever opens it
  for (int i = 0; i < kMaxLinks; ++i) {
    char target[PATH_MAX];
    const ssize_t n = readlink(path.c_str(), target, sizeof target);
    if (n <= 0) return path;
    const std::string next(target, static_cast<size_t>(n));
    path = next[0] == '/' ? next : split_path(path).folder + "/" + next;
  }
  return path;
}

// A new file beside `path`, under a name that says whose it is. -1 with errno if there can be none.
int make_temporary(const std::string& path, std::string* temporary) {
  const auto [folder, name] = split_path(path);
  std::random_device random;
  for (;;) {
    char ending[16];
    const int n = std::snprintf(ending, sizeof ending, ".tmp-%06x", random() & 0xffffffu);
    *temporary = folder + "/" + name.substr(0, static_cast<size_t>(NAME_MAX - n)) + ending;
    const int fd = open(temporary->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
}

struct Mapping {
  void* data;
  size_t bytes;
};

void unmap(void* context) {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
  munmap(mapping->data, mapping->bytes);
}

}  // namespace

void Input::read(int64_t offset, void* to, int64_t n) {
  DT_CHECK(offset >= 0 && n >= 0 && offset <= size_ - n, kIo, name_, " is too short: ", n,
           " bytes at ", offset, " were expected, there are ", size_);
  if (n) copy(offset, static_cast<char*>(to), n);
}

std::string Input::read_text(int64_t offset, int64_t n) {
  DT_CHECK(n <= size_, kIo, name_, " is too short: ", n, " bytes were expected, there are ", size_);
  std::string s(static_cast<size_t>(n), '\0');
  read(offset, s.data(), n);
  return s;
}

InputFile::InputFile(const std::string& path) : Input("'" + path + "'"), path_(path) {
  // A pipe, which is refused below, must not be waited for.
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail_io("open", path);
  struct stat info;
  if (fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd_);
    fail(Code::kIo, "cannot read '", path, "': not a regular file");
  }
  size_ = info.st_size;
}

InputFile::~InputFile() {
  close(fd_);
}

void InputFile::copy(int64_t offset, char* to, int64_t n) {
  while (n > 0) {
    const ssize_t got = pread(fd_, to, static_cast<size_t>(n), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io("read", path_);
    DT_CHECK(got > 0, kIo, name(), " became shorter while it was read");
    to += got;
    n -= got;
    offset += got;
  }
}

Ref<Storage> InputFile::map() {
  const auto n = static_cast<size_t>(size_);
  if (n == 0) return Storage::wrap(nullptr, 0, kCpu, nullptr, nullptr);
  auto mapping = std::make_unique<Mapping>();
  mapping->bytes = n;
  mapping->data = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd_, 0);
  if (mapping->data == MAP_FAILED) fail_io("map", path_);
  void* const data = mapping->data;
  return Storage::wrap(data, size_, kCpu, unmap, mapping.release());
}

void InputMemory::copy(int64_t offset, char* to, int64_t n) {
  std::memcpy(to, static_cast<const char*>(bytes_.data) + offset, static_cast<size_t>(n));
}

AtomicFile::AtomicFile(const std::string& path) : path_(behind_links(path)) {
  struct stat old;
  const bool replaces = stat(path_.c_str(), &old) == 0;
  if (!replaces && (errno != ENOENT || path.empty())) fail_io("write", path);
  DT_CHECK(!replaces || S_ISREG(old.st_mode), kIo, "cannot write '", path,
           "': ", S_ISDIR(old.st_mode) ? "it is a folder" : "it is not a regular file");
  // Its folder alone would let a file be replaced that must not be written.
  if (replaces && faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail_io("write", path);
  fd_ = make_temporary(path_, &temporary_);
  if (fd_ < 0) fail_io("write", path);
  if (replaces) fchmod(fd_, old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(const void* from, int64_t n) {
  const auto* p = static_cast<const char*>(from);
  while (n > 0) {
    const ssize_t put = ::write(fd_, p, static_cast<size_t>(n));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_io("write", path_);
    p += put;
    n -= put;
  }
}

void AtomicFile::commit() {
  if (fsync(fd_) != 0) fail_io("write", path_);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("write", path_);
  close(fd_);
  fd_ = -1;
  const int folder = open(split_path(path_).folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {  // so that the rename itself survives a power cut
    fsync(folder);
    close(folder);
  }
}

}  // namespace dt
