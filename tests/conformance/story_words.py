"""The words that stories.py is written in."""


def call(fn, *names, error="", wrong="", **args):
    """names = fn(args), or it fails with a sentence that has `error` in it; "" is a result that nobody wants.
    `wrong` names an argument that is of no kind that fits."""
    return {"call": fn, "names": names, "args": args, "error": error, "wrong": wrong}


def wrong(name, error, fn, /, **args):
    """A call of which an argument is of no kind that fits."""
    return call(fn, error=error, wrong=name, **args)


def loosely(fn, *values, error="", **named):
    """result = fn(values, named), with what has a default given by position, or what is required by name, as only
    languages allow that learn what is given while they run."""
    return {"loosely": fn, "values": values, "named": named, "error": error}


def tensor(name, data, shape=None, dtype="float32", grad=False):
    value = {"data": data, "shape": [len(data)] if shape is None else shape, "dtype": dtype}
    return {"make": name, "value": value, "grad": grad}


def array(name, data, shape=None, dtype="float64"):
    """One of the language's own, if it has some whose elements have kinds; the last index is the fastest here."""
    shape = [len(data)] if shape is None else shape
    return {"array": name, "data": data, "shape": shape, "dtype": dtype}


def same(name, value):
    return {"same": v(name) if isinstance(name, str) else name, "value": value}


def is_tensor(name, data, shape=None, dtype="float32"):
    return same(name, tensor("", data, shape, dtype)["value"])


def drawn(*values, bit, **named):
    return [loosely("bernoulli_", *values, **named), is_tensor("x", [bit, bit])]


def nested(data, error):
    """A list of lists that makes no tensor."""
    return {"nested": data, "named": {}, "error": error}


def scope(kind, *steps, raises="", **args):
    """Steps within no_grad or autocast, of which the last one may be an error: what they name is theirs."""
    return {"scope": kind, "args": args, "steps": steps, "raises": raises}


def repeat(count, *steps):
    return {"repeat": count, "steps": steps}


def threads(count, *steps):
    """Steps that several threads take at once: what they name is each one's own."""
    return {"threads": count, "steps": steps}


def less(name, than):
    return {"less": v(name), "than": than}


def v(name, entry=None, part=None):
    """A variable, an entry of a list, or a part of an array: (start, stop, step)."""
    return {"variable": name, "entry": entry, "part": part}


def function(*steps, gives=None, raises=""):
    """What it takes has the names of the schema's callback."""
    return {"steps": steps, "gives": gives, "raises": raises}


def path(name):
    """That of a file which is new in each run."""
    return {"path": name}


def backward(x, loss, factor=1):
    """`loss`, which is a variable's name, is the sum of x * factor."""
    return [
        call("mul", f"{loss}_of", input=v(x), other=factor),
        call("sum", loss, input=v(f"{loss}_of")),
        call("tensor_backward", input=v(loss)),
    ]


def grad_is(x, name, data):
    return [call("tensor_grad", name, input=v(x)), is_tensor(name, data)]
