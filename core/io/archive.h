// Archives: zip files of named records, each a tensor of bytes.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "core/base/bytes.h"
#include "core/io/zip.h"
#include "core/tensor/tensor.h"

namespace dt {

// All records as uint8 tensors, in the order of the file. With `mmap`, those that are not
// compressed look at the file: they are read when they are used, and not compared with their
// checksums.
std::tuple<std::vector<std::string>, std::vector<Tensor>> load_archive(const std::string& path,
                                                                       bool mmap = false);
std::tuple<std::vector<std::string>, std::vector<Tensor>> load_archive_bytes(Bytes data);

// Writes the elements of each tensor, row-major, as a record.
void save_archive(const std::string& path, const std::vector<std::string>& names,
                  TensorList records);
// The archive itself as a uint8 tensor.
Tensor archive_bytes(const std::vector<std::string>& names, TensorList records);

// What save_archive does with each.
void write_record(ZipWriter& zip, const std::string& name, const Tensor& record);

}  // namespace dt
