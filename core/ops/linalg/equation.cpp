#include "core/ops/linalg/equation.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "core/base/error.h"

namespace dt {
namespace {

constexpr char kDots = '.';  // an ellipsis, among letters

// The subscripts of one operand or of the result: letters, and kDots for an ellipsis.
using Subscripts = std::string;

// Goes through the equation's characters; spaces do not count.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  // Subscripts up to a comma, an arrow or the end. `who` is whose they are.
  Subscripts subscripts(const std::string& who, bool is_output) {
    Subscripts found;
    for (; !at_end() && (is_output || (text_[at_] != ',' && !at_arrow())); ++at_) {
      const char c = text_[at_];
      if (c == ' ') continue;
      if (c == kDots) {
        check_dots(found, who, is_output);
        at_ += 2;
      } else {
        DT_CHECK(std::isalpha(static_cast<unsigned char>(c)), kRuntimeError,
                 "einsum(): invalid subscript given at index ", static_cast<int64_t>(at_),
                 " in the equation string, subscripts must be in [a-zA-Z]");
      }
      found += c;
    }
    return found;
  }

  bool take_comma() { return !at_end() && text_[at_] == ',' && ++at_; }
  bool take_arrow() { return at_arrow() && (at_ += 2); }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  bool at_arrow() const { return text_.compare(at_, 2, "->") == 0; }

  void check_dots(const Subscripts& before, const std::string& who, bool is_output) const {
    const char* all = is_output ? " (...)" : "";
    const bool is_first = before.find(kDots) == std::string::npos;
    if (is_output) {
      DT_CHECK(is_first, kRuntimeError, "einsum(): found '.' for ", who,
               " but an ellipsis (...) was already found");
    } else {
      DT_CHECK(is_first, kRuntimeError, "einsum(): found '.' for ", who,
               " for which an ellipsis was already found");
    }
    DT_CHECK(text_.compare(at_, 3, "...") == 0, kRuntimeError, "einsum(): found '.' for ", who,
             " that is not part of any ellipsis", all);
  }

  const std::string& text_;
  size_t at_ = 0;
};

// A letter for each dimension; the ellipsis stands for those that the letters leave over.
Dims labels_of(const Subscripts& subscripts, int64_t ellipsis_dims) {
  Dims labels;
  for (char c : subscripts) {
    if (c != kDots) {
      labels.push_back(c);
      continue;
    }
    for (int64_t d = ellipsis_dims; d > 0; --d) labels.push_back(-d);
  }
  return labels;
}

int64_t ellipsis_dims(const Subscripts& subscripts, const Tensor& x, int64_t operand) {
  const bool has_ellipsis = subscripts.find(kDots) != std::string::npos;
  const int64_t letters = static_cast<int64_t>(subscripts.size()) - has_ellipsis;
  if (has_ellipsis) {
    DT_CHECK(letters <= x.ndim(), kRuntimeError,
             "einsum(): the number of subscripts in the equation (", letters,
             ") is more than the number of dimensions (", x.ndim(), ") for operand ", operand);
  } else {
    DT_CHECK(letters == x.ndim(), kRuntimeError,
             "einsum(): the number of subscripts in the equation (", letters,
             ") does not match the number of dimensions (", x.ndim(), ") for operand ", operand,
             " and no ellipsis was given");
  }
  return x.ndim() - letters;
}

// What is known of a label's size; 1 broadcasts, but not beside itself in one operand.
void check_sizes(const Dims& labels, const Tensor& x, int64_t operand,
                 std::map<int64_t, int64_t>* seen) {
  std::map<int64_t, int64_t> own;
  for (int d = 0; d < labels.size(); ++d) {
    const int64_t label = labels[d], size = x.sizes()[d];
    const auto [it, is_new] = own.emplace(label, size);
    DT_CHECK(is_new || it->second == size, kRuntimeError, "einsum(): subscript ",
             std::string(1, static_cast<char>(label)), " is repeated for operand ", operand,
             " but the sizes don't match, ", size, " != ", it->second);
    int64_t& known = seen->emplace(label, size).first->second;
    const bool fits = size == known || size == 1 || known == 1;
    if (label > 0) {
      DT_CHECK(fits, kRuntimeError, "einsum(): subscript ",
               std::string(1, static_cast<char>(label)), " has size ", size, " for operand ",
               operand, " which does not broadcast with previously seen size ", known);
    } else {
      DT_CHECK(fits, kRuntimeError, "einsum(): dimension ", d, " covered by ellipsis in operand ",
               operand, "has size ", size,
               " which does not broadcast with previously seen ellipsis with size ", known,
               " for the respective dimension");
    }
    if (known == 1) known = size;
  }
}

// Without an arrow: the ellipsis, then the letters that stand once, in order.
Subscripts implied_output(const std::vector<Subscripts>& inputs) {
  std::map<char, int> times;
  for (const Subscripts& input : inputs) {
    for (char c : input) ++times[c];
  }
  Subscripts output;
  if (times.count(kDots)) output += kDots;
  for (const auto& [c, n] : times) {
    if (c != kDots && n == 1) output += c;
  }
  return output;
}

void check_output(const Subscripts& output, const std::map<int64_t, int64_t>& seen) {
  for (size_t i = 0; i < output.size(); ++i) {
    if (output[i] == kDots) continue;
    const std::string letter(1, output[i]);
    DT_CHECK(output.find(output[i]) == i, kRuntimeError, "einsum(): output subscript ", letter,
             " appears more than once in the output");
    DT_CHECK(seen.count(output[i]), kRuntimeError, "einsum(): output subscript ", letter,
             " does not appear in the equation for any input operand");
  }
}

}  // namespace

Equation read_equation(const std::string& equation, TensorList operands) {
  DT_CHECK(!operands.empty(), kRuntimeError, "einsum(): must provide at least one operand");
  Reader reader(equation);
  std::vector<Subscripts> inputs;
  do {
    inputs.push_back(reader.subscripts(text("operand ", int64_t(inputs.size())), false));
  } while (reader.take_comma());
  const std::optional<Subscripts> output =
      reader.take_arrow() ? std::optional(reader.subscripts("output", true)) : std::nullopt;
  const int64_t given = operands.size(), wanted = static_cast<int64_t>(inputs.size());
  DT_CHECK(given >= wanted, kRuntimeError,
           "einsum(): fewer operands were provided than specified in the equation");
  DT_CHECK(given <= wanted, kRuntimeError,
           "einsum(): more operands were provided than specified in the equation");
  Equation e;
  std::map<int64_t, int64_t> seen;
  int64_t widest = 0;  // ellipsis
  for (int64_t i = 0; i < wanted; ++i) {
    const int64_t dims = ellipsis_dims(inputs[i], operands[i], i);
    widest = std::max(widest, dims);
    e.inputs.push_back(labels_of(inputs[i], dims));
    check_sizes(e.inputs.back(), operands[i], i, &seen);
  }
  const Subscripts subscripts = output ? *output : implied_output(inputs);
  check_output(subscripts, seen);
  e.output = labels_of(subscripts, widest);
  return e;
}

}  // namespace dt
