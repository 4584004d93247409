"""Module: the base class of everything with parameters. PyTorch's semantics, in Python.

A module's parameters, buffers and children are in three dictionaries, `_parameters`, `_buffers` and
`_modules`, which are the only place where they are: attribute access looks there. Generated layers
read the dictionaries directly.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial

from ... import __future__ as _future
from ... import _ops
from ..._tensor import Tensor, forget_grads
from ..._type_info import typename
from ..._types import DTYPE
from ...autograd.grad_mode import no_grad
from ...utils.hooks import Hooks, RemovableHandle
from ...utils.swap import replace, swap_tensors
from ..parameter import Buffer, Parameter, is_lazy
from .calls import (  # noqa: F401  where PyTorch has those of all modules
    CallHooks,
    HooksOfAll,
    add_call_hook,
    call_with_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from .state import StateDict, _IncompatibleKeys  # noqa: F401  where PyTorch has it

# The hooks of all modules: an empty dictionary that is put here takes them off.
_global_forward_hooks: HooksOfAll = HooksOfAll()
_global_forward_hooks_with_kwargs: OrderedDict = OrderedDict()
_global_forward_hooks_always_called: OrderedDict = OrderedDict()
_global_forward_pre_hooks: HooksOfAll = HooksOfAll()
_global_backward_hooks: HooksOfAll = HooksOfAll()
_global_backward_pre_hooks: HooksOfAll = HooksOfAll()


def _is_like_a_tensor(x) -> bool:
    return isinstance(x, Tensor) or hasattr(x, "__torch_function__")


def _register_buffer(module, name: str, value: Buffer) -> None:
    """Has the module register it. A method of a subclass may be from before `persistent`."""
    register = module.register_buffer
    if getattr(register, "__func__", None) is not Module.register_buffer:
        import inspect

        if "persistent" not in inspect.signature(register).parameters:
            if not value.persistent:
                raise RuntimeError(
                    "Registering a non-persistent buffer on a Module subclass that implements register_buffer() "
                    "without the persistent argument is not allowed."
                )
            register(name, value)
            return
    register(name, value, value.persistent)


class Module(StateDict):
    """Base class of layers and networks: assign parameters and modules as attributes, write
    forward.
    """

    _dt_globals = globals()  # where the hooks of all modules are
    _dt_hooked = False  # True: there may be hooks, for which a call looks
    _forward_hooks = CallHooks()
    _forward_hooks_with_kwargs = Hooks()
    _forward_hooks_always_called = Hooks()
    _forward_pre_hooks = CallHooks()
    _forward_pre_hooks_with_kwargs = Hooks()
    _backward_hooks = CallHooks()
    _backward_pre_hooks = CallHooks()
    training: bool
    call_super_init = False  # True: __init__ hands its arguments on to the next base class
    dump_patches = False
    _older: dict = {}  # settings that whole modules in old files lack, and what they were then

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            self._refuse(args, kwargs)
        set_plain = object.__setattr__
        set_plain(self, "training", True)
        set_plain(self, "_parameters", {})
        set_plain(self, "_buffers", {})
        set_plain(self, "_modules", {})
        set_plain(self, "_non_persistent_buffers_set", set())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def _refuse(self, args: tuple, kwargs: dict) -> None:
        start = f"{type(self).__name__}.__init__()"
        for name in kwargs:
            raise TypeError(f"{start} got an unexpected keyword argument '{name}'")
        if args:
            raise TypeError(f"{start} takes 1 positional argument but {len(args) + 1} were given")

    def forward(self, *args, **kwargs):
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args, **kwargs):
        if self._dt_hooked:
            return call_with_hooks(self, args, kwargs)
        if kwargs:  # or the call would make another dict of nothing
            return self.forward(*args, **kwargs)
        return self.forward(*args)

    _call_impl = _wrapped_call_impl = __call__

    def __init_subclass__(cls, **kwargs):
        """A class with a way of its own to be called by PyTorch's name is called so."""
        super().__init_subclass__(**kwargs)
        for name in ("_call_impl", "_wrapped_call_impl"):
            own = getattr(cls, name)
            usual = [getattr(c, name, None) for c in cls.__mro__[1:]]
            if own is not Module.__call__ and cls.__call__ in usual:
                cls.__call__ = own

    # ---- attributes

    def __setstate__(self, state: dict) -> None:
        """Takes what a pickle or a copy has kept."""
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        for name, value in self._older.items():
            if not hasattr(self, name):
                self.__dict__[name] = value

    def __getattr__(self, name):
        # Called only for what is not an ordinary attribute.
        state = self.__dict__
        if "_parameters" in state:  # __init__ has run
            if name in state["_parameters"]:
                return state["_parameters"][name]
            if name in state["_modules"]:
                return state["_modules"][name]
            if name in state["_buffers"]:
                return state["_buffers"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        state = self.__dict__
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            self._registry("_modules")[name] = registered("module", self, name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            state["_parameters"][name] = None
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            state["_modules"][name] = registered("module", self, name, None)
        elif isinstance(value, Buffer):  # takes the place of a buffer alone
            _register_buffer(self, name, value)
        elif name in state.get("_buffers", ()):
            if value is not None and not _is_like_a_tensor(value):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            state["_buffers"][name] = registered("buffer", self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for registry in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(registry, ()):
                del self.__dict__[registry][name]
                self._non_persistent_buffers_set.discard(name)
                return
        if isinstance(getattr(type(self), name, None), Hooks):  # made again when they are needed
            self.__dict__.pop(name, None)
            return
        object.__delattr__(self, name)

    def __dir__(self):
        names = {*object.__dir__(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def _registry(self, which: str) -> dict:
        try:
            return self.__dict__[which]
        except KeyError:
            what = {"_parameters": "parameters", "_modules": "module", "_buffers": "buffer"}[which]
            raise AttributeError(f"cannot assign {what} before Module.__init__() call") from None

    def _forget(self, name: str, keep: str) -> None:
        """A name is an attribute of one sort only."""
        self.__dict__.pop(name, None)
        for registry in ("_parameters", "_buffers", "_modules"):
            if registry != keep:
                self.__dict__.get(registry, {}).pop(name, None)

    # ---- registration

    def _check_name(self, what: str, name: str, registry: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            got = f", got: {name}" if what == "module" else ""
            raise KeyError(f'{what} name can\'t contain "."{got}')
        if not name:
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self._registry(registry):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param) -> None:
        """Adds a parameter, or None for one that is absent."""
        registry = self._registry("_parameters")
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                "created explicitly."
            )
        registry[name] = param if param is None else registered("parameter", self, name, param)

    def register_buffer(self, name: str, tensor, persistent: bool = True) -> None:
        """Adds a tensor that is not trained; persistent ones are in the state dict."""
        registry = self._registry("_buffers")
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not _is_like_a_tensor(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        registry[name] = registered("buffer", self, name, tensor)
        (
            self._non_persistent_buffers_set.discard
            if persistent
            else self._non_persistent_buffers_set.add
        )(name)

    def add_module(self, name: str, module) -> None:
        """Adds a child, or None for one that is absent."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        registry = self._registry("_modules")
        self._check_name("module", name, "_modules")
        registry[name] = registered("module", self, name, module)

    def register_module(self, name: str, module) -> None:
        self.add_module(name, module)

    # ---- iteration

    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True):
        """(name, module) of this module and all below it."""
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(memo, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True):
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self):
        """(name, module) of the direct children."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self):
        """The direct children."""
        for _, child in self.named_children():
            yield child

    def _named_members(self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool):
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for place, module in modules:
            for name, member in module.__dict__[registry].items():
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield f"{place}.{name}" if place else name, member

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, parameter) of this module and all below it; shared ones once."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters of this module and all below it; shared ones once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, buffer) of this module and all below it."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers of this module and all below it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str):
        """The module at a dotted path."""
        module = self
        for name in target.split(".") if target else ():
            if name not in module._modules:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = module._modules[name]
        return module

    def set_submodule(self, target: str, module, strict: bool = False) -> None:
        """Puts a module at a dotted path; with strict, one must be there already."""
        path, _, name = target.rpartition(".")
        if not name:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if not isinstance(getattr(parent, name, module), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str):
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._parameters:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module._parameters[name]

    def get_buffer(self, target: str):
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module._buffers[name]

    # ---- mode, gradients

    def train(self, mode: bool = True):
        """Training mode for this module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self):
        """Evaluation mode for this module and all below it."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        """Whether the parameters are trained."""
        for p in self.parameters():
            _ops.tensor_requires_grad_(p, requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters."""
        forget_grads(list(self.parameters()), set_to_none)

    # ---- conversion

    def _apply(self, function, recurse: bool = True):
        """Replaces every tensor by function(tensor). Parameters stay the same Python objects."""
        for module in self.modules() if recurse else (self,):
            for name, p in module._parameters.items():
                if p is not None:
                    module._parameters[name] = _convert(p, function, module, name)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = _converted(buffer, function)
        return self

    def to_empty(self, *, device, recurse: bool = True):
        """Moves to a device without the values: parameters and buffers are uninitialised."""
        return self._apply(lambda t: _ops.empty_like(t, device=device), recurse)

    def share_memory(self):
        """Moves parameters and buffers into memory that processes forked from here on see, too."""
        return self._apply(lambda t: t.share_memory_())

    def apply(self, fn):
        """Calls fn with every module, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kwargs):
        """Moves or converts: to(dtype), to(device), to(device, dtype), to(tensor)."""
        from ..._tensor import _to_arguments

        options = _to_arguments(args, kwargs)
        if options.pop("copy", False):
            raise RuntimeError(".to() does not accept copy argument")
        kind, order = options.pop("dtype", None), options.pop("memory_format", None)
        if kind is not None and not DTYPE.value(DTYPE[kind]).is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={kind}"
            )

        def convert(t):
            wanted = kind if t.is_floating_point() else None
            # Vectors and matrices have no order of channels; of volumes `to` refuses it.
            ordered = order if t.ndim in (4, 5) else None
            return _ops.to(t, dtype=wanted, **options, memory_format=ordered)

        return self._apply(convert)

    def type(self, dst_type):
        return self._apply(lambda t: t.to(dst_type))

    def float(self):
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self):
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self):
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        return self._apply(lambda t: t.cuda(device))

    # ---- hooks

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Calls hook(module, args) before forward; what it returns replaces args."""
        return self._register("_forward_pre_hooks", hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ):
        """Calls hook(module, args, output) after forward; what it returns replaces output. always_call:
        also where forward fails."""
        return self._register(
            "_forward_hooks", hook, prepend, with_kwargs=with_kwargs, always_called=always_call
        )

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Has backward call hook(module, grad_output); what it returns replaces grad_output."""
        return self._register("_backward_pre_hooks", hook, prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Has backward call hook(module, grad_input, grad_output), tuples with one gradient for each
        input and output; what it returns replaces grad_input."""
        return self._register("_backward_hooks", hook, prepend)

    register_backward_hook = register_full_backward_hook

    def _register(self, which: str, hook, prepend: bool, **kinds: bool) -> RemovableHandle:
        return add_call_hook(partial(getattr, self), which, hook, prepend, **kinds)

    def compile(self, *args, **kwargs):
        """Changes nothing: nothing is compiled."""

    # ---- text

    def extra_repr(self) -> str:
        """What is shown between the brackets."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(text, 2)}" for name, text in self._shown_children()]
        if len(lines) <= 1 and not children:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join([*lines, *children]) + "\n)"

    def _shown_children(self):
        """Names and texts of the children, as print shows them."""
        return [(name, repr(child)) for name, child in self._modules.items()]


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines but the first begin with so many more spaces."""
    return s_.replace("\n", "\n" + numSpaces * " ")


def _converted(buffer, function):
    value = function(buffer)
    if is_lazy(buffer) and not is_lazy(value):  # it has to be made yet
        return type(buffer)(device=value.device, dtype=value.dtype)
    return value


def _convert(p: Parameter, function, module: Module, name: str) -> Parameter:
    """The parameter of function(p), which is p itself unless `__future__` says otherwise."""
    with no_grad():
        value = function(p)
        grad = p.grad
    if _future.get_swap_module_params_on_conversion():
        return _swapped(p, grad, value, function, module, name)
    if _future.get_overwrite_module_params_on_conversion():
        out = Parameter(value, p.requires_grad)
        if grad is not None:
            out.grad = _gradient(grad, function)
        return out
    _look_at(p, value)
    if grad is not None:  # it stays the same tensor, with its place in a graph
        with no_grad():
            _look_at(grad, function(grad))
    return p


def _look_at(tensor, value) -> None:
    if not _ops.tensor_is_set_to(value, tensor) or value.dtype is not tensor.dtype:
        _ops.tensor_set_data(tensor, value)


def _gradient(grad, function):
    with no_grad():
        return function(grad).requires_grad_(grad.requires_grad)


def _swapped(p: Parameter, grad, value, function, module: Module, name: str) -> Parameter:
    try:
        replace(p, Parameter(value, p.requires_grad))
    except RuntimeError as error:
        raise RuntimeError(f"_apply(): Couldn't swap {module._get_name()}.{name}") from error
    if grad is not None:
        swap_tensors(grad, _gradient(grad, function))
        p.grad = grad
    return p
