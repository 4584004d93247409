#include "core/io/archive.h"

#include <cstring>
#include <memory>
#include <set>

#include "core/io/crc32.h"
#include "core/io/elements.h"
#include "core/io/json.h"

namespace dt {
namespace {

Tensor bytes_at(const Ref<Storage>& memory, int64_t bytes) {
  return Tensor(Ref<TensorImpl>::adopt(new TensorImpl(memory, 0, {bytes}, {1}, kByteDType)));
}

// A part of a file in memory, which stays there as long as any of its parts does.
Tensor part_of(const Ref<Storage>& file, const ZipRecord& r) {
  auto whole = std::make_unique<Ref<Storage>>(file);
  const auto drop = [](void* context) { delete static_cast<Ref<Storage>*>(context); };
  void* const data = static_cast<char*>(file->data()) + r.data_at;
  return bytes_at(Storage::wrap(data, r.size, kCpu, drop, whole.release()), r.size);
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> read_records(Input& file,
                                                                       const Ref<Storage>& mapped) {
  const ZipReader zip(file);
  std::vector<std::string> names;
  std::vector<Tensor> records;
  for (const ZipRecord& r : zip.records()) {
    names.push_back(r.name);
    if (mapped && !r.deflated && r.size > 0 && r.data_at % kRecordAlignment == 0) {
      records.push_back(part_of(mapped, r));
    } else {
      records.push_back(make_empty({r.size}, kByteDType, kCpu));
      zip.read(r, records.back().data());
    }
  }
  return {std::move(names), std::move(records)};
}

void write_records(Output& out, const std::vector<std::string>& names, TensorList records) {
  ZipWriter zip(out);
  for (size_t i = 0; i < names.size(); ++i)
    write_record(zip, names[i], records[static_cast<int64_t>(i)]);
  zip.finish();
}

void check_records(const std::vector<std::string>& names, TensorList records) {
  DT_CHECK(static_cast<int64_t>(names.size()) == records.size(), kValueError, "got ", names.size(),
           " names and ", records.size(), " records");
  std::set<std::string> seen;
  for (const std::string& name : names) {
    DT_CHECK(seen.insert(name).second, kValueError, "the name '", name, "' appears twice");
    DT_CHECK(is_utf8(name), kValueError, "the name of a record is no text in UTF-8");
  }
}

// Counts what is written.
struct Measure : Output {
  int64_t bytes = 0;
  void write(const void*, int64_t n) override { bytes += n; }
};

// Memory that is large enough.
struct Memory : Output {
  explicit Memory(void* to) : at(static_cast<char*>(to)) {}
  char* at;
  void write(const void* from, int64_t n) override {
    if (n) std::memcpy(at, from, static_cast<size_t>(n));
    at += n;
  }
};

}  // namespace

void write_record(ZipWriter& zip, const std::string& name, const Tensor& record) {
  const Tensor x = plain(record);
  zip.begin(name, bytes_of(x), crc32(0, x.data(), bytes_of(x)));
  zip.write(x.data(), bytes_of(x));
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> load_archive(const std::string& path,
                                                                       bool mmap) {
  InputFile file(path);
  return read_records(file, mmap ? file.map() : Ref<Storage>());
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> load_archive_bytes(Bytes data) {
  InputMemory memory(data);
  return read_records(memory, nullptr);
}

void save_archive(const std::string& path, const std::vector<std::string>& names,
                  TensorList records) {
  check_records(names, records);
  AtomicFile file(path);
  write_records(file, names, records);
  file.commit();
}

Tensor archive_bytes(const std::vector<std::string>& names, TensorList records) {
  check_records(names, records);
  Measure measure;
  write_records(measure, names, records);
  const Tensor out = make_empty({measure.bytes}, kByteDType, kCpu);
  Memory memory(out.data());
  write_records(memory, names, records);
  return out;
}

}  // namespace dt
