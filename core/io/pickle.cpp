#include "core/io/pickle.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "core/io/elements.h"
#include "core/io/file.h"

namespace dt {
namespace {

constexpr int kMaxDepth = 100;           // of containers in containers
constexpr int64_t kMaxNames = 10000000;  // a container may be in many others, and they in many more

using Id = int32_t;  // an object: its place in Machine::objects_

struct Object {
  enum Kind { kOther, kNumber, kText, kTuple, kList, kDict, kGlobal, kStorage, kTensor };
  Kind kind = kOther;
  int64_t number = 0;             // kNumber; kStorage: its elements
  std::string text;               // kText; kGlobal: "torch.Size"; kStorage: its key
  std::vector<Id> items;          // of a container; a dict's are keys and values in turn
  DType dtype = DType::kDefault;  // kStorage
  int64_t tensor = 0;             // kTensor: its place in Machine::tensors_
};

// The dtype that "torch.FloatStorage" holds; kDefault for other names.
DType storage_dtype(std::string_view global) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (global == text("torch.", kDTypes[i].torch, "Storage")) return static_cast<DType>(i);
  }
  return DType::kDefault;
}

// Names of values and of functions whose results hold no tensors.
bool is_harmless(std::string_view global) {
  static constexpr std::string_view kNames[] = {
      "torch.Size",      "torch.device",        "torch.Tensor",        "_codecs.encode",
      "builtins.set",    "torch.bool",          "builtins.bytearray",  "builtins.complex",
      "__builtin__.set", "collections.Counter", "__builtin__.complex", "__builtin__.bytearray"};
  if (std::find(std::begin(kNames), std::end(kNames), global) != std::end(kNames)) return true;
  for (int i = 1; i < kDTypeCount; ++i) {
    if (global == text("torch.", kDTypes[i].name)) return true;
  }
  return false;
}

constexpr std::string_view kDictName = "collections.OrderedDict";
constexpr std::string_view kFromTypeName = "torch._tensor._rebuild_from_type_v2";
constexpr std::string_view kTensorNames[] = {"torch._utils._rebuild_tensor",
                                             "torch._utils._rebuild_tensor_v2"};
constexpr std::string_view kParameterNames[] = {"torch._utils._rebuild_parameter",
                                                "torch._utils._rebuild_parameter_with_state"};

template <size_t n>
bool is_one_of(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Runs a pickle. Its stack, its memo and all objects are bounded by its length.
class Machine {
 public:
  Machine(std::string_view code, const std::string& what) : code_(code), what_(what) {}

  Id run();
  std::vector<NamedPickle> named(Id root);

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(Code::kIo, what_, ": ", parts..., " (at byte ", at_, " of its pickle)");
  }
  std::string_view take(size_t n);
  template <class T>
  T take_number();
  std::string_view take_line();

  bool step();
  bool push_value(uint8_t opcode);
  bool build_container(uint8_t opcode);
  bool use_memo(uint8_t opcode);
  bool call(uint8_t opcode);

  Id add(Object object);
  void push(Object object) { stack_.push_back(add(std::move(object))); }
  void push_number(int64_t n);
  void push_long(std::string_view bytes);
  void push_text(std::string_view s);
  Id pop();
  Id top();
  std::vector<Id> pop_mark();
  void make_tuple(std::vector<Id> items);
  void extend(const std::vector<Id>& items, bool is_dict);

  void push_global();
  void push_storage();
  void reduce();
  void apply(const std::string& function, const std::vector<Id>& arguments);
  void make_parameter(const std::vector<Id>& arguments);
  void make_tensor(const std::vector<Id>& arguments);
  Dims dims_of(Id id) const;
  int64_t number_of(Id id, const char* which) const;

  void collect(Id id, const std::string& name, int depth);

  std::string_view code_;
  const std::string& what_;
  size_t at_ = 0;
  std::vector<Object> objects_ = std::vector<Object>(1);  // the first is None, and all like it
  std::vector<Id> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Id> memo_;
  std::vector<PickledTensor> tensors_;
  std::vector<NamedPickle> named_;
  std::set<std::string> seen_;
  int64_t visits_ = 0;
};

std::string_view Machine::take(size_t n) {
  if (n > code_.size() - at_) refuse("it is cut off");
  at_ += n;
  return code_.substr(at_ - n, n);
}

template <class T>
T Machine::take_number() {
  T value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string_view Machine::take_line() {
  const size_t end = code_.find('\n', at_);
  if (end == std::string_view::npos) refuse("it is cut off");
  const std::string_view line = take(end - at_);
  take(1);
  return line;
}

Id Machine::add(Object object) {
  objects_.push_back(std::move(object));
  return static_cast<Id>(objects_.size() - 1);
}

void Machine::push_number(int64_t n) {
  Object o;
  o.kind = Object::kNumber;
  o.number = n;
  push(std::move(o));
}

void Machine::push_text(std::string_view s) {
  Object o;
  o.kind = Object::kText;
  o.text = s;
  push(std::move(o));
}

// A little-endian number of any length. No size has more than 8 bytes.
void Machine::push_long(std::string_view bytes) {
  if (bytes.size() > sizeof(int64_t)) {
    stack_.push_back(0);
    return;
  }
  int64_t value = !bytes.empty() && static_cast<int8_t>(bytes.back()) < 0 ? -1 : 0;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&value));
  push_number(value);
}

Id Machine::pop() {
  const Id id = top();
  stack_.pop_back();
  return id;
}

Id Machine::top() {
  const size_t bottom = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= bottom) refuse("nothing is on its stack");
  return stack_.back();
}

std::vector<Id> Machine::pop_mark() {
  if (marks_.empty()) refuse("a mark is missing");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Id> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

void Machine::make_tuple(std::vector<Id> items) {
  Object o;
  o.kind = Object::kTuple;
  o.items = std::move(items);
  push(std::move(o));
}

void Machine::extend(const std::vector<Id>& items, bool is_dict) {
  Object& o = objects_[top()];
  if (o.kind == Object::kOther) return;  // a Counter
  if (o.kind != (is_dict ? Object::kDict : Object::kList) || (is_dict && items.size() % 2))
    refuse("items are added to what is no ", is_dict ? "dict" : "list");
  o.items.insert(o.items.end(), items.begin(), items.end());
}

Id Machine::run() {
  while (step()) {
  }
  return pop();
}

// Does what one opcode says; false at the end.
bool Machine::step() {
  const auto opcode = take_number<uint8_t>();
  switch (opcode) {
    case 0x80:  // PROTO
      take(1);
      return true;
    case '.':  // STOP
      return false;
    case '(':
      marks_.push_back(stack_.size());
      return true;
    default:
      break;
  }
  const bool known =
      push_value(opcode) || build_container(opcode) || use_memo(opcode) || call(opcode);
  if (!known) refuse("Unsupported operand ", int(opcode));
  return true;
}

bool Machine::push_value(uint8_t opcode) {
  switch (opcode) {
    case 'N':
      stack_.push_back(0);
      return true;
    case 'G':  // a float, of no interest
      take(8);
      stack_.push_back(0);
      return true;
    case 0x88:
    case 0x89:
      push_number(opcode == 0x88);
      return true;
    case 'J':
      push_number(take_number<int32_t>());
      return true;
    case 'K':
      push_number(take_number<uint8_t>());
      return true;
    case 'M':
      push_number(take_number<uint16_t>());
      return true;
    case 0x8a:
      push_long(take(take_number<uint8_t>()));
      return true;
    case 'X':
      push_text(take(take_number<uint32_t>()));
      return true;
    case 'U':
      push_text(take(take_number<uint8_t>()));
      return true;
    default:
      return false;
  }
}

bool Machine::build_container(uint8_t opcode) {
  Object empty;
  switch (opcode) {
    case ')':
      make_tuple({});
      return true;
    case 't':
      make_tuple(pop_mark());
      return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<Id> items(opcode - 0x84u);
      for (size_t i = items.size(); i-- > 0;) items[i] = pop();
      make_tuple(std::move(items));
      return true;
    }
    case ']':
    case '}':
    case 0x8f:
      empty.kind = opcode == ']' ? Object::kList : opcode == '}' ? Object::kDict : Object::kOther;
      push(std::move(empty));
      return true;
    case 'a':
    case 'e': {
      const std::vector<Id> items = opcode == 'a' ? std::vector<Id>{pop()} : pop_mark();
      extend(items, false);
      return true;
    }
    case 's': {
      const Id value = pop(), key = pop();
      extend({key, value}, true);
      return true;
    }
    case 'u':
      extend(pop_mark(), true);
      return true;
    default:
      return false;
  }
}

bool Machine::use_memo(uint8_t opcode) {
  switch (opcode) {
    case 'q':
      memo_[take_number<uint8_t>()] = top();
      return true;
    case 'r':
      memo_[take_number<uint32_t>()] = top();
      return true;
    case 'h':
    case 'j': {
      const uint32_t key = opcode == 'h' ? take_number<uint8_t>() : take_number<uint32_t>();
      const auto found = memo_.find(key);
      if (found == memo_.end()) refuse("its memo has no entry ", key);
      stack_.push_back(found->second);
      return true;
    }
    default:
      return false;
  }
}

bool Machine::call(uint8_t opcode) {
  switch (opcode) {
    case 'c':
      push_global();
      return true;
    case 'Q':
      push_storage();
      return true;
    case 'R':
    case 0x81:  // NEWOBJ, as of torch.Size
      reduce();
      return true;
    case 'b': {  // attributes, such as _metadata: not wanted
      pop();
      const Object::Kind kind = objects_[top()].kind;
      if (kind != Object::kDict && kind != Object::kTensor && kind != Object::kOther)
        refuse("Can only build Tensor, Parameter, OrderedDict");
      return true;
    }
    default:
      return false;
  }
}

void Machine::push_global() {
  Object o;
  o.kind = Object::kGlobal;
  o.text = take_line();
  o.text += '.';
  o.text += take_line();
  o.dtype = storage_dtype(o.text);
  const bool allowed = o.dtype != DType::kDefault || o.text == kDictName ||
                       is_one_of(kTensorNames, o.text) || is_one_of(kParameterNames, o.text) ||
                       o.text == kFromTypeName || is_harmless(o.text);
  if (!allowed) refuse("Unsupported global: GLOBAL ", o.text, " was not an allowed global");
  push(std::move(o));
}

// ("storage", torch.FloatStorage, key, location, numel)
void Machine::push_storage() {
  const Object& id = objects_[pop()];
  const auto item = [&](size_t i) -> const Object& { return objects_[id.items[i]]; };
  const bool fits = id.kind == Object::kTuple && id.items.size() >= 5 &&
                    item(0).text == "storage" && item(1).kind == Object::kGlobal &&
                    item(2).kind == Object::kText && item(4).kind == Object::kNumber;
  if (!fits) refuse("Only persistent_load of storage is allowed");
  Object o;
  o.kind = Object::kStorage;
  o.dtype = item(1).dtype;
  o.text = item(2).text;
  o.number = item(4).number;
  if (o.dtype == DType::kDefault) refuse("a storage is of type ", item(1).text);
  push(std::move(o));
}

void Machine::reduce() {
  const Id arguments = pop(), function = pop();
  if (objects_[function].kind != Object::kGlobal || objects_[arguments].kind != Object::kTuple)
    refuse("Trying to call reduce for unrecognized function");
  const std::string name = objects_[function].text;  // copies: what is made may move the objects
  const std::vector<Id> items = objects_[arguments].items;
  apply(name, items);
}

void Machine::apply(const std::string& function, const std::vector<Id>& arguments) {
  if (is_one_of(kTensorNames, function)) {
    make_tensor(arguments);
  } else if (is_one_of(kParameterNames, function)) {
    make_parameter(arguments);
  } else if (function == kFromTypeName) {  // (function, type, its arguments, attributes)
    const bool fits = arguments.size() >= 3 && objects_[arguments[2]].kind == Object::kTuple &&
                      is_one_of(kTensorNames, objects_[arguments[0]].text);
    if (!fits) refuse("a tensor of a type of its own is made in a way of its own");
    const std::vector<Id> inner = objects_[arguments[2]].items;
    make_tensor(inner);
  } else if (function == kDictName) {
    if (!arguments.empty()) refuse("an OrderedDict is made in a way of old");
    Object dict;
    dict.kind = Object::kDict;
    push(std::move(dict));
  } else if (is_harmless(function)) {
    stack_.push_back(0);
  } else {
    refuse("Trying to call reduce for unrecognized function ", function);
  }
}

void Machine::make_parameter(const std::vector<Id>& arguments) {
  if (arguments.size() < 2 || objects_[arguments[0]].kind != Object::kTensor)
    refuse("a Parameter is made of no tensor");
  Object parameter = objects_[arguments[0]];
  PickledTensor t = tensors_[static_cast<size_t>(parameter.tensor)];
  t.requires_grad = number_of(arguments[1], "requires_grad") != 0;
  parameter.tensor = static_cast<int64_t>(tensors_.size());
  tensors_.push_back(std::move(t));
  push(std::move(parameter));
}

int64_t Machine::number_of(Id id, const char* which) const {
  if (objects_[id].kind != Object::kNumber) refuse("a tensor's ", which, " is no number");
  return objects_[id].number;
}

Dims Machine::dims_of(Id id) const {
  const Object& o = objects_[id];
  if (o.kind != Object::kTuple || o.items.size() > DT_MAX_DIMS)
    refuse("a tensor's sizes are no tuple of at most ", int(DT_MAX_DIMS));
  Dims dims;
  for (const Id item : o.items) dims.push_back(number_of(item, "size"));
  return dims;
}

// _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, ...)
void Machine::make_tensor(const std::vector<Id>& arguments) {
  if (arguments.size() < 4 || objects_[arguments[0]].kind != Object::kStorage)
    refuse("a tensor is made of no storage");
  const Object& storage = objects_[arguments[0]];
  PickledTensor t;
  t.storage = storage.text;
  t.dtype = storage.dtype;
  t.storage_numel = storage.number;
  t.offset = number_of(arguments[1], "offset");
  t.sizes = dims_of(arguments[2]);
  t.strides = dims_of(arguments[3]);
  t.requires_grad = arguments.size() > 4 && number_of(arguments[4], "requires_grad") != 0;
  if (t.sizes.size() != t.strides.size()) refuse("a tensor's sizes and strides differ in number");
  Object o;
  o.kind = Object::kTensor;
  o.tensor = static_cast<int64_t>(tensors_.size());
  tensors_.push_back(std::move(t));
  push(std::move(o));
}

std::vector<NamedPickle> Machine::named(Id root) {
  collect(root, "", 0);
  return std::move(named_);
}

void Machine::collect(Id id, const std::string& name, int depth) {
  if (depth > kMaxDepth) refuse("its containers lie more than ", kMaxDepth, " deep");
  if (++visits_ > kMaxNames) refuse("it has more than ", kMaxNames, " entries");
  const Object& o = objects_[id];
  const auto inner = [&](const std::string& key) { return depth ? name + "." + key : key; };
  if (o.kind == Object::kTensor) {
    check_name(name);
    if (!seen_.insert(name).second) refuse("two tensors are called '", name, "'");
    named_.push_back({name, tensors_[static_cast<size_t>(o.tensor)]});
  } else if (o.kind == Object::kDict) {
    for (size_t i = 0; i + 1 < o.items.size(); i += 2) {
      const Object& key = objects_[o.items[i]];
      const std::string word = key.kind == Object::kNumber ? text(key.number) : key.text;
      collect(o.items[i + 1], inner(word), depth + 1);
    }
  } else if (o.kind == Object::kList || o.kind == Object::kTuple) {
    for (size_t i = 0; i < o.items.size(); ++i) collect(o.items[i], inner(text(i)), depth + 1);
  }
}

// ---- writing

void append_text(std::string& s, std::string_view value) {
  s += 'X';
  append_number(s, static_cast<uint32_t>(value.size()));
  s += value;
}

void append_long(std::string& s, int64_t value) {
  s += '\x8a';
  s += static_cast<char>(sizeof value);
  append_number(s, value);
}

void append_tuple(std::string& s, const Dims& dims) {
  s += '(';
  for (const int64_t n : dims) append_long(s, n);
  s += 't';
}

void append_tensor(std::string& s, const PickledTensor& t) {
  s += "ctorch._utils\n_rebuild_tensor_v2\n((";
  append_text(s, "storage");
  append(s, text("ctorch\n", info(t.dtype).torch, "Storage\n"));
  append_text(s, t.storage);
  append_text(s, "cpu");
  append_long(s, t.storage_numel);
  s += "tQ";
  append_long(s, t.offset);
  append_tuple(s, t.sizes);
  append_tuple(s, t.strides);
  s += t.requires_grad ? '\x88' : '\x89';
  s += "ccollections\nOrderedDict\n)RtR";
}

}  // namespace

std::vector<NamedPickle> read_state_dict(std::string_view pickle, const std::string& what) {
  Machine machine(pickle, what);
  const Id root = machine.run();
  return machine.named(root);
}

std::string write_state_dict(const std::vector<NamedPickle>& entries) {
  std::string s = "\x80\x02";
  s += "ccollections\nOrderedDict\n)R(";
  for (const NamedPickle& e : entries) {
    append_text(s, e.name);
    append_tensor(s, e.tensor);
  }
  return s + "u.";
}

}  // namespace dt
