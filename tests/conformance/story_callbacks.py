"""Stories of functions of the user's: hooks, custom functions and those whose gradients are checked."""

from story_words import (
    backward,
    call,
    function,
    grad_is,
    is_tensor,
    same,
    tensor,
    v,
)

SQUARE = function(call("square", "y", input=v("inputs", 0)), gives=[v("y")])
# Its derivative is taken for x instead of 2x.
HALF_SQUARE = function(
    call("detach", "constant", input=v("inputs", 0)),
    call("mul", "y", input=v("constant"), other=v("inputs", 0)),
    gives=[v("y")],
)
MISMATCH = "Jacobian mismatch for output 0 with respect to input 0"

CALLBACKS = {
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
    "gradients by finite differences": [
        tensor("x", [0.5, 2], dtype="float64", grad=True),
        call("gradcheck", "right", func=SQUARE, inputs=[v("x")]),
        same("right", True),
        call("gradgradcheck", "second", func=SQUARE, inputs=[v("x")]),
        same("second", True),
        call("gradcheck", func=HALF_SQUARE, inputs=[v("x")], error=MISMATCH),
        call("gradgradcheck", func=HALF_SQUARE, inputs=[v("x")], error=MISMATCH),
        call("gradcheck", "wrong", func=HALF_SQUARE, inputs=[v("x")], raise_exception=False),
        same("wrong", False),
        call("gradcheck", "rough", func=HALF_SQUARE, inputs=[v("x")], atol=10),
        same("rough", True),
        tensor("plain", [1], dtype="float64"),
        call(
            "gradcheck",
            func=SQUARE,
            inputs=[v("plain")],
            error="at least one input tensor to require",
        ),
        is_tensor("x", [0.5, 2], dtype="float64"),  # it was moved, and put back
    ],
    "a function to check that fails": [
        tensor("x", [0.5, 2], dtype="float64", grad=True),
        call("gradcheck", func=function(raises="not today"), inputs=[v("x")], error="not today"),
    ],
}
