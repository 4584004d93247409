#include "core/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/base/error.h"

namespace dt {
namespace {

[[noreturn]] void fail_io(const char* what, const std::string& path) {
  const int error = errno;
  fail(Code::kIo, "cannot ", what, " '", path, "': ", std::strerror(error));
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The file that a chain of links leads to: a link is not replaced, what it stands for is.
std::string behind_links(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (!real) return path;  // nothing is there yet
  const std::string result = real;
  std::free(real);
  return result;
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
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

void InputFile::read(int64_t offset, void* to, int64_t n) {
  DT_CHECK(offset >= 0 && n >= 0 && offset <= size_ - n, kIo, "'", path_, "' is too short: ", n,
           " bytes at ", offset, " were expected, the file has ", size_);
  auto* p = static_cast<char*>(to);
  while (n > 0) {
    const ssize_t got = pread(fd_, p, static_cast<size_t>(n), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io("read", path_);
    DT_CHECK(got > 0, kIo, "'", path_, "' became shorter while it was read");
    p += got;
    n -= got;
    offset += got;
  }
}

AtomicFile::AtomicFile(const std::string& path) : path_(behind_links(path)) {
  struct stat old;
  const bool replaces = stat(path_.c_str(), &old) == 0;
  DT_CHECK(!replaces || S_ISREG(old.st_mode), kIo, "cannot write '", path,
           "': ", S_ISDIR(old.st_mode) ? "it is a folder" : "it is not a regular file");
  const std::string pattern = path_ + ".tmp-XXXXXX";
  std::vector<char> name(pattern.begin(), pattern.end());
  name.push_back('\0');
  fd_ = mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) fail_io("write", path);
  temporary_ = name.data();
  // mkostemp makes the file private; give it the permissions that an ordinary new file has, or
  // those of the old one.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(fd_, replaces ? old.st_mode & 07777 : 0666 & ~mask);
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
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {  // so that the rename itself survives a power cut
    fsync(folder);
    close(folder);
  }
}

}  // namespace dt
