#include "capi/shim/subscript.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/views.gen.h"

namespace dt::capi {
namespace {

struct Item {
  enum Kind { kPlace, kSlice, kRest, kNewDim, kTensor };
  Kind kind;
  int64_t dims;                     // how many of the tensor's dimensions it stands for
  std::optional<int64_t> bound[3];  // the place, or start, stop and step
  Tensor tensor = {};
};

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// The number that text begins with, if it does; it is taken off.
std::optional<int64_t> take_number(std::string_view* s) {
  int64_t value;
  const auto [end, error] = std::from_chars(s->data(), s->data() + s->size(), value);
  if (error != std::errc()) return std::nullopt;
  *s = trim(s->substr(static_cast<size_t>(end - s->data())));
  return value;
}

// "2" or "1:3": up to three numbers between colons, each of which may be missing.
Item read_numbers(std::string_view text) {
  Item item{Item::kPlace, 1, {}};
  std::string_view rest = text;
  item.bound[0] = take_number(&rest);
  for (int i = 1; i < 3 && !rest.empty() && rest.front() == ':'; ++i) {
    item.kind = Item::kSlice;
    rest = trim(rest.substr(1));
    item.bound[i] = take_number(&rest);
  }
  DT_CHECK(rest.empty() && (item.kind == Item::kSlice || item.bound[0]), kValueError, "'",
           std::string(text),
           "' is no index: expected a number, start:stop:step, ..., None, or ? for a tensor");
  DT_CHECK(item.bound[2].value_or(1) > 0, kValueError, "step must be greater than zero");
  return item;
}

// A mask stands for as many dimensions as it has; a tensor of one integer is a place.
Item read_tensor(const Tensor& tensor) {
  if (tensor.ndim() == 0 && is_index(tensor.dtype()))
    return {Item::kPlace, 1, {item(tensor).to_int64()}};
  return {Item::kTensor, is_mask(tensor.dtype()) ? tensor.ndim() : 1, {}, tensor};
}

std::vector<Item> read_items(std::string_view text, TensorList tensors) {
  std::vector<Item> items;
  int64_t used = 0;
  int rests = 0;
  for (bool more = !trim(text).empty(); more;) {
    const size_t comma = text.find(',');
    const std::string_view part = trim(text.substr(0, comma));
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : text.size());
    if (part == "...") {
      items.push_back({Item::kRest, 0, {}});
      ++rests;
    } else if (part == "None") {
      items.push_back({Item::kNewDim, 0, {}});
    } else if (part == "?") {
      DT_CHECK(used < tensors.size(), kValueError, "the index asks for more tensors than the ",
               tensors.size(), " given");
      items.push_back(read_tensor(tensors[used++]));
    } else {
      items.push_back(read_numbers(part));
    }
  }
  DT_CHECK(used == tensors.size(), kValueError, "the index asks for ", used, " of the ",
           tensors.size(), " tensors");
  DT_CHECK(rests <= 1, kIndexError, "an index can only have a single ellipsis ('...')");
  return items;
}

// The view that the plain items make, and the tensors for what is left: at the dimensions that they
// replace, undefined elsewhere.
struct Indexed {
  Tensor view;
  std::vector<Tensor> tensors = {};
  bool has_tensors = false;
  int64_t dim = 0;  // the view's dimension that the next item is for

  void skip(int64_t dims) {
    dim += dims;
    tensors.resize(tensors.size() + static_cast<size_t>(dims));
  }

  void apply(const Item& item, int64_t left_over, int64_t position) {
    switch (item.kind) {
      case Item::kPlace: {
        const int64_t place = *item.bound[0], size = view.size(dim);
        DT_CHECK(place >= -size && place < size, kIndexError, "index ", place,
                 " is out of bounds for dimension ", position, " with size ", size);
        view = select(view, dim, place);
        return;
      }
      case Item::kSlice:
        view = slice(view, dim, item.bound[0], item.bound[1], item.bound[2].value_or(1));
        return skip(1);
      case Item::kRest:
        return skip(left_over);
      case Item::kNewDim:
        view = unsqueeze(view, dim);
        return skip(1);
      case Item::kTensor:
        tensors.push_back(item.tensor);
        dim += item.dims;
        has_tensors = true;
        return;
    }
  }
};

Indexed apply(const Tensor& input, const std::string& index, TensorList tensors) {
  const std::vector<Item> items = read_items(index, tensors);
  int64_t used = 0;
  for (const Item& item : items) used += item.dims;
  DT_CHECK(input.ndim() > 0 || used == 0, kIndexError,
           "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
           "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
  DT_CHECK(used <= input.ndim(), kIndexError, "too many indices for tensor of dimension ",
           input.ndim());
  Indexed indexed{view(input, input.sizes())};
  for (size_t i = 0; i < items.size(); ++i)
    indexed.apply(items[i], input.ndim() - used, static_cast<int64_t>(i));
  return indexed;
}

// PyTorch lets a value have more dimensions than its target if the first ones are of size 1.
Tensor without_leading_ones(const Tensor& value, int64_t ndim) {
  const IntList sizes = value.sizes();
  int64_t extra = 0;
  while (sizes.size() - extra > ndim && sizes[extra] == 1) ++extra;
  return extra ? reshape(value, {sizes.data() + extra, sizes.size() - extra}) : value;
}

}  // namespace

Tensor at(const Tensor& input, const std::string& index, TensorList tensors) {
  const Indexed x = apply(input, index, tensors);
  return x.has_tensors ? dt::index(x.view, x.tensors) : x.view;
}

const Tensor& set_at(const Tensor& input, const std::string& index, const Operand& value,
                     TensorList tensors) {
  const Indexed x = apply(input, index, tensors);
  if (x.has_tensors) {
    const Tensor values = value.is_number()
                              ? scalar_tensor(value.number(), x.view.dtype(), x.view.device())
                              : without_leading_ones(value.tensor(), 0);
    index_put_(x.view, x.tensors, values);
  } else if (value.is_number()) {
    fill_(x.view, value);
  } else {
    copy_(x.view, without_leading_ones(value.tensor(), x.view.ndim()));
  }
  return input;
}

}  // namespace dt::capi
