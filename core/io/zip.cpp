#include "core/io/zip.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "core/io/crc32.h"
#include "core/io/elements.h"
#include "core/io/zlib.h"

namespace dt {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr int64_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56;
constexpr int64_t kLocatorBytes = 20, kMaxComment = 0xFFFF;
constexpr uint32_t kFull32 = 0xFFFFFFFF;  // "see the zip64 field"
constexpr uint16_t kFull16 = 0xFFFF;
constexpr uint16_t kZip64Field = 1, kPaddingField = 0x4246;
constexpr int kStored = 0, kDeflated = 8;
constexpr int64_t kMostExpansion = 1032;  // no deflated byte stands for more

template <class T>
T read_as(std::string_view s, int64_t at) {
  T value;
  std::memcpy(&value, s.data() + at, sizeof value);
  return value;
}

// A number of a zip64 file is not negative as an int64, so that sums of two are no surprise.
int64_t read_size(std::string_view s, int64_t at, const std::string& what) {
  const auto n = read_as<uint64_t>(s, at);
  DT_CHECK(n < uint64_t{1} << 62, kIo, what, " claims ", n, " bytes");
  return static_cast<int64_t>(n);
}

struct Directory {
  int64_t at, bytes, count;
  int64_t end;  // where what follows it begins
};

// The zip64 record of a file whose end record lies at `end`, if there is one.
std::optional<Directory> read_end64(Input& file, int64_t end) {
  if (end < kLocatorBytes + kEnd64Bytes) return std::nullopt;
  const std::string locator = file.read_text(end - kLocatorBytes, kLocatorBytes);
  if (read_as<uint32_t>(locator, 0) != kEnd64Locator) return std::nullopt;
  const int64_t at = read_size(locator, 8, file.name());
  DT_CHECK(at <= end - kLocatorBytes - kEnd64Bytes, kIo, file.name(),
           " is a damaged zip file: its zip64 record would lie at ", at);
  const std::string record = file.read_text(at, kEnd64Bytes);
  DT_CHECK(read_as<uint32_t>(record, 0) == kEnd64, kIo, file.name(),
           " is a damaged zip file: there is no zip64 record at ", at);
  return Directory{read_size(record, 48, file.name()), read_size(record, 40, file.name()),
                   read_size(record, 32, file.name()), at};
}

// The end record is the last thing in the file but for a comment of its own.
Directory find_directory(Input& file) {
  const int64_t tail_bytes = std::min(file.size(), kEndBytes + kMaxComment);
  const std::string tail = file.read_text(file.size() - tail_bytes, tail_bytes);
  for (int64_t at = tail_bytes - kEndBytes; at >= 0; --at) {
    if (read_as<uint32_t>(tail, at) != kEnd) continue;
    if (at + kEndBytes + read_as<uint16_t>(tail, at + 20) != tail_bytes) continue;
    const int64_t end = file.size() - tail_bytes + at;
    if (const auto found = read_end64(file, end)) return *found;
    return {read_as<uint32_t>(tail, at + 16), read_as<uint32_t>(tail, at + 12),
            read_as<uint16_t>(tail, at + 10), end};
  }
  fail(Code::kIo, file.name(), " is no zip file, or is cut off: it has no directory");
}

// Takes the numbers that do not fit in 32 bits from the entry's zip64 field.
void read_zip64(std::string_view extra, ZipRecord& r, const std::string& what) {
  while (extra.size() >= 4) {
    const auto id = read_as<uint16_t>(extra, 0);
    const size_t bytes = read_as<uint16_t>(extra, 2);
    DT_CHECK(bytes <= extra.size() - 4, kIo, what, " has a damaged extra field");
    std::string_view field = extra.substr(4, bytes);
    extra.remove_prefix(4 + bytes);
    if (id != kZip64Field) continue;
    for (int64_t* number : {&r.size, &r.stored, &r.header_at}) {
      if (*number != int64_t{kFull32}) continue;
      DT_CHECK(field.size() >= 8, kIo, what, " lacks a zip64 size");
      *number = read_size(field, 0, what);
      field.remove_prefix(8);
    }
    return;
  }
}

}  // namespace

ZipReader::ZipReader(Input& file) : file_(file) {
  const Directory d = find_directory(file);
  DT_CHECK(d.at <= d.end && d.bytes <= d.end - d.at, kIo, file.name(),
           " is a damaged zip file: its directory would have ", d.bytes, " bytes at ", d.at);
  DT_CHECK(d.count <= d.bytes / kEntryBytes, kIo, file.name(), " is a damaged zip file: ", d.bytes,
           " bytes of directory are no ", d.count, " records");
  read_directory(d.at, d.bytes, d.count);
  for (const ZipRecord& r : records_) {
    const bool fresh = by_name_.emplace(r.name, &r).second;
    DT_CHECK(fresh, kIo, file.name(), " has two records called '", r.name, "'");
  }
  check_overlaps();
}

void ZipReader::read_directory(int64_t at, int64_t bytes, int64_t count) {
  const std::string all = file_.read_text(at, bytes);
  std::string_view rest = all;
  for (int64_t i = 0; i < count; ++i) {
    DT_CHECK(static_cast<int64_t>(rest.size()) >= kEntryBytes &&
                 read_as<uint32_t>(rest, 0) == kDirectoryEntry,
             kIo, file_.name(), " is a damaged zip file: entry ", i, " of its directory is none");
    const size_t name = read_as<uint16_t>(rest, 28), extra = read_as<uint16_t>(rest, 30);
    const size_t total = kEntryBytes + name + extra + read_as<uint16_t>(rest, 32);
    DT_CHECK(total <= rest.size(), kIo, file_.name(), " is a damaged zip file: entry ", i,
             " of its directory is cut off");
    ZipRecord r;
    r.name = rest.substr(kEntryBytes, name);
    check_name(r.name);
    const std::string what = text("record '", r.name, "' of ", file_.name());
    const int method = read_as<uint16_t>(rest, 10);
    DT_CHECK((read_as<uint16_t>(rest, 8) & 1) == 0, kIo, what, " is encrypted");
    DT_CHECK(method == kStored || method == kDeflated, kIo, what,
             " is compressed by a method that is not supported: ", method);
    r.deflated = method == kDeflated;
    r.crc = read_as<uint32_t>(rest, 16);
    r.stored = read_as<uint32_t>(rest, 20);
    r.size = read_as<uint32_t>(rest, 24);
    r.header_at = read_as<uint32_t>(rest, 42);
    read_zip64(rest.substr(kEntryBytes + name, extra), r, what);
    place(r, at);
    records_.push_back(std::move(r));
    rest.remove_prefix(total);
  }
}

// Finds where the record's bytes are; all records lie before `limit`.
void ZipReader::place(ZipRecord& r, int64_t limit) const {
  const std::string what = text("record '", r.name, "' of ", file_.name());
  const auto name = static_cast<int64_t>(r.name.size());
  DT_CHECK(r.header_at <= limit - kLocalBytes - name, kIo, what, " would lie at ", r.header_at);
  const std::string header = file_.read_text(r.header_at, kLocalBytes + name);
  DT_CHECK(read_as<uint32_t>(header, 0) == kLocalHeader && read_as<uint16_t>(header, 26) == name &&
               header.substr(kLocalBytes) == r.name &&
               read_as<uint16_t>(header, 8) == (r.deflated ? kDeflated : kStored),
           kIo, what, " is not what the directory says");
  r.data_at = r.header_at + kLocalBytes + name + read_as<uint16_t>(header, 28);
  DT_CHECK(r.data_at <= limit && r.stored <= limit - r.data_at, kIo, what, " claims ", r.stored,
           " bytes at ", r.data_at, ", but only ", limit, " come before the directory");
  DT_CHECK(r.deflated ? r.size / kMostExpansion <= r.stored : r.size == r.stored, kIo, what,
           " claims ", r.size, " bytes in ", r.stored);
}

void ZipReader::check_overlaps() const {
  std::vector<const ZipRecord*> by_place;
  for (const ZipRecord& r : records_) by_place.push_back(&r);
  std::sort(by_place.begin(), by_place.end(),
            [](const ZipRecord* a, const ZipRecord* b) { return a->header_at < b->header_at; });
  for (size_t i = 1; i < by_place.size(); ++i) {
    const ZipRecord &a = *by_place[i - 1], &b = *by_place[i];
    DT_CHECK(a.data_at + a.stored <= b.header_at, kIo, "records '", a.name, "' and '", b.name,
             "' of ", file_.name(), " overlap");
  }
}

const ZipRecord* ZipReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void ZipReader::read(const ZipRecord& r, void* to) const {
  if (r.deflated) {
    const std::string packed = file_.read_text(r.data_at, r.stored);
    DT_CHECK(inflate(packed.data(), r.stored, to, r.size), kIo, "record '", r.name, "' of ",
             file_.name(), " is damaged");
  } else {
    file_.read(r.data_at, to, r.size);
  }
  DT_CHECK(crc32(0, to, r.size) == r.crc, kIo, "record '", r.name, "' of ", file_.name(),
           " is damaged: its checksum is wrong");
}

std::string ZipReader::read_text(const ZipRecord& record) const {
  std::string content(static_cast<size_t>(record.size), '\0');
  read(record, content.data());
  return content;
}

// ---- writing

namespace {

constexpr uint16_t kVersion = 45;         // that has zip64
constexpr uint16_t kUtf8 = 1 << 11;       // what names are in
constexpr uint32_t kDate = 0x0021 << 16;  // 1980-01-01: equal content makes equal files

uint32_t short_size(int64_t n) {
  return n < int64_t{kFull32} ? static_cast<uint32_t>(n) : kFull32;
}

// What the local header and the directory's entry have in common.
std::string common_header(const ZipRecord& r, bool wide, int64_t extra) {
  std::string s;
  append_number(s, kVersion);
  append_number(s, kUtf8);
  append_number(s, uint16_t{kStored});
  append_number(s, kDate);
  append_number(s, r.crc);
  append_number(s, wide ? kFull32 : static_cast<uint32_t>(r.size));
  append_number(s, wide ? kFull32 : static_cast<uint32_t>(r.size));
  append_number(s, static_cast<uint16_t>(r.name.size()));
  append_number(s, static_cast<uint16_t>(extra));
  return s;
}

std::string directory_entry(const ZipRecord& r) {
  const bool wide = r.size >= int64_t{kFull32}, far = r.header_at >= int64_t{kFull32};
  std::string extra;
  if (wide || far) {
    append_number(extra, kZip64Field);
    append_number(extra, static_cast<uint16_t>(16 * wide + 8 * far));
    if (wide) append_number(extra, r.size), append_number(extra, r.size);
    if (far) append_number(extra, r.header_at);
  }
  std::string s;
  append_number(s, kDirectoryEntry);
  append_number(s, kVersion);
  s += common_header(r, wide, static_cast<int64_t>(extra.size()));
  s.append(10, '\0');  // no comment, no second disk, no attributes
  append_number(s, short_size(r.header_at));
  return s + r.name + extra;
}

}  // namespace

void ZipWriter::put(const std::string& bytes) {
  write(bytes.data(), static_cast<int64_t>(bytes.size()));
}

void ZipWriter::write(const void* from, int64_t n) {
  out_.write(from, n);
  at_ += n;
}

void ZipWriter::begin(const std::string& name, int64_t size, uint32_t crc) {
  DT_CHECK(name.size() < kFull16, kValueError, "the name of a record has ", name.size(), " bytes");
  ZipRecord r;
  r.name = name;
  r.size = r.stored = size;
  r.crc = crc;
  r.header_at = at_;
  const bool wide = size >= int64_t{kFull32};
  std::string extra;
  if (wide) {
    append_number(extra, kZip64Field);
    append_number(extra, uint16_t{16});
    append_number(extra, size);
    append_number(extra, size);
  }
  constexpr int64_t kFieldHeader = 4;
  const auto before = static_cast<int64_t>(name.size() + extra.size()) + kLocalBytes + kFieldHeader;
  const int64_t padding = (kRecordAlignment - (at_ + before) % kRecordAlignment) % kRecordAlignment;
  append_number(extra, kPaddingField);
  append_number(extra, static_cast<uint16_t>(padding));
  extra.append(static_cast<size_t>(padding), '\0');
  std::string header;
  append_number(header, kLocalHeader);
  header += common_header(r, wide, static_cast<int64_t>(extra.size()));
  put(header + name + extra);
  records_.push_back(std::move(r));
}

void ZipWriter::add(const std::string& name, std::string_view content) {
  const auto n = static_cast<int64_t>(content.size());
  begin(name, n, crc32(0, content.data(), n));
  write(content.data(), n);
}

void ZipWriter::finish() {
  const int64_t directory_at = at_;
  for (const ZipRecord& r : records_) put(directory_entry(r));
  const int64_t bytes = at_ - directory_at, end64_at = at_;
  const auto count = static_cast<int64_t>(records_.size());
  std::string s;
  if (directory_at >= int64_t{kFull32} || bytes >= int64_t{kFull32} || count >= kFull16) {
    append_number(s, kEnd64);
    append_number(s, kEnd64Bytes - 12);
    append_number(s, kVersion);
    append_number(s, kVersion);
    s.append(8, '\0');  // one disk
    for (const int64_t n : {count, count, bytes, directory_at}) append_number(s, n);
    append_number(s, kEnd64Locator);
    append_number(s, uint32_t{0});
    append_number(s, end64_at);
    append_number(s, uint32_t{1});
  }
  append_number(s, kEnd);
  append_number(s, uint32_t{0});
  for (int i = 0; i < 2; ++i)
    append_number(s, static_cast<uint16_t>(std::min<int64_t>(count, kFull16)));
  append_number(s, short_size(bytes));
  append_number(s, short_size(directory_at));
  append_number(s, uint16_t{0});  // no comment
  put(s);
}

}  // namespace dt
