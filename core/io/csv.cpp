#include "core/io/csv.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/io/csv_scanner.h"
#include "core/io/elements.h"
#include "core/io/file.h"
#include "core/runtime/context.h"
#include "core/runtime/thread_pool.h"

namespace dt {
namespace {

constexpr int64_t kChunk = 1 << 20;  // bytes that one thread reads at a time

constexpr std::string_view kMissing[] = {"",     "NA",   "N/A",  "n/a",  "NaN", "nan",
                                         "null", "NULL", "None", "none", "?"};

bool is_missing(std::string_view s) {
  return std::find(std::begin(kMissing), std::end(kMissing), s) != std::end(kMissing);
}

// The beginning of a field, for a sentence.
std::string printable(std::string_view s) {
  std::string out(s.substr(0, 40));
  for (char& c : out) {
    if ((c < ' ' && c != '\n') || c > '~') c = '?';
  }
  return out;
}

// What is done with a column of the file.
struct Column {
  std::string name;
  int64_t place = -1;     // among the columns that are wanted
  int64_t category = -1;  // among the columns of categories
};

struct Table {
  std::string name;  // of the file
  const char* data;
  const char* end;
  char delimiter;
  std::vector<Column> columns;
  int64_t wanted = 0, categories = 0;

  [[noreturn]] void refuse(const char* at, size_t column, const std::string& why) const {
    const auto line = 1 + std::count(data, at, '\n');
    const std::string which =
        column < columns.size() ? text(" '", columns[column].name, "'") : std::string();
    fail(Code::kIo, name, ", line ", line, ", column ", column + 1, which, ": ", why);
  }
};

// Calls body(i) for each i in [0, n) on all threads, and throws the first error in their order.
template <class Body>
void for_each(int64_t n, Body body) {
  struct Work {
    Body& body;
    std::vector<std::exception_ptr> errors;
  } work{body, std::vector<std::exception_ptr>(static_cast<size_t>(n))};
  const auto run = [](void* context, int64_t i, int64_t) {
    auto& w = *static_cast<Work*>(context);
    try {
      w.body(i);
    } catch (...) {
      w.errors[static_cast<size_t>(i)] = std::current_exception();
    }
  };
  parallel(n, num_threads(), run, &work);
  for (const std::exception_ptr& error : work.errors) {
    if (error) std::rethrow_exception(error);
  }
}

// Where lines begin, about a chunk apart. A quote says whether those behind it are inside of
// quotes, so that all of them are counted first.
std::vector<const char*> cut(const Table& t, const char* first) {
  const int64_t n = std::max<int64_t>(1, (t.end - first) / kChunk);
  const auto boundary = [&](int64_t i) { return i == n ? t.end : first + i * kChunk; };
  std::vector<int64_t> quotes(static_cast<size_t>(n));
  for_each(n, [&](int64_t i) {
    quotes[static_cast<size_t>(i)] = std::count(boundary(i), boundary(i + 1), '"');
  });
  std::vector<const char*> starts{first};
  int64_t before = 0;
  for (int64_t i = 1; i < n; ++i) {
    before += quotes[static_cast<size_t>(i - 1)];
    const char* p = boundary(i);
    if (starts.back() >= p) {  // within a long line
      starts.push_back(starts.back());
      continue;
    }
    bool quoted = before % 2 != 0;
    while (p != t.end && (quoted || *p != '\n')) quoted ^= *p++ == '"';
    starts.push_back(p == t.end ? p : p + 1);
  }
  starts.push_back(t.end);
  return starts;
}

// The categories of a column in the order in which they appear.
struct Categories {
  std::unordered_map<std::string, int64_t> numbers;
  std::vector<std::string> names;

  int64_t number_of(const std::string& name) {
    const auto [place, fresh] = numbers.emplace(name, static_cast<int64_t>(names.size()));
    if (fresh) names.push_back(name);
    return place->second;
  }
};

constexpr int64_t kNoCategory = -1;

// Some lines' values, row-major; a category's number is that in its own chunk.
template <class T>
struct Chunk {
  std::vector<T> values;
  std::vector<Categories> categories;
};

template <class T>
class ChunkReader {
 public:
  ChunkReader(const Table& table, const char* at, const char* end)
      : table_(table), scanner_(at, end, table.delimiter) {
    chunk_.categories.resize(static_cast<size_t>(table.categories));
    row_.resize(static_cast<size_t>(table.wanted));
  }

  Chunk<T> read() {
    for (;;) {
      scanner_.skip_empty_lines();
      if (scanner_.done()) return std::move(chunk_);
      read_line();
      chunk_.values.insert(chunk_.values.end(), row_.begin(), row_.end());
    }
  }

 private:
  void read_line() {
    const size_t n = table_.columns.size();
    for (size_t c = 0; c < n; ++c) {
      read_field(c);
      if (c + 1 < n && !scanner_.next_field())
        fail_at(c, text("the line ends, but the table has ", n, " columns"));
    }
    if (!scanner_.next_line())
      fail_at(n, text("the line goes on, but the table has ", n, " columns"));
  }

  void read_field(size_t c) {
    const Column& column = table_.columns[c];
    if (column.place < 0) {
      if (!scanner_.skip()) fail_at(c, "a quote is not closed, or stands within a field");
      return;
    }
    T& value = row_[static_cast<size_t>(column.place)];
    if (column.category < 0 && scanner_.number(&value)) return;
    const char* const start = scanner_.at();
    if (!scanner_.text(&word_)) fail_at(c, "a quote is not closed, or stands within a field");
    if (column.category >= 0) {
      auto& categories = chunk_.categories[static_cast<size_t>(column.category)];
      value = static_cast<T>(is_missing(word_) ? kNoCategory : categories.number_of(word_));
    } else {
      value = other_number(c, start);
    }
  }

  // A number in quotes, or none at all.
  T other_number(size_t c, const char* start) {
    T value;
    CsvScanner inside(word_.data(), word_.data() + word_.size(), '\0');
    if (inside.number(&value) && inside.done()) return value;
    const size_t first = word_.find_first_not_of(' '), last = word_.find_last_not_of(' ');
    const bool blank = first == std::string::npos;
    const std::string_view trimmed =
        blank ? std::string_view() : std::string_view(word_).substr(first, last - first + 1);
    if (!is_missing(trimmed))
      table_.refuse(start, c, text("'", printable(trimmed), "' is no ", kWhat));
    if constexpr (std::is_integral_v<T>) table_.refuse(start, c, "there is no number");
    return std::numeric_limits<T>::quiet_NaN();
  }

  [[noreturn]] void fail_at(size_t column, const std::string& why) const {
    table_.refuse(scanner_.at(), column, why);
  }

  static constexpr const char* kWhat = std::is_integral_v<T> ? "whole number" : "number";

  const Table& table_;
  CsvScanner scanner_;
  Chunk<T> chunk_;
  std::vector<T> row_;
  std::string word_;
};

// The categories of all chunks, in the order of the alphabet.
template <class T>
std::vector<std::map<std::string, int64_t>> number_categories(const Table& t,
                                                              const std::vector<Chunk<T>>& chunks) {
  std::vector<std::map<std::string, int64_t>> all(static_cast<size_t>(t.categories));
  for (size_t k = 0; k < all.size(); ++k) {
    for (const Chunk<T>& chunk : chunks) {
      for (const std::string& name : chunk.categories[k].names) all[k].emplace(name, 0);
    }
    int64_t next = 0;
    for (auto& [name, number] : all[k]) number = next++;
    DT_CHECK(static_cast<int64_t>(static_cast<T>(next)) == next, kValueError, t.name, " has ", next,
             " categories in one column: more than the dtype can count");
  }
  return all;
}

// Where the wanted columns go in the result, and how wide it is.
struct ResultLayout {
  std::vector<int64_t> places;      // by wanted column
  std::vector<int64_t> categories;  // by wanted column; -1: numbers
  int64_t width = 0;
  std::vector<std::string> names, labels;
};

ResultLayout lay_out(const Table& t, const std::vector<std::map<std::string, int64_t>>& categories,
                     bool one_hot) {
  std::vector<const Column*> wanted(static_cast<size_t>(t.wanted));
  for (const Column& c : t.columns) {
    if (c.place >= 0) wanted[static_cast<size_t>(c.place)] = &c;
  }
  ResultLayout out;
  for (const Column* c : wanted) {
    out.places.push_back(out.width);
    out.categories.push_back(c->category);
    const size_t before = out.labels.size();
    if (c->category >= 0) {
      for (const auto& [name, number] : categories[static_cast<size_t>(c->category)]) {
        out.labels.push_back(text(c->name, "=", name));
        check_name(out.labels.back());
      }
    }
    if (c->category >= 0 && one_hot) {
      out.names.insert(out.names.end(), out.labels.begin() + static_cast<std::ptrdiff_t>(before),
                       out.labels.end());
    } else {
      out.names.push_back(c->name);
    }
    out.width = static_cast<int64_t>(out.names.size());
  }
  return out;
}

template <class T>
void write_chunk(const Chunk<T>& chunk, const ResultLayout& layout,
                 const std::vector<std::map<std::string, int64_t>>& categories, bool one_hot,
                 T* to) {
  std::vector<std::vector<int64_t>> numbers;  // the global ones by those of the chunk
  for (size_t k = 0; k < categories.size(); ++k) {
    numbers.emplace_back();
    for (const std::string& name : chunk.categories[k].names)
      numbers.back().push_back(categories[k].at(name));
  }
  const size_t wanted = layout.places.size();
  for (size_t i = 0; i < chunk.values.size(); i += wanted, to += layout.width) {
    if (one_hot) std::fill(to, to + layout.width, T(0));
    for (size_t c = 0; c < wanted; ++c) {
      const T value = chunk.values[i + c];
      T* const place = to + layout.places[c];
      if (layout.categories[c] < 0) {
        *place = value;
        continue;
      }
      const auto local = static_cast<int64_t>(value);
      const auto& global = numbers[static_cast<size_t>(layout.categories[c])];
      const int64_t number = local < 0 ? kNoCategory : global[static_cast<size_t>(local)];
      if (!one_hot)
        *place = static_cast<T>(number);
      else if (number >= 0)
        place[number] = T(1);
    }
  }
}

using Result = std::tuple<Tensor, std::vector<std::string>, std::vector<std::string>>;

template <class T>
Result read_table(const Table& t, const char* first, bool one_hot) {
  const std::vector<const char*> starts = cut(t, first);
  std::vector<Chunk<T>> chunks(starts.size() - 1);
  const auto n = static_cast<int64_t>(chunks.size());
  for_each(n, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    chunks[k] = ChunkReader<T>(t, starts[k], starts[k + 1]).read();
  });
  const auto categories = number_categories(t, chunks);
  ResultLayout layout = lay_out(t, categories, one_hot);
  std::vector<int64_t> rows{0};  // before each chunk
  for (const Chunk<T>& chunk : chunks)
    rows.push_back(rows.back() + static_cast<int64_t>(chunk.values.size()) / t.wanted);
  const Tensor out = make_empty({rows.back(), layout.width}, kDTypeOf<T>, kCpu);
  for_each(n, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    write_chunk(chunks[k], layout, categories, one_hot, out.data_as<T>() + rows[k] * layout.width);
  });
  return {out, std::move(layout.names), std::move(layout.labels)};
}

// The names in the first line, or numbers where it has none; gives what comes behind it.
const char* read_names(Table& t, bool header) {
  CsvScanner scanner(t.data, t.end, t.delimiter);
  scanner.skip_empty_lines();
  DT_CHECK(!scanner.done(), kIo, t.name, " is empty");
  const char* const first = scanner.at();
  for (;;) {
    std::string name;
    const size_t c = t.columns.size();
    if (!scanner.text(&name))
      t.refuse(scanner.at(), c, "a quote is not closed, or stands within a field");
    if (header) check_name(name);
    t.columns.push_back({header ? name : text(c)});
    if (!scanner.next_field()) break;
  }
  if (!header) return first;
  if (!scanner.next_line()) t.refuse(scanner.at(), t.columns.size() - 1, "the line does not end");
  return scanner.at();
}

Column& column_named(Table& t, const std::string& name) {
  for (Column& c : t.columns) {
    if (c.name == name) return c;
  }
  fail(Code::kIndexError, t.name, " does not contain column '", name, "'");
}

void choose(Table& t, const std::optional<std::vector<std::string>>& columns,
            const std::optional<std::vector<std::string>>& categories) {
  if (columns) {
    for (const std::string& name : *columns) {
      Column& c = column_named(t, name);
      DT_CHECK(c.place < 0, kValueError, "column '", name, "' is wanted twice");
      c.place = t.wanted++;
    }
  } else {
    for (Column& c : t.columns) c.place = t.wanted++;
  }
  DT_CHECK(t.wanted > 0, kValueError, "no column is wanted");
  if (!categories) return;
  for (const std::string& name : *categories) {
    Column& c = column_named(t, name);
    DT_CHECK(c.place >= 0, kValueError, "column '", name, "' of categories is not wanted");
    if (c.category < 0) c.category = t.categories++;
  }
}

}  // namespace

Result read_csv(const std::string& path, const std::optional<std::vector<std::string>>& columns,
                const std::optional<std::string>& delimiter, bool header,
                const std::optional<std::vector<std::string>>& categories, bool one_hot,
                DType dtype) {
  constexpr std::string_view kNoDelimiters = "\"\n\r.+-0123456789";
  const std::string between = delimiter.value_or(",");
  DT_CHECK(between.size() == 1 && kNoDelimiters.find(between[0]) == std::string_view::npos,
           kValueError, "'", between, "' is no delimiter: it must be one character such as ','");
  if (dtype == DType::kDefault) dtype = context().default_dtype;
  InputFile file(path);
  // Not mapped: a file that becomes shorter would end the program.
  const Tensor content = make_empty({file.size()}, kByteDType, kCpu);
  constexpr int64_t kPiece = 1 << 23;
  for_each((file.size() + kPiece - 1) / kPiece, [&](int64_t i) {
    const int64_t n = std::min(kPiece, file.size() - i * kPiece);
    file.read(i * kPiece, content.data_as<char>() + i * kPiece, n);
  });
  Table t{
      file.name(), content.data_as<char>(), content.data_as<char>() + file.size(), between[0], {}};
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // which some programs begin UTF-8 with
  if (std::string_view(t.data, static_cast<size_t>(t.end - t.data)).substr(0, 3) == kMark)
    t.data += 3;
  const char* const first = read_names(t, header);
  choose(t, columns, categories);
  if (dtype == kDTypeOf<float>) return read_table<float>(t, first, one_hot);
  if (dtype == kDTypeOf<double>) return read_table<double>(t, first, one_hot);
  DT_CHECK(dtype == kDTypeOf<int64_t>, kNotImplemented,
           "a table is read as float32, float64 or int64, not as ", dtype);
  return read_table<int64_t>(t, first, one_hot);
}

}  // namespace dt
