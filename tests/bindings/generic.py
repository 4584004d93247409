"""A binding of the whole library over ctypes: share/dumbtorch/dumbtorch.json says everything, so no
function has code of its own. With `dt = Library(library, description)` functions are called as in C,
`dt.max_dim(x, 0)`, or as methods, `x.max_dim(dim=0)`; options are named arguments."""

import ctypes as C
import json
from functools import partial
from itertools import chain, count

FFI = {"int32": C.c_int32, "int64": C.c_int64, "double": C.c_double, "pointer": C.c_void_p}
FFI |= {"object": C.c_void_p, "text": C.c_char_p}  # entries of lists


def types(values):
    return [FFI[p["ffi"]] for value in values for p in value["parameters"]]


def plain(value):
    return value.encode() if isinstance(value, str) else value


class Handle(C.c_void_p):
    def __del__(self):
        getattr(self.library.c, f"dt_{type(self).__name__}_release")(self)

    def __getattr__(self, name):
        own = f"{type(self).__name__}_{name}"
        return partial(getattr(self.library, own if hasattr(self.library, own) else name), self)


class Library:
    def __init__(self, library, description):
        self.c, d = C.CDLL(str(library)), json.loads(description.read_text())
        self.c.dt_error_message.restype = C.c_char_p
        self.enums = {e["name"]: {v["name"]: v["number"] for v in e["values"]} for e in d["enums"]}
        self.options = {o["name"]: o for o in d["options"]}
        shared = {"library": self}
        self.handles = {h["name"]: type(h["name"], (Handle,), shared) for h in d["handles"]}
        self.users, self.next_user = {}, count(1)
        self.drop = C.CFUNCTYPE(None, C.c_void_p)(lambda user: self.users.pop(user) and None)
        self.callbacks = {k["name"]: self.callback(**k) for k in d["callbacks"]}
        for f in d["functions"]:
            getattr(self.c, f["name"]).argtypes = types(f["arguments"])  # results follow
            setattr(self, f["name"].removeprefix("dt_"), partial(self.call, f))

    def do(self, function, *passed):
        if getattr(self.c, function)(*passed):
            raise RuntimeError(self.c.dt_error_message().decode())

    def call(self, f, *given, **named):
        arguments, results, passed = f["arguments"], f["results"], []
        values = {a["name"]: a["default"] for a in arguments if "default" in a}
        values |= dict(zip((a["name"] for a in arguments), given)) | named
        first = values[arguments[0]["name"]] if f.get("returns_first") else None
        for a in arguments:
            value = values.pop(a["name"])
            passed += self.give(values if a["form"] == "options" else value, **a)
        if values:
            raise TypeError(f"{f['name']} has no argument {', '.join(values)}")
        do = partial(self.do, f["name"], *passed)
        if results and results[0]["form"] == "numbers":  # into a buffer; first, how many there are
            do(None, C.c_int64(), C.byref(n := C.c_int64()))
            do(room := (FFI[results[0]["entry"]] * n.value)(), n, C.byref(n))
            return room[:]
        rooms = [[self.handles.get(r.get("handle"), t)() for t in types([r])] for r in results]
        do(*map(C.byref, chain(*rooms)))
        taken = [self.take(r["form"], *room) for r, room in zip(results, rooms)]
        return first or (taken[0] if len(taken) == 1 else taken)

    def give(self, value, form, parameters, entry="", of="", **_):
        """What the parameters of an argument hold."""
        if form in ("operand", "scalar") and not isinstance(value, Handle | None):
            kind = self.enums["scalar_kind"][type(value).__name__]
            return [None, kind, 0 if type(value) is float else value, value][-len(parameters) :]
        ways = {
            "number": lambda: [float(value) if parameters[0]["ffi"] == "double" else value],
            "pointed": lambda: [(FFI[entry] * 1)(value)],
            "list": lambda: self.entries(FFI[entry], value if isinstance(value, list) else [value]),
            "enum": lambda: [self.enums[of][value]],
            "bytes": lambda: [value, len(value)],
            "device": lambda: self.device_from_text(value),
            "options": lambda: [self.struct(value, **self.options[of])],
            "callback": lambda: [self.callbacks[of], self.hold(value), self.drop],
        }
        if value is None:
            return [None if p["ffi"] == "pointer" else 0 for p in parameters]
        return ways[form]() if form in ways else [plain(value), 0, 0, 0][: len(parameters)]

    def entries(self, of, values):
        return [(of * len(values))(*map(plain, values)), len(values)]

    def hold(self, user):
        self.users[number := next(self.next_user)] = user
        return number

    def struct(self, named, size, init, fields, **_):
        self.do(init, room := C.create_string_buffer(size), C.c_int64(size))
        for a in (a for a in fields if a["name"] in named):
            cells = self.give(named.pop(a["name"]), **a)
            setattr(room, a["name"], cells)  # what they point to lives as long
            for p, cell in zip(a["parameters"], cells):
                cell = C.cast(cell, C.c_void_p).value if p["ffi"] == "pointer" else cell
                FFI[p["ffi"]].from_buffer(room, p["offset"]).value = cell
        return room

    def take(self, form, out, *more):
        """A result, from what its parameters point to."""
        text, read = C.c_char_p(), partial(self.do, "dt_string_list_get", out)
        ways = {
            "scalar": lambda: more[out.value == self.enums["scalar_kind"]["float"]].value,
            "device": lambda: [out.value, more[0].value],
            "object": lambda: out if out.value else None,
            "tensors": lambda: [out.get(i) for i in range(out.len())],
            "texts": lambda: [
                read(C.c_int64(i), C.byref(text)) or text.value.decode() for i in range(out.len())
            ],
        }
        if form == "text":
            self.do("dt_bytes_data", out, C.byref(text), C.byref(C.c_int64()))
            return text.value.decode()
        return ways[form]() if form in ways else out.value

    def callback(self, arguments, results, **_):
        """One C function for all of the user's. Tensors that come in are lent, new ones go out."""
        own = lambda address: address and self.tensor_alias(address)  # noqa: E731
        ways = {
            "object": own,
            "list": lambda cell, n: [own(x) for x in (C.c_void_p * n).from_address(cell or 0)],
            "text": lambda cell: C.string_at(cell).decode(),
        }

        def enter(user, *cells):
            try:
                cells, given = iter(cells), []
                for a in arguments:
                    given.append(ways.get(a["form"], int)(*(next(cells) for _ in a["parameters"])))
                result = self.users[user](*given)
                for r, cell in zip(results, cells):
                    if r["form"] != "value" and result is not None:
                        new = (self.tensor_list_new if r["form"] == "tensors" else own)(result)
                        result, new.value = new.value, None
                    types([r])[0].from_address(cell).value = result
            except Exception as error:
                code = self.enums["status"]["runtime_error"]
                return self.c.dt_error_set(code, str(error).encode())
            return 0

        out = [C.c_void_p for _ in results]
        return C.CFUNCTYPE(C.c_int32, C.c_void_p, *types(arguments), *out)(enter)
