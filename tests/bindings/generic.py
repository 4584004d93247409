"""A binding of the whole library over ctypes: share/dumbtorch/dumbtorch.json says everything, so no
function has code of its own. With `dt = Library(library, description)` functions are called as in C,
`dt.max_dim(x, 0)`, or as methods, `x.max_dim(dim=0)`; options are named arguments."""

import ctypes as C
import json
from functools import partial

FFI = {"int32": C.c_int32, "int64": C.c_int64, "double": C.c_double, "pointer": C.c_void_p}
FFI |= {"text": C.c_char_p, "byte": C.c_ubyte}


def types(*values):
    return [FFI[p["ffi"]] for value in values for p in value["parameters"]]


class Handle(C.c_void_p):
    def __del__(self):
        getattr(self.library.c, f"dt_{type(self).__name__}_release")(self)

    def __getattr__(self, name):
        method = getattr(self.library, f"{type(self).__name__}_{name}", None)
        return partial(method or getattr(self.library, name), self)


class Library:
    def __init__(self, library, description):
        self.c, d = C.CDLL(str(library)), json.loads(description.read_text())
        self.c.dt_error_message.restype = C.c_char_p
        self.enums = {name: e["values"] for name, e in d["enums"].items()}
        self.kinds = {t: self.enums["scalar_kind"][t.__name__] for t in (bool, int, float)}
        self.handles = {name: type(name, (Handle,), {"library": self}) for name in d["handles"]}
        self.options, self.callbacks, self.users = d["options"], {}, []
        self.drop = C.CFUNCTYPE(None, C.py_object)(lambda user: self.users.remove(user))
        for name, k in d["callbacks"].items():
            passed = [C.py_object, *types(*k["arguments"]), *(C.c_void_p for _ in k["results"])]
            self.callbacks[name] = C.CFUNCTYPE(C.c_int32, *passed)(partial(self._enter, k))
        for name, f in d["functions"].items():
            setattr(self, name.removeprefix("dt_"), partial(self._call, name, f))

    def _call(self, name, f, /, *given, **named):
        values = {a["name"]: a["default"] for a in f["arguments"] if "default" in a}
        values |= dict(zip((a["name"] for a in f["arguments"]), given)) | named
        passed = [c for a in f["arguments"] for c in self._give(values.pop(a["name"]), values, **a)]
        if values:
            raise TypeError(f"{name} has no argument {', '.join(values)}")

        def run(*rooms):
            if getattr(self.c, name)(*passed, *rooms):
                raise RuntimeError(self.c.dt_error_message().decode())

        if entry := f["results"] and f["results"][0].get("entry"):  # a buffer for a list of numbers
            run(None, C.c_int64(), C.byref(n := C.c_int64()))  # how many there are
            run(room := (FFI[entry] * n.value)(), n, C.byref(n))
            return room[:]
        rooms = [[self.handles.get(r.get("handle"), t)() for t in types(r)] for r in f["results"]]
        run(*(C.byref(cell) for room in rooms for cell in room))
        taken = [self._take(*room, **r) for r, room in zip(f["results"], rooms)]
        return passed[0] if "returns_first" in f else taken[0] if len(taken) == 1 else taken

    def _give(self, value, rest, form, parameters, entry="", of="", **_):
        """What the parameters of an argument hold; the fields of options are in `rest`."""
        items = value if isinstance(value, list | bytes) else [value]
        items = [v.encode() if isinstance(v, str) else v for v in items]
        number = [0, self.kinds.get(type(value)), 0 if isinstance(value, float) else value, value]
        ways = {
            "list": lambda: [C.pointer((FFI[entry] * len(items))(*items)), len(items)],
            "enum": lambda: [self.enums[of][value]],
            "scalar": lambda: number[-len(parameters) :],
            "device": lambda: self.device_from_text(value),
            "options": lambda: [C.pointer(self._struct(rest, **self.options[of]))],
            "callback": lambda: [self.callbacks[of], C.py_object(value), self.drop],
        }
        if value is None or isinstance(value, Handle):
            ways[form] = lambda: [value or 0, 0, 0, 0]
        elif form == "callback":
            self.users.append(value := partial(value))  # until it is dropped; no other is equal
        cells = zip(parameters, ways[form]() if form in ways else items)
        return [FFI[p["ffi"]](c) if isinstance(c, int | float | bytes) else c for p, c in cells]

    def _struct(self, named, size, init, fields, **_):
        getattr(self.c, init)(room := C.create_string_buffer(size), C.c_int64(size))
        for a in (a for a in fields if a["name"] in named):
            for p, cell in zip(a["parameters"], self._give(named.pop(a["name"]), {}, **a)):
                C.memmove(C.byref(room, p["offset"]), C.byref(cell), C.sizeof(cell))
                setattr(room, p["name"], cell)  # what it points to lives as long
        return room

    def _take(self, out, *more, form, **_):
        more = [cell.value for cell in more]
        ways = {
            "scalar": lambda: more[out.value == self.kinds[float]],
            "object": lambda: out or None,
            "list": lambda: [out.get(i) for i in range(out.len())],
            "text": lambda: out.data(),
            "lent": lambda: self._own(out),
            "lent_list": lambda: [*map(self._own, (C.c_void_p * more[0]).from_address(out.value))],
            "lent_text": lambda: C.string_at(out, *more).decode(),
        }
        return ways[form]() if form in ways else [out.value, *more] if more else out.value

    def _own(self, lent):
        return lent and self.tensor_alias(lent)

    def _enter(self, callback, user, *cells):  # tensors that come in are lent, new ones go out
        try:
            cells, args = iter(cells), callback["arguments"]
            result = user(*(self._take(*(t(next(cells)) for t in types(a)), **a) for a in args))
            for r, cell in zip(callback["results"], cells):
                if "made_by" in r and result is not None:
                    new = getattr(self, r["made_by"].removeprefix("dt_"))(result)
                    result, new.value = new.value, None
                types(r)[0].from_address(cell).value = result
        except Exception as error:
            return self.c.dt_error_set(self.enums["status"]["callback"], str(error).encode())
        return 0
