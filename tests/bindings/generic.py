"""A binding of the whole library over ctypes. share/dumbtorch/dumbtorch.json says everything, so no
function has code of its own. With `dt = Library(library, description)` functions are called as in C,
`dt.max_dim(x, 0)`, or as methods, `x.max_dim(dim=0)`; options are named arguments."""

import ctypes as C
import json
from functools import partial
from itertools import chain, count

FFI = {"int32": C.c_int32, "int64": C.c_int64, "double": C.c_double, "pointer": C.c_void_p}
NUMBER = {"bool": C.c_int32, "i64": C.c_int64, "f64": C.c_double}


class Handle:
    def __init__(self, library, kind, address):
        self.library, self.kind, self.address = library, kind, address

    def __del__(self):
        self.library.c[f"dt_{self.kind}_release"](C.c_void_p(self.address))

    def __getattr__(self, name):
        own = f"{self.kind}_{name}"
        return partial(getattr(self.library, own if hasattr(self.library, own) else name), self)


class Library:
    def __init__(self, library, description):
        self.c, d = C.CDLL(str(library)), json.loads(description.read_text())
        self.c.dt_error_message.restype = C.c_char_p
        self.enums = {e["name"]: {v["name"]: v["number"] for v in e["values"]} for e in d["enums"]}
        self.options = {o["name"]: o for o in d["options"]}
        self.entries, self.users, self.next_user = {}, {}, count(1)
        self.drop = C.CFUNCTYPE(None, C.c_void_p)(lambda user: self.users.pop(user) and None)
        for k in d["callbacks"]:
            types = [FFI[p["ffi"]] for a in k["arguments"] for p in a["parameters"]]
            entry = C.CFUNCTYPE(C.c_int32, C.c_void_p, *types, *[C.c_void_p] * len(k["results"]))
            self.entries[k["name"]] = entry(partial(self.enter, k))
        for f in d["functions"]:
            setattr(self, f["name"].removeprefix("dt_"), partial(self.call, f))

    def do(self, name, *passed):
        if self.c[name](*passed):
            raise RuntimeError(self.c.dt_error_message().decode())

    def call(self, f, *given, **named):
        defaults = {a["name"]: a["default"] for a in f["arguments"] if "default" in a}
        named = defaults | dict(zip((a["name"] for a in f["arguments"]), given)) | named
        passed, values, keep, results = [], [], [], f["results"]
        for a in f["arguments"]:
            value = named.pop(a["name"])
            values.append(named if a["kind"] == "options" else value)
            cells = zip(a["parameters"], self.give(a, values[-1], keep))
            passed += [FFI[p["ffi"]](cell) for p, cell in cells]
        if named:
            raise TypeError(f"{f['name']} has no argument {', '.join(named)}")
        if results and results[0]["form"] == "numbers":
            return self.numbers(f["name"], passed, NUMBER[results[0]["kind"][:3]])
        rooms = [[FFI[p["ffi"]]() for p in r["parameters"]] for r in results]
        self.do(f["name"], *passed, *map(C.byref, chain(*rooms)))
        taken = [self.take(r, *room) for r, room in zip(results, rooms)]
        return values[0] if f.get("returns_first") else taken[0] if len(taken) == 1 else taken

    def numbers(self, name, passed, number, capacity=0):
        """Fills a buffer; the first call says how large it has to be."""
        room, n = (number * capacity)(), C.c_int64()
        self.do(name, *passed, room, C.c_int64(capacity), C.byref(n))
        return room[:] if n.value <= capacity else self.numbers(name, passed, number, n.value)

    def give(self, a, value, keep):
        """A number or an address for each C parameter; `keep` holds what lies there."""
        base, _, is_list = a["kind"].replace("?", "").partition("[")
        n, pointed = len(a["parameters"]), a["parameters"][0]["ffi"] == "pointer"
        at = lambda x: keep.append(x) or C.cast(x, C.c_void_p).value  # noqa: E731
        if value is None:
            return [0] * n
        if is_list:
            values = value if isinstance(value, list) else [value] * a["count"]
            one = {"kind": base, "parameters": a["parameters"][1:]}
            cells = [self.give(one, v, keep)[0] for v in values]
            return [at((NUMBER.get(base, C.c_void_p) * (len(cells) + 1))(*cells)), len(cells)]
        if base in ("operand", "scalar") and not isinstance(value, Handle):
            kind = self.enums["scalar_kind"][type(value).__name__]
            return [0, kind, 0 if kind == 3 else value, value][-n:]
        if base in NUMBER:
            return [at((NUMBER[base] * 1)(value)) if pointed else value]
        others = {
            "str": lambda: [at(value.encode())],
            "path": lambda: [at(value.encode())],
            "bytes": lambda: [at(value), len(value)],
            "enum": lambda: [self.enums[a["of"]][value]],
            "device": lambda: self.device_from_text(value),
            "options": lambda: [at(self.struct(self.options[a["of"]], value, keep))],
            "callback": lambda: [at(self.entries[a["of"]]), self.hold(value), at(self.drop)],
        }
        return others[base]() if base in others else [getattr(value, "address", value), 0, 0, 0][:n]

    def hold(self, function):
        self.users[number := next(self.next_user)] = function
        return number

    def struct(self, o, named, keep):
        room = C.create_string_buffer(o["size"])
        self.do(o["init"], room, C.c_int64(o["size"]))
        for a in (a for a in o["fields"] if a["name"] in named):
            cells = self.give(a, named.pop(a["name"]), keep)
            for p, cell in zip(a["parameters"], cells):
                FFI[p["ffi"]].from_buffer(room, p["offset"]).value = cell
        return room

    def take(self, r, first, *more):
        if r["form"] == "value":
            cells = [first.value, *(x.value for x in more)]
            one = cells[1 + (cells[0] == 3)] if r["kind"] == "scalar" else cells[0]
            return cells if r["kind"] == "device" else one
        out, text = Handle(self, r["handle"], first.value), C.c_char_p()
        if r["form"] == "object":
            return out if out.address else None
        if r["form"] == "tensors":
            return [out.get(i) for i in range(out.len())]
        if r["form"] == "text":
            self.do("dt_bytes_data", first, C.byref(text), C.byref(C.c_int64()))
            return text.value.decode()
        read = partial(self.do, "dt_string_list_get", first)
        places = (C.c_int64(i) for i in range(out.len()))
        return [read(i, C.byref(text)) or text.value.decode() for i in places]

    def enter(self, k, user, *cells):
        """Calls a function of the user's. Tensors that come in are lent, those that go out new."""
        own = lambda address: address and self.tensor_alias(address)  # noqa: E731
        cells, given = iter(cells), []
        try:
            for a in k["arguments"]:
                cell, *n = (next(cells) for _ in a["parameters"])
                if n:
                    cell = [own(x) for x in (C.c_void_p * n[0]).from_address(cell or 0)]
                elif a["kind"] == "str":
                    cell = C.string_at(cell).decode()
                given.append(own(cell) if a["kind"] in ("tensor", "tensor?") else cell)
            result = self.users[user](*given)
            for r, address in zip(k["results"], cells):
                if r["form"] != "value" and result is not None:
                    new = (self.tensor_list_new if r["form"] == "tensors" else own)(result)
                    result, new.address = new.address, None
                FFI[r["parameters"][0]["ffi"]].from_address(address).value = result
        except Exception as error:
            return self.c.dt_error_set(self.enums["status"]["runtime_error"], str(error).encode())
        return 0
