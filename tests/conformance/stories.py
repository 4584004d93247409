"""Stories: several calls in order, about what no single call shows: errors, functions of the user's, objects,
files, what is in force. capi/generate/stories.py prints them into every language's conformance program, so a new
language has these tests for nothing.

A story is a list of steps over variables; a variable has one value, and every one is used. A step that a
language cannot say (`wrong`, `loosely`: its compiler refuses it; `scope`: it has no such function) is left out
there, and a story whose point it cannot say. There are two GPUs, those of tests/cuda/fake_devices.cpp."""


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


ONES = call("ones", "x", size=[2, 3])

STORIES = {
    "errors": [
        ONES,
        call(
            "matmul",
            input=v("x"),
            other=v("x"),
            error="matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
        ),
        call(
            "nn_fractional_max_pool2d",
            kernel_size=[2, 2],
            output_ratio=[0.5, 1.0],
            error="output_ratio must be between 0 and 1",
        ),
        call("nn_linear", "linear", in_features=2, out_features=2),
        call("module_cuda", self=v("linear"), device="cpu", error="cuda: Invalid device, must be"),
        call(
            "at",
            input=v("x"),
            index="2",
            error="index 2 is out of bounds for dimension 0 with size 2",
        ),
        call("set_at", input=v("x"), index="9", value=1, error="index 9 is out of bounds for"),
        call("at", input=v("x"), index="a:", error="'a:' is no index"),
        call("autocast_begin", device_type="cpu", dtype="float64", error="float64"),
    ],
    "values of no kind that fits": [
        ONES,
        call("nn_sequential", "net"),
        call("optim_sgd", "sgd", params=[v("x")]),
        wrong("dim", "sum: 'dim' must be a list of integers", "sum", input=v("x"), dim=[1.5]),
        call("zeros", size=2, wrong="size", error="zeros: 'size' must be a list of integers"),
        wrong("dtype", "zeros: 'dtype' has no value 'float'", "zeros", size=[1], dtype="float"),
        wrong(
            "dtype",
            "'dtype' has an embedded null character",
            "zeros",
            size=[1],
            dtype="float32\x00",
        ),
        call("zeros", size=[1], dtype=7, wrong="dtype", error="zeros: 'dtype' must be a string"),
        wrong("device", "at start of device string: gpu", "zeros", size=[1], device="gpu"),
        call("zeros", size=[1], device=1, wrong="device", error="zeros: 'device' must be a string"),
        wrong(
            "dim",
            "narrow: 'dim' must be an integer",
            "narrow",
            input=v("x"),
            dim=[0],
            start=0,
            length=1,
        ),
        wrong("dim", "select: 'dim' must be an integer", "select", input=v("x"), dim=0.5, index=0),
        wrong("dim", "select: 'dim' must be an integer", "select", input=v("x"), dim=True, index=0),
        wrong(
            "fill_value", "full: 'fill_value' must be a number", "full", size=[2], fill_value=v("x")
        ),
        wrong("other", "add: 'other' must be a tensor or a number", "add", input=v("x"), other="1"),
        wrong(
            "value",
            "'value' must be a tensor or a number",
            "set_at",
            input=v("x"),
            index="0",
            value=[1, 2],
        ),
        *(
            call("at", input=v("x"), index=index, wrong="index", error=error)
            for index, error in (
                (0.5, "valid indices (got a number with a fraction)"),
                (True, "valid indices (got "),
                ([[0, "2"]], "slice indices must be integers"),
                ([[0, 1, 2, 3]], "a slice has at most three numbers"),
            )
        ),
        call("relu", input=2, wrong="input", error="relu: 'input' must be tensor"),
        wrong("tensors", "cat: 'tensors' must be a list of tensors", "cat", tensors=[v("x"), 1]),
        wrong("tensors", "cat: 'tensors' must be a list of tensors", "cat", tensors=v("x")),
        call("from_bools", data=[1, 0], wrong="data", error="'data' must be a list of booleans"),
        wrong(
            "scale_factor",
            "'scale_factor' must be a list of numbers",
            "interpolate",
            input=v("x"),
            scale_factor=["2"],
        ),
        wrong("child", "'child' must be module", "module_append", self=v("net"), child=v("x")),
        wrong("name", "'name' must be a string", "optimizer_set", self=v("sgd"), name=1, value=0.5),
        wrong(
            "value",
            "'value' must be a number",
            "optimizer_set",
            self=v("sgd"),
            name="lr",
            value="1",
        ),
        wrong("keepdim", "sum: 'keepdim' must be true or false", "sum", input=v("x"), keepdim=1),
        wrong(
            "progress", "'progress' must be a function", "load_safetensors", path="x", progress=1
        ),
    ],
    "arguments by position and by name": [
        tensor("x", [1, 2, 3, 4, 5, 6], [2, 3]),
        loosely("sum", v("x"), 1, keepdim=True),
        is_tensor("result", [6, 15], [2, 1]),
        loosely("sum", v("x"), 1, True),
        is_tensor("result", [6, 15], [2, 1]),
        loosely("sum", input=v("x")),
        is_tensor("result", [21], []),
        loosely("max", v("x"), dim=0),  # a name tells which overload is meant
        is_tensor("result", [4, 5, 6]),
        loosely("sum", v("x"), keep=True, error="sum: there is no argument named 'keep'"),
        loosely("sum", v("x"), 0, dim=1, error="sum: 'dim' is given twice"),
        loosely("add", v("x"), error="add: 'other' must be a tensor or a number"),
        loosely("sum", v("x"), 0, 1, 2, 3, error="sum: takes at most 4 arguments, not 5"),
    ],
    "a number or a tensor in one place tells which overload is meant": [
        *(tensor(name, [number, number]) for name, number in (("x", 0), ("always", 1))),
        *drawn(v("x"), 1.0, bit=1),
        *drawn(v("x"), 0.0, bit=0),
        *drawn(v("x"), 1, bit=1),
        *drawn(v("x"), p=0, bit=0),
        *drawn(v("x"), v("always"), bit=1),
        loosely("bernoulli_", v("x"), 1.5, error="expects p to be in"),
    ],
    "what is not given is the default": [
        call("nn_linear", "whole", in_features=3, out_features=2),
        call("module_state_dict", "names", self=v("whole")),
        same("names", ["weight", "bias"]),
        call("nn_linear", "bare", in_features=3, out_features=2, bias=False, dtype="float64"),
        call("module_parameters", "weights", self=v("bare")),
        same("weights", 1),
        call("tensor_dtype", "dtype", input=v("weights", 0)),
        same("dtype", "float64"),
        tensor("x", [-1, 3]),
        call("clamp", "positive", input=v("x"), min=0),
        is_tensor("positive", [0, 3]),
        call("clamp", "below", input=v("x"), max=v("positive")),
        is_tensor("below", [-1, 3]),
        call("sum", "total", input=v("x")),
        call("tensor_item", "number", input=v("total")),
        same("number", 2.0),
        call("tensor_device", "device", input=v("x")),
        same("device", "cpu"),
        call("zeros", "there", size=[1], device="cpu:0"),
        call("tensor_device", "same_device", input=v("there")),
        same("same_device", "cpu"),
        call("to_ints", "none", input=v("there")),
        same("none", [0]),
        call(
            "interpolate",
            "twice",
            input={"dtype": "float32", "shape": [1, 1, 1, 2], "data": [1, 2]},
            scale_factor=[2.0],
        ),
        is_tensor("twice", [1, 1, 2, 2, 1, 1, 2, 2], [1, 1, 2, 4]),
    ],
    "lists of lists that make no tensor": [
        nested([[], [1, 2]], "expected sequence of length 0 at dim 1 (got 2)"),
        nested(["x"], "tensor: an element is a string"),
    ],
    "numbers keep their kind": [
        call("full", "big", size=[1], fill_value=2**40 + 1),
        call("tensor_item", "integer", input=v("big")),
        same("integer", 2**40 + 1),
        call("full", "truth", size=[1], fill_value=True),
        call("tensor_item", "yes", input=v("truth")),
        same("yes", True),
        call("full", "half", size=[2], fill_value=-0.5),
        call("to_numbers", "reals", input=v("half")),
        same("reals", [-0.5, -0.5]),
    ],
    "lists longer than a frame": [
        call("arange", "x", start=0, end=100),
        call("to_ints", "numbers", input=v("x")),
        same("numbers", list(range(100))),
        call("chunk", "parts", input=v("x"), chunks=50),
        same("parts", 50),
        call("cat", "all", tensors=[v("parts", k) for k in range(40)]),
        call("to_ints", "first", input=v("all")),
        same("first", list(range(80))),
    ],
    # A tensor of an array is a copy, in its order.
    "arrays": [
        array("matrix", [1, 3, 5, 2, 4, 6], [2, 3], "float32"),
        call("from_array", "x", array=v("matrix")),
        is_tensor("x", [1, 3, 5, 2, 4, 6], [2, 3]),
        call("tensor_stride", "strides", input=v("x")),
        same("strides", [1, 2]),
        call("mul_", input=v("x"), other=2),
        call("from_array", "again", array=v("matrix")),
        is_tensor("again", [1, 3, 5, 2, 4, 6], [2, 3]),
        array("twice", [0] * 6, [2, 3]),
        call("tensor_to_array", input=v("x"), array=v("twice")),
        call("from_array", "doubled", array=v("twice")),
        is_tensor("doubled", [2, 6, 10, 4, 8, 12], [2, 3], "float64"),
        array("wide", list(range(48)), [4, 2, 3, 2]),
        call("from_array", "four", array=v("wide")),
        is_tensor("four", list(range(48)), [4, 2, 3, 2], "float64"),
        array("none", [], [2, 0], "float32"),
        call("from_array", "empty", array=v("none")),
        is_tensor("empty", [], [2, 0]),
        array("bytes", [1, -2], dtype="int8"),
        call("from_array", "small", array=v("bytes")),
        is_tensor("small", [1, -2], dtype="int8"),
        array("short", [8, -300], dtype="int16"),
        call("from_array", "pair", array=v("short")),
        is_tensor("pair", [8, -300], dtype="int16"),
        array("vector", [1, 2, 3, 4, 5, 6], dtype="int32"),
        call("from_array", "odd", array=v("vector", part=(1, 6, 2))),
        is_tensor("odd", [2, 4, 6], dtype="int32"),
        call("tensor_to_array", input=v("pair"), array=v("vector", part=(3, 6, 2))),
        same("vector", [1, 2, 3, 8, 5, -300]),
        array("long", [8589934592], [], "int64"),
        call("from_array", "one", array=v("long")),
        is_tensor("one", [8589934592], [], "int64"),
        array("number", [0], [], "int64"),
        call("tensor_to_array", input=v("one"), array=v("number")),
        same("number", 8589934592),
        call("from_array", array=v("vector", part=(5, None, -1)), error="negative"),
        call("tensor_to_array", input=v("x"), array=v("short"), error="shape"),
        array("truths", [True], dtype="bool"),
        call("from_array", array=v("truths"), error="of reals of 4 or 8 bytes, or of integers"),
    ],
    "gradients": [
        tensor("x", [1, 2], grad=True),
        call("tensor_requires_grad", "wants", input=v("x")),
        same("wants", True),
        call("tensor_grad", "before", input=v("x")),
        same("before", None),
        *backward("x", "loss", 3),
        *grad_is("x", "grad", [3, 3]),
        call("tensor_set_grad", input=v("x")),
        call("tensor_grad", "after", input=v("x")),
        same("after", None),
        tensor("other", [1], grad=True),
        call("mul", "y", input=v("x"), other=v("x")),
        call("sum", "total", input=v("y")),
        call(
            "autograd_grad",
            "grads",
            outputs=[v("total")],
            inputs=[v("x"), v("other")],
            allow_unused=True,
        ),
        same("grads", 2),
        is_tensor(v("grads", 0), [2, 4]),
        same(v("grads", 1), None),
    ],
    "a tensor that is absent in a list": [
        tensor("x", [1, 2], grad=True),
        call("mul", "y", input=v("x"), other=3),
        call("sum", "total", input=v("y")),
        call("autograd_grad", "grads", outputs=[v("total")], inputs=[v("x")], grad_outputs=[None]),
        is_tensor(v("grads", 0), [3, 3]),
    ],
    "what is in force": [
        tensor("x", [1, 2, 3, 4], [2, 2], grad=True),
        scope(
            "no_grad",
            call("mul", "y", input=v("x"), other=2),
            call("tensor_requires_grad", "recorded", input=v("y")),
            same("recorded", False),
        ),
        scope("no_grad", raises="stop"),
        call("is_grad_enabled", "again"),
        same("again", True),
        scope(
            "autocast",
            call("mm", "half", input=v("x"), mat2=v("x")),
            is_tensor("half", [7, 10, 15, 22], [2, 2], "bfloat16"),
            dtype="bfloat16",
        ),
        scope(
            "autocast",
            call("mm", "short", input=v("x"), mat2=v("x")),
            is_tensor("short", [7, 10, 15, 22], [2, 2], "bfloat16"),
            dtype=None,
        ),
        scope("autocast", dtype=None, raises="stop"),
        call("mm", "full", input=v("x"), mat2=v("x")),
        is_tensor("full", [7, 10, 15, 22], [2, 2]),
        call("current_stream", "stream", device="cpu"),
        call("stream_native", "native", self=v("stream")),
        same("native", 0),
    ],
    "hooks": [
        tensor("x", [2, 3], grad=True),
        call(
            "tensor_register_hook",
            "tenfold",
            input=v("x"),
            hook=function(call("mul", "more", input=v("grad"), other=10), gives=v("more")),
        ),
        *backward("x", "loss"),
        *grad_is("x", "first", [10, 10]),
        call("hook_remove", self=v("tenfold")),
        call(
            "tensor_register_hook", input=v("x"), hook=function(is_tensor("grad", [1, 1]))
        ),  # gives nothing: the gradient stays
        *backward("x", "plain"),
        *grad_is("x", "second", [11, 11]),
    ],
    "a hook that fails": [
        tensor("x", [2, 3], grad=True),
        call("tensor_register_hook", "failing", input=v("x"), hook=function(raises="not today")),
        call("sum", "loss", input=v("x")),
        call("tensor_backward", input=v("loss"), error="not today"),
        call("hook_remove", self=v("failing")),
        *backward("x", "other"),
        *grad_is("x", "grad", [1, 1]),
    ],
    "a hook that gives what it cannot": [
        tensor("x", [2, 3], grad=True),
        call("tensor_register_hook", input=v("x"), hook=function(gives=7), wrong="hook"),
        call("sum", "loss", input=v("x")),
        call("tensor_backward", input=v("loss"), error="'result' must be tensor"),
    ],
    "a function of one's own": [
        tensor("x", [2, 3], grad=True),
        call("detach", "bare", input=v("x")),
        call("square", "y", input=v("bare")),
        call(
            "custom_function",
            "out",
            name="Square",
            inputs=[v("x")],
            outputs=[v("y")],
            saved=[v("x")],
            backward=function(
                call("mul", "twice", input=v("saved", 0), other=2),
                call("mul", "grad", input=v("grads", 0), other=v("twice")),
                gives=[v("grad")],
            ),
        ),
        same("out", 1),
        call("sum", "loss", input=v("out", 0)),
        call("tensor_backward", input=v("loss")),
        *grad_is("x", "grad", [4, 6]),
    ],
    "modules": [
        call("nn_sequential", "net"),
        call("nn_linear", "linear", in_features=3, out_features=2, bias=False),
        call("nn_relu", "relu"),
        call("module_append", self=v("net"), child=v("linear")),
        call("module_append", self=v("net"), child=v("relu")),
        call("module_state_dict", "names", "tensors", self=v("net")),
        same("names", ["0.weight"]),
        call("detach", "weight", input=v("tensors", 0)),
        call("fill_", input=v("weight"), value=0.5),
        call(
            "module_forward",
            "out",
            self=v("net"),
            input={"dtype": "float32", "shape": [1, 3], "data": [1, 2, 3]},
        ),
        is_tensor("out", [3, 3], [1, 2]),
        call("module_train", self=v("net"), mode=False),
        call("module_is_training", "training", self=v("net")),
        same("training", False),
    ],
    "an optimizer": [
        tensor("x", [1, 2], grad=True),
        call("optim_sgd", "sgd", params=[v("x")], lr=0.5),
        call("optim_step_lr", "schedule", optimizer=v("sgd"), step_size=1),
        *backward("x", "loss", 2),
        call("optimizer_step", self=v("sgd")),
        is_tensor("x", [0, 1]),
        call("optimizer_add_param_group", self=v("sgd"), params=[v("loss_of")], error="optimize"),
        call("ones", "other", size=[1]),
        call("optimizer_add_param_group", self=v("sgd"), params=[v("other")]),
        call("optimizer_set", self=v("sgd"), name="lr", value=3.0, group=1),
        call("lr_scheduler_step", self=v("schedule")),
        call("lr_scheduler_get_last_lr", "rates", self=v("schedule")),
        same("rates", [0.05, 3.0 * 0.1]),
    ],
    "files": [
        call("arange", "x", start=0, end=3),
        call("ones", "y", size=[2]),
        call("save_safetensors", path=path("some"), names=["a", "é"], tensors=[v("x"), v("y")]),
        call("load_safetensors", "names", "tensors", path=path("some"), only=["é"]),
        same("names", ["é"]),
        is_tensor(v("tensors", 0), [1, 1]),
        call("safetensors_names", "all", path=path("some")),
        same("all", ["a", "é"]),
        call(
            "save_safetensors",
            path=path("some"),
            names=["c"],
            tensors=[v("y")],
            progress=function(same("total", 8), gives=True),
            error="save_safetensors: the progress function asked to stop after 0 of 8 bytes",
        ),
        call(
            "load_safetensors", "again", "whole", path=path("some"), progress=function(gives=False)
        ),
        same("again", ["a", "é"]),
        same("whole", 2),
        call("save_safetensors", path=path(" 'odd'\"%s"), names=["a"], tensors=[v("x")]),
        call("safetensors_names", "odd", path=path(" 'odd'\"%s")),
        same("odd", ["a"]),
        call(
            "save_safetensors",
            path="a\0b",
            names=["a"],
            tensors=[v("x")],
            error="'path' has an embedded null character",
        ),
        call(
            "save_safetensors",
            path=path("none"),
            names=["a\0b"],
            tensors=[v("x")],
            error="'names' has an embedded null character",
        ),
        call("safetensors_names", path=path("none"), error="none"),
    ],
    "absent where that is not the default": [
        call("nn_batch_norm1d", "norm", num_features=1, momentum=None),
        tensor("first", [1, 1, 1, 1], [4, 1]),
        call("module_forward", self=v("norm"), input=v("first")),
        tensor("second", [3, 3, 3, 3], [4, 1]),
        call("module_forward", self=v("norm"), input=v("second")),
        call("module_named_buffers", "names", "buffers", self=v("norm")),
        same("names", ["running_mean", "running_var", "num_batches_tracked"]),
        is_tensor(v("buffers", 0), [2]),
    ],
    "memory that runs out": [
        call("set_memory_hook", hook=function(raises="not today")),
        call("zeros", size=[2**58], error="not today"),
        call("set_memory_hook", hook=function(gives=True)),  # which promises too much
        call("zeros", size=[2**58], error="you tried to allocate"),
        call("set_memory_hook", hook=function(raises="tomorrow")),
        call("remove_memory_hook"),
        call("zeros", size=[2**58], error="you tried to allocate"),
    ],
    # All share a tensor, and each hears of its own errors.
    "threads": [
        call("full", "common", size=[64, 64], fill_value=2.0),
        call("ones", "three", size=[3, 1]),
        call("ones", "five", size=[5, 1]),
        threads(
            4,
            repeat(
                200,
                call("matmul", "product", input=v("common"), other=v("common")),
                call("max", "largest", input=v("product")),
                call("tensor_item", "number", input=v("largest")),
                same("number", 256.0),
                call("matmul", input=v("common"), other=v("three"), error="(64x64 and 3x1)"),
                call("matmul", input=v("common"), other=v("five"), error="(64x64 and 5x1)"),
            ),
        ),
    ],
    # To a collector a tensor is a few bytes: without help it would never look for those that are garbage.
    "garbage does not pile up": [
        call("reset_peak_memory_stats"),
        repeat(400, call("zeros", size=[512, 512])),  # 1 MiB each
        call("memory_stats", "allocated", "reserved", "peak"),
        less("allocated", 200 << 20),
        less("reserved", 1 << 30),
        less("peak", 300 << 20),
    ],
    "garbage does not pile up on any device": [
        repeat(
            400,
            call("zeros", size=[512, 512], device="cuda:0"),
            call("zeros", size=[512, 512], device="cuda:1"),
        ),
        call("memory_stats", "first", device="cuda:0"),
        less("first", 200 << 20),
        call("memory_stats", "second", device="cuda:1"),
        less("second", 200 << 20),
    ],
}


# What is done with a layer of tests/layer_rows.py: the parameters are in ROW.state, the inputs in ROW.in, the names of
# the outputs in ROW.like, and these are kept in ROW.out. Of a model of tests/model_rows.py, in evaluation, only the
# first is kept.
APPLIED = [
    call("module_load", self=v("layer"), path=path(".state")),
    call("load_checkpoint", "", "inputs", path=path(".in")),
    call("module_forward_outputs", "outputs", self=v("layer"), inputs=v("inputs")),
]
TRIED = {
    "layer": [
        *APPLIED,
        call("load_checkpoint", "names", path=path(".like")),
        call("save_checkpoint", path=path(".out"), names=v("names"), tensors=v("outputs")),
    ],
    "model": [
        call("module_train", self=v("layer"), mode=False),
        *APPLIED,
        call("save_checkpoint", path=path(".out"), names=["1"], tensors=[v("outputs", 0)]),
    ],
}
