#include "core/ops/print.h"

#include <algorithm>
#include <cmath>

#include "core/autograd/node.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// torch.set_printoptions' defaults.
constexpr int kPrecision = 4;
constexpr int kLineWidth = 80;
constexpr int64_t kThreshold = 1000;  // more elements are summarised
constexpr int64_t kEdgeItems = 3;     // so many from each end are shown then

std::string formatted(const char* format, double v) {
  char buffer[400];  // "%.0f" of the largest double has 309 digits
  std::snprintf(buffer, sizeof buffer, format, kPrecision, v);
  return buffer;
}

// How numbers are written: all in one style and one width, found from the values that will be
// shown.
class Style {
 public:
  Style(const Tensor& shown) : floating_(is_floating(shown.dtype())) {
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
    scientific_ = largest_ / smallest_ > 1000 || largest_ > 1e8 || (!whole_ && smallest_ < 1e-4);
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
    if (scientific_) return formatted("%.*e", v);
    if (!whole_) return formatted("%.*f", v);
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    char buffer[400];
    std::snprintf(buffer, sizeof buffer, "%.0f.", v);
    return buffer;
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
std::vector<int64_t> positions(int64_t n, bool summarize) {
  std::vector<int64_t> at;
  const bool gap = summarize && n > 2 * kEdgeItems;
  for (int64_t i = 0; i < n; ++i) {
    if (gap && i == kEdgeItems) {
      at.push_back(-1);
      i = n - kEdgeItems;
    }
    at.push_back(i);
  }
  return at;
}

std::string vector_text(const Tensor& x, int indent, bool summarize, const Style& style) {
  const int per_line = std::max(1, (kLineWidth - indent) / (style.width() + 2));
  std::vector<std::string> lines, line;
  for (int64_t i : positions(x.sizes()[0], summarize)) {
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
  for (int64_t i : positions(x.sizes()[0], summarize)) {
    parts.push_back(i < 0 ? "..." : body_text(select(x, 0, i), indent + 1, summarize, style));
  }
  return "[" + join(parts, "," + std::string(x.ndim() - 1, '\n') + std::string(indent + 1, ' ')) +
         "]";
}

// The elements that a summary shows, as a dense tensor.
Tensor summarized(Tensor x) {
  for (int d = 0; d < x.ndim(); ++d) {
    const int64_t n = x.sizes()[d];
    if (n > 2 * kEdgeItems)
      x = cat({slice(x, d, 0, kEdgeItems, 1), slice(x, d, n - kEdgeItems, n, 1)}, d);
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
  if (const Ref<Node> node = x.grad_fn())
    list.push_back(text("grad_fn=<", node->name, ">"));
  else if (x.requires_grad())
    list.push_back("requires_grad=True");
  return list;
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  const GradMode no_grad(false);
  const std::string prefix = "tensor(";
  const int indent = static_cast<int>(prefix.size());
  const Tensor x = on_host(tensor.detach());
  std::string s = prefix;
  if (x.numel() == 0) {
    s += "[]";
  } else {
    const bool summarize = x.numel() > kThreshold;
    const Style style(summarize ? summarized(x) : contiguous(x));
    s += body_text(x, indent, summarize, style);
  }
  size_t line = s.size() - s.rfind('\n') + 1;  // PyTorch counts two more than there are
  for (const std::string& suffix : suffixes(tensor)) {
    if (line + suffix.size() + 2 > kLineWidth) {
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
