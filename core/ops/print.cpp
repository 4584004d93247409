#include "core/ops/print.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/autograd/node.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// In force from one call of set_print_options to the next, for all threads.
SpinLock options_lock;
PrintOptions options_in_force;

PrintOptions print_options() {
  const std::lock_guard<SpinLock> guard(options_lock);
  return options_in_force;
}

std::string formatted(const char* format, int precision, double v) {
  std::string s(std::snprintf(nullptr, 0, format, precision, v), '\0');
  std::snprintf(s.data(), s.size() + 1, format, precision, v);
  return s;
}

// How numbers are written: all in one style and one width, found from the values that will be
// shown.
class Style {
 public:
  const PrintOptions options;

  Style(const Tensor& shown, const PrintOptions& options)
      : options(options), floating_(is_floating(shown.dtype())) {
    visit_elements(shown, [&](double v) {
      if (floating_ && (!std::isfinite(v) || v == 0)) return;
      smallest_ = std::min(smallest_, std::fabs(v));
      largest_ = std::max(largest_, std::fabs(v));
      any_ = true;
      whole_ &= v == std::ceil(v);
    });
    if (!floating_ || !any_) {
      if (!floating_) visit_integers(shown, [&](const std::string& s) { widen(s.size()); });
      return;
    }
    const bool wide = largest_ / smallest_ > 1000 || largest_ > 1e8;
    scientific_ = options.sci_mode.value_or(wide || (!whole_ && smallest_ < 1e-4));
    visit_elements(shown, [&](double v) {
      if (std::isfinite(v) && v != 0) widen(number(v).size());
    });
  }

  template <class T>
  std::string operator()(T v) const {
    std::string s;
    if constexpr (kIsFloating<T>)
      s = number(static_cast<double>(v));
    else
      append(s, v);
    return std::string(width_ > s.size() ? width_ - s.size() : 0, ' ') + s;
  }
  int width() const { return static_cast<int>(width_); }

 private:
  void widen(size_t n) { width_ = std::max(width_, n); }

  std::string number(double v) const {
    if (std::isnan(v)) return "nan";
    if (scientific_) return formatted("%.*e", options.precision, v);
    if (!whole_) return formatted("%.*f", options.precision, v);
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    return formatted("%.*f.", 0, v);
  }

  template <class F>
  static void visit_elements(const Tensor& x, F f) {
    visit(x.dtype(), [&](auto type) {
      const auto* p = x.data_as<typename decltype(type)::type>();
      for (int64_t i = 0; i < x.numel(); ++i) f(static_cast<double>(p[i]));
    });
  }
  template <class F>
  static void visit_integers(const Tensor& x, F f) {
    visit(x.dtype(), [&](auto type) {
      const auto* p = x.data_as<typename decltype(type)::type>();
      using T = Widened<typename decltype(type)::type>;
      for (int64_t i = 0; i < x.numel(); ++i) f(text(static_cast<T>(p[i])));
    });
  }

  bool floating_;
  bool any_ = false, whole_ = true, scientific_ = false;
  double smallest_ = HUGE_VAL, largest_ = 0;
  size_t width_ = 1;
};

std::string element(const Tensor& x, const Style& style) {
  return visit(x.dtype(),
               [&](auto type) { return style(*x.data_as<typename decltype(type)::type>()); });
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string s;
  for (size_t i = 0; i < parts.size(); ++i) s += (i ? separator : "") + parts[i];
  return s;
}

// The positions to be shown along a dimension; -1 stands for "...".
std::vector<int64_t> positions(int64_t n, bool summarize, int64_t edge_items) {
  std::vector<int64_t> at;
  const bool gap = summarize && n > 2 * edge_items;
  for (int64_t i = 0; i < n; ++i) {
    if (gap && i == edge_items) {
      at.push_back(-1);
      i = n - edge_items;
      if (i == n) break;
    }
    at.push_back(i);
  }
  return at;
}

std::string vector_text(const Tensor& x, int indent, bool summarize, const Style& style) {
  const int per_line = std::max(1, (style.options.line_width - indent) / (style.width() + 2));
  std::vector<std::string> lines, line;
  for (int64_t i : positions(x.sizes()[0], summarize, style.options.edge_items)) {
    line.push_back(i < 0 ? " ..." : element(select(x, 0, i), style));
    if (static_cast<int>(line.size()) == per_line) {
      lines.push_back(join(line, ", "));
      line.clear();
    }
  }
  if (!line.empty()) lines.push_back(join(line, ", "));
  return "[" + join(lines, ",\n" + std::string(indent + 1, ' ')) + "]";
}

std::string body_text(const Tensor& x, int indent, bool summarize, const Style& style) {
  if (x.ndim() == 0) return element(x, style);
  if (x.ndim() == 1) return vector_text(x, indent, summarize, style);
  std::vector<std::string> parts;
  for (int64_t i : positions(x.sizes()[0], summarize, style.options.edge_items)) {
    parts.push_back(i < 0 ? "..." : body_text(select(x, 0, i), indent + 1, summarize, style));
  }
  return "[" + join(parts, "," + std::string(x.ndim() - 1, '\n') + std::string(indent + 1, ' ')) +
         "]";
}

// The elements that a summary shows, as a dense tensor.
Tensor summarized(Tensor x, int64_t edge_items) {
  for (int d = 0; d < x.ndim(); ++d) {
    const int64_t n = x.sizes()[d];
    if (n > 2 * edge_items)
      x = cat({slice(x, d, 0, edge_items, 1), slice(x, d, n - edge_items, n, 1)}, d);
  }
  return contiguous(x);
}

std::vector<std::string> suffixes(const Tensor& x) {
  std::vector<std::string> list;
  if (x.device() != device_or_default({})) list.push_back(text("device='", x.device(), "'"));
  if (x.numel() == 0 && x.ndim() != 1) {
    std::string sizes = text(x.sizes());
    sizes.front() = '(';
    sizes.back() = ')';
    list.push_back("size=" + sizes);
  }
  const bool usual =
      x.dtype() == context().default_dtype || x.dtype() == kIntegerDType || is_bool(x.dtype());
  if (!usual || (x.numel() == 0 && x.dtype() != context().default_dtype)) {
    list.push_back(text("dtype=torch.", x.dtype()));
  }
  if (const Ref<Node> node = x.grad_fn()) {
    const std::string_view name = node->name;
    list.push_back(text("grad_fn=<", name.substr(name.rfind(':') + 1), ">"));
  } else if (x.requires_grad()) {
    list.push_back("requires_grad=True");
  }
  return list;
}

}  // namespace

void set_print_options(int64_t precision, int64_t threshold, int64_t edge_items, int64_t line_width,
                       std::optional<bool> sci_mode) {
  constexpr int64_t kMost = 10000;  // digits and columns: what is more is a slip
  DT_CHECK(0 <= precision && precision <= kMost, kValueError, "precision must be in [0, ", kMost,
           "], got ", precision);
  DT_CHECK(0 <= line_width && line_width <= kMost, kValueError, "linewidth must be in [0, ", kMost,
           "], got ", line_width);
  DT_CHECK(threshold >= 0 && edge_items >= 0, kValueError,
           "threshold and edgeitems must not be negative");
  const std::lock_guard<SpinLock> guard(options_lock);
  options_in_force = {static_cast<int>(precision), static_cast<int>(line_width), threshold,
                      std::min(edge_items, INT64_MAX / 4), sci_mode};
}

std::string to_string(const Tensor& tensor) {
  const GradMode no_grad(false);
  const PrintOptions options = print_options();
  const std::string prefix = "tensor(";
  const int indent = static_cast<int>(prefix.size());
  const Tensor x = on_host(tensor.detach());
  std::string s = prefix;
  if (x.numel() == 0) {
    s += "[]";
  } else {
    const bool summarize = x.numel() > options.threshold;
    const Style style(summarize ? summarized(x, options.edge_items) : contiguous(x), options);
    s += body_text(x, indent, summarize, style);
  }
  size_t line = s.size() - s.rfind('\n') + 1;  // PyTorch counts two more than there are
  for (const std::string& suffix : suffixes(tensor)) {
    if (line + suffix.size() + 2 > static_cast<size_t>(options.line_width)) {
      s += ",\n" + std::string(indent, ' ') + suffix;
      line = indent + suffix.size();
    } else {
      s += ", " + suffix;
      line += 2 + suffix.size();
    }
  }
  return s + ")";
}

}  // namespace dt
