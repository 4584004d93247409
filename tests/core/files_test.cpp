// Damaged files of every format, by the thousand: each gives an error, or something that can be
// used. The sanitizers watch.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/io/archive.h"
#include "core/io/checkpoint.h"
#include "core/io/csv.h"
#include "core/io/elements.h"
#include "core/io/npy.h"
#include "core/io/pickle.h"
#include "core/io/safetensors.h"
#include "core/ops/ops.h"

namespace dt::test {
namespace {

constexpr int kMutations = 3000;  // of each file

std::string folder;

std::string path_of(const char* name) {
  return folder + "/" + name;
}

std::string read(const std::string& path) {
  InputFile file(path);
  return file.read_text(0, file.size());
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Changes a few bytes, or leaves some out, or doubles some, or ends early.
std::string damaged(std::string s, std::mt19937& chance) {
  for (unsigned k = 1 + chance() % 3; k > 0 && !s.empty(); --k) {
    const size_t at = chance() % s.size();
    switch (chance() % 6) {
      case 0:
        s[at] = static_cast<char>(chance());
        break;
      case 1:
        s[at] = static_cast<char>(s[at] ^ 1 << chance() % 8);
        break;
      case 2:
        s.replace(at, 4, chance() % 2 ? "\xFF\xFF\xFF\xFF" : "\xFF\xFF\xFF\x7F");
        break;
      case 3:
        s.erase(at, 1 + chance() % 8);
        break;
      case 4:
        s.insert(at, s.substr(at, 1 + chance() % 16));
        break;
      default:
        s.resize(at);
    }
  }
  return s;
}

void use(const std::vector<Tensor>& tensors) {
  for (const Tensor& x : tensors) {
    if (x.numel() < 1 << 20) clone(x);
  }
}

bool fails = false;

void fuzz(const char* name, const std::string& good, unsigned seed,
          const std::function<void(const std::string&)>& reader) {
  std::mt19937 chance(seed);
  int refused = 0;
  reader(good);
  for (int i = 0; i < kMutations; ++i) {
    try {
      reader(damaged(good, chance));
    } catch (const Error&) {
      ++refused;
    }
  }
  std::printf("%s: %d of %d refused\n", name, refused, kMutations);
  fails |= refused < kMutations / 10;
}

// A reader of files that gets what would be in them.
std::function<void(const std::string&)> from_path(
    const std::function<void(const std::string&)>& f) {
  return [f](const std::string& content) {
    write(path_of("fuzzed"), content);
    f(path_of("fuzzed"));
  };
}

void run() {
  const Tensor x = arange(0, 6, 1, kDTypeOf<float>), y = view(x, {2, 3});
  const std::vector<Tensor> tensors{x, transpose(y, 0, 1), ones({2}, kMaskDType)};
  const std::vector<std::string> names{"a", "b.c", "d"};
  const std::string path = path_of("good");

  save_checkpoint(path, names, tensors);
  const auto checkpoint = [](const std::string& p) { use(std::get<1>(load_checkpoint(p))); };
  fuzz("checkpoint", read(path), 1, from_path(checkpoint));
  const auto records = std::get<1>(load_archive(path));
  fuzz("archive in memory", read(path), 2, [](const std::string& s) {
    use(std::get<1>(load_archive_bytes({s.data(), static_cast<int64_t>(s.size())})));
  });
  fuzz("mapped archive", read(path), 3,
       from_path([](const std::string& p) { use(std::get<1>(load_archive(p, true))); }));
  // The checksum of what is damaged is right, so that the reader of pickles sees it.
  const std::string pickle(records[0].data_as<char>(), static_cast<size_t>(records[0].numel()));
  fuzz("pickle", pickle, 4, [](const std::string& s) { read_state_dict(s, "it"); });
  fuzz("checkpoint with a damaged pickle", pickle, 5, [&](const std::string& s) {
    const Tensor bytes = make_empty({static_cast<int64_t>(s.size())}, kByteDType, kCpu);
    std::copy(s.begin(), s.end(), bytes.data_as<char>());
    save_archive(path_of("fuzzed"), {"archive/data.pkl", "archive/data/0", "archive/data/1"},
                 std::vector<Tensor>{bytes, x, tensors[2]});
    checkpoint(path_of("fuzzed"));
  });

  save_npy(path, y);
  fuzz("npy", read(path), 6, from_path([](const std::string& p) { use({load_npy(p)}); }));
  save_npz(path, names, tensors);
  fuzz("npz", read(path), 7,
       from_path([](const std::string& p) { use(std::get<1>(load_npz(p))); }));
  save_safetensors(path, names, tensors);
  fuzz("safetensors", read(path), 8,
       from_path([](const std::string& p) { use(std::get<1>(load_safetensors(p))); }));
  const std::string table = "a,\"b\",c\n1,2.5,x\n-3e5,\"4\",\"y\"\"\n\"\n,1234567890.125,z\n";
  for (const bool one_hot : {false, true}) {
    const std::vector<std::string> words{"c"};
    fuzz(
        "csv", table, 9, from_path([&](const std::string& p) {
          use({std::get<0>(read_csv(p, std::nullopt, ",", true, words, one_hot, DType::kDefault))});
        }));
  }
}

}  // namespace
}  // namespace dt::test

int main() {
  // In memory where the system has that: waiting for a disk, thousands of times, would be most of
  // the test.
  char in_memory[] = "/dev/shm/dt_files_test_XXXXXX", on_disk[] = P_tmpdir "/dt_files_test_XXXXXX";
  const char* const name = mkdtemp(in_memory) ? in_memory : mkdtemp(on_disk);
  if (!name) return 1;
  dt::test::folder = name;
  dt::test::run();
  std::remove(dt::test::path_of("fuzzed").c_str());
  std::remove(dt::test::path_of("good").c_str());
  std::remove(name);
  return dt::test::fails;
}
