#include "core/io/checkpoint.h"

#include <map>
#include <set>

#include "core/io/archive.h"
#include "core/io/crc32.h"
#include "core/io/elements.h"
#include "core/io/json.h"
#include "core/io/pickle.h"
#include "core/io/zip.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

constexpr int64_t kMaxPickle = 100 << 20;
constexpr std::string_view kPickle = "data.pkl";

// A checkpoint whose pickle is read and whose storages are not.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::string& path) : file_(path), zip_(file_) {
    DT_CHECK(!zip_.records().empty(), kIo, file_.name(), " is no checkpoint: it is empty");
    const std::string& first = zip_.records().front().name;
    folder_ = first.substr(0, first.find('/') + 1);
    const ZipRecord* pickle = zip_.find(text(folder_, kPickle));
    DT_CHECK(pickle && pickle->size <= kMaxPickle, kIo, file_.name(),
             " is no checkpoint of PyTorch's: it has no data.pkl");
    const ZipRecord* order = zip_.find(folder_ + "byteorder");
    DT_CHECK(!order || (order->size <= 16 && zip_.read_text(*order) == "little"), kNotImplemented,
             file_.name(), " was written by a processor with another order of bytes");
    entries_ = read_state_dict(zip_.read_text(*pickle), file_.name());
  }

  const std::string& name() const { return file_.name(); }
  const std::vector<NamedPickle>& entries() const { return entries_; }

  const ZipRecord& record_of(const PickledTensor& t) const {
    const ZipRecord* record = zip_.find(text(folder_, "data/", t.storage));
    DT_CHECK(record, kIo, file_.name(), " has no record for storage '", t.storage, "'");
    int64_t bytes = 0;
    const bool overflow = __builtin_mul_overflow(t.storage_numel, info(t.dtype).bytes, &bytes);
    DT_CHECK(!overflow && t.storage_numel >= 0 && bytes == record->size, kIo, "storage '",
             t.storage, "' of ", file_.name(), " should have ", t.storage_numel, " elements of ",
             t.dtype, ", but has ", record->size, " bytes");
    return *record;
  }

  // All elements of the tensor's storage. Each is read once.
  Tensor storage_of(const PickledTensor& t, Meter& meter) {
    const ZipRecord& record = record_of(t);
    Tensor& storage = storages_[t.storage];
    if (!storage.defined()) {
      const Tensor fresh = make_empty({t.storage_numel}, t.dtype, kCpu);
      zip_.read(record, fresh.data());
      meter.run(record.size, [](int64_t, int64_t) {});
      check_bools(fresh, t.storage);
      storage = fresh;
    }
    DT_CHECK(storage.dtype() == t.dtype, kIo, "storage '", t.storage, "' of ", file_.name(),
             " is said to be of ", t.dtype, " and of ", storage.dtype());
    return storage;
  }

 private:
  InputFile file_;
  ZipReader zip_;
  std::string folder_;
  std::vector<NamedPickle> entries_;
  std::map<std::string, Tensor> storages_;
};

std::vector<NamedPickle> chosen(const CheckpointReader& file,
                                const std::vector<std::string>& names) {
  std::map<std::string_view, const NamedPickle*> by_name;
  for (const NamedPickle& e : file.entries()) by_name[e.name] = &e;
  std::vector<NamedPickle> out;
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    DT_CHECK(found != by_name.end(), kIndexError, file.name(), " does not contain tensor '", name,
             "'");
    out.push_back(*found->second);
  }
  return out;
}

// How many bytes of storages there are to read.
int64_t total_bytes(const CheckpointReader& file, const std::vector<NamedPickle>& entries) {
  std::set<std::string_view> seen;
  int64_t total = 0;
  for (const NamedPickle& e : entries) {
    if (seen.insert(e.tensor.storage).second) total += file.record_of(e.tensor).size;
  }
  return total;
}

Tensor view_of(const Tensor& storage, const NamedPickle& e) {
  const PickledTensor& t = e.tensor;
  try {
    const Tensor x = as_strided(storage, t.sizes, t.strides, t.offset).detach();
    if (t.requires_grad) x.set_requires_grad(true);
    return x;
  } catch (const Error& error) {
    fail(Code::kIo, "tensor '", e.name, "': ", error.what());
  }
}

// The storage as a tensor of one dimension.
Tensor whole_storage(const Tensor& x) {
  return make_alias(x, {x.storage()->bytes() / x.item_bytes()}, {1}, 0);
}

PickledTensor description(const Tensor& x, const std::string& storage) {
  PickledTensor t;
  t.storage = storage;
  t.dtype = x.dtype();
  t.storage_numel = x.storage()->bytes() / x.item_bytes();
  t.offset = x.offset();
  t.sizes = x.sizes();
  t.strides = x.strides();
  t.requires_grad = x.requires_grad();
  return t;
}

}  // namespace

void save_checkpoint(const std::string& path, const std::vector<std::string>& names,
                     TensorList tensors, const Progress& progress) {
  DT_CHECK(static_cast<int64_t>(names.size()) == tensors.size(), kValueError, "got ", names.size(),
           " names and ", tensors.size(), " tensors");
  std::vector<NamedPickle> entries;
  std::vector<Tensor> storages;  // the progress function may give a tensor other data
  std::map<const Storage*, size_t> numbers;
  std::set<std::string> seen;
  int64_t total = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor& x = tensors[static_cast<int64_t>(i)];
    DT_CHECK(seen.insert(names[i]).second, kValueError, "the name '", names[i], "' appears twice");
    DT_CHECK(is_utf8(names[i]), kValueError, "the name of a tensor is no text in UTF-8");
    const auto [place, fresh] = numbers.emplace(x.storage().get(), storages.size());
    if (fresh) {
      storages.push_back(whole_storage(x));
      total += bytes_of(storages.back());
    }
    DT_CHECK(storages[place->second].dtype() == x.dtype(), kRuntimeError,
             "Cannot save multiple tensors or storages that view the same data as different types");
    entries.push_back({names[i], description(x, text(place->second))});
  }
  AtomicFile file(path);
  ZipWriter zip(file);
  zip.add("archive/data.pkl", write_state_dict(entries));
  zip.add("archive/byteorder", "little");
  Meter meter(progress, total);
  for (size_t i = 0; i < storages.size(); ++i) {
    write_record(zip, text("archive/data/", i), storages[i]);
    meter.run(bytes_of(storages[i]), [](int64_t, int64_t) {});
  }
  zip.add("archive/version", "3\n");
  zip.finish();
  file.commit();
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> load_checkpoint(
    const std::string& path, const std::optional<std::vector<std::string>>& only,
    const Progress& progress) {
  CheckpointReader file(path);
  const std::vector<NamedPickle> entries = only ? chosen(file, *only) : file.entries();
  Meter meter(progress, total_bytes(file, entries));
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  for (const NamedPickle& e : entries) {
    names.push_back(e.name);
    tensors.push_back(view_of(file.storage_of(e.tensor, meter), e));
  }
  return {std::move(names), std::move(tensors)};
}

std::vector<std::string> checkpoint_names(const std::string& path) {
  std::vector<std::string> names;
  const CheckpointReader file(path);
  for (const NamedPickle& e : file.entries()) names.push_back(e.name);
  return names;
}

}  // namespace dt
