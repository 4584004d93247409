// Zip files (PKWARE's APPNOTE.TXT), with zip64: what PyTorch's checkpoints and NumPy's .npz are.
// Files are hostile: everything is checked first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/file.h"

namespace dt {

// Where the content of a written record begins: tensors can look at it in a file that is mapped.
constexpr int64_t kRecordAlignment = 64;

struct ZipRecord {
  std::string name;
  int64_t size = 0;     // of its content
  int64_t stored = 0;   // bytes in the file
  int64_t data_at = 0;  // where these begin
  int64_t header_at = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

class ZipReader {
 public:
  // `file` must outlive the reader.
  explicit ZipReader(Input& file);

  const std::vector<ZipRecord>& records() const { return records_; }
  // Null if there is no record of that name.
  const ZipRecord* find(std::string_view name) const;
  // The whole content, which must agree with its checksum.
  void read(const ZipRecord& record, void* to) const;
  std::string read_text(const ZipRecord& record) const;

 private:
  void read_directory(int64_t at, int64_t bytes, int64_t count);
  void place(ZipRecord& record, int64_t limit) const;
  void check_overlaps() const;

  Input& file_;
  std::vector<ZipRecord> records_;
  std::map<std::string_view, const ZipRecord*> by_name_;
};

// Writes records one after the other, uncompressed, each at a multiple of kRecordAlignment bytes.
class ZipWriter {
 public:
  explicit ZipWriter(Output& out) : out_(out) {}

  // A record's content may come in pieces: its size and checksum stand before it.
  void begin(const std::string& name, int64_t size, uint32_t crc);
  void write(const void* from, int64_t n);
  void add(const std::string& name, std::string_view content);
  // The directory. Nothing may be written after it.
  void finish();

 private:
  void put(const std::string& bytes);

  Output& out_;
  int64_t at_ = 0;
  std::vector<ZipRecord> records_;
};

}  // namespace dt
