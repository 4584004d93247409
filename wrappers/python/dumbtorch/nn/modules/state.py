"""The state dict of a module: saving, loading, hooks around both, and state that is no tensor.

Loading changes nothing before everything has been looked at: what is to be written is put off in the
dict that goes from module to module, unless a module loads itself in a way of its own.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from ... import __future__ as _future
from ..._tensor import Tensor
from ..._warning import warn_each
from ...autograd.grad_mode import no_grad
from ...utils.hooks import Hooks, RemovableHandle, add_hook, hooks_of
from ...utils.swap import replace
from ..parameter import Parameter, is_lazy


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` did not find, and what it had no place for."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


_EXTRA = "_extra_state"


class _WithoutModule:
    """A hook that is called without the module, and can be pickled as the hook can."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, module, *given):
        return self.hook(*given)


class _Loading(OrderedDict):
    """A state dict on its way into modules, with the writes that are put off."""

    def __init__(self, values, writes: list):
        super().__init__(values)
        self.writes = writes


class StateDict:
    """The part of Module that saves and loads."""

    _version = 1  # of the class's state: local_metadata["version"]
    _state_dict_hooks = Hooks()
    _state_dict_pre_hooks = Hooks()
    _load_state_dict_pre_hooks = Hooks()
    _load_state_dict_post_hooks = Hooks()

    # ---- saving

    def state_dict(self, *args, destination=None, prefix: str = "", keep_vars: bool = False):
        """Parameters and persistent buffers by name: tensors that share the module's memory."""
        if args:
            warn_each(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and not prefix else prefix
            keep_vars = args[2] if len(args) > 2 and not keep_vars else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in _values(self, "_state_dict_pre_hooks"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook, may_replace in _values(self, "_state_dict_hooks"):
            changed = hook(self, destination, prefix, metadata)
            if changed is not None and not may_replace:
                raise RuntimeError("state_dict post-hook must return None")
            destination = destination if changed is None else changed
        return destination

    def _save_to_state_dict(self, destination, prefix: str, keep_vars: bool) -> None:
        """Adds this module's own entries."""
        for name, tensor in self._state():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _state(self):
        """This module's own parameters and persistent buffers."""
        for name, p in self._parameters.items():
            if p is not None:
                yield name, p
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    def get_extra_state(self):
        """To be written by a class that has state besides tensors: what goes into the state dict."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please "
            "file an issue to report this bug."
        )

    def set_extra_state(self, state) -> None:
        """To be written by such a class: takes what get_extra_state gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please "
            "file an issue to report this bug."
        )

    # ---- loading

    def load_state_dict(self, state_dict, strict: bool = True, assign: bool = False):
        """Copies values in by name. With strict, names and shapes must match; nothing changes if
        not.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys, errors, hooks = _IncompatibleKeys([], []), [], []
        loading = _Loading(state_dict, [])
        metadata = getattr(state_dict, "_metadata", None) or {}
        _walk(self, loading, metadata, assign, keys, errors, hooks)
        if not errors and (hooks or not _complaints(keys, strict)):
            _write(loading.writes)
        for module, hook in hooks:
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )
        if complaints := [*_complaints(keys, strict), *errors]:
            raise self._load_error(complaints)
        return keys

    def _load_error(self, errors: list[str]) -> RuntimeError:
        name = type(self).__name__
        return RuntimeError(f"Error(s) in loading state_dict for {name}:\n\t" + "\n\t".join(errors))

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        """Loads this module's own entries: adds to the lists what is not right, and puts off the rest."""
        lists = (missing_keys, unexpected_keys, error_msgs)
        for hook in _values(self, "_load_state_dict_pre_hooks"):
            hook(self, state_dict, prefix, local_metadata, strict, *lists)
        writes = []
        own = dict(self._state())
        for name, tensor in own.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys += [key] * strict
                continue
            value = _like(tensor, state_dict[key])
            if is_lazy(tensor) and is_lazy(value):
                continue
            if misfit := _misfit(key, tensor, value):
                error_msgs.append(misfit)
                continue
            assign = local_metadata.get("assign_to_params_buffers", False)
            load = partial(_load, self, name, tensor, value, assign)
            writes.append(partial(_try, load, key, tensor, value, error_msgs))
        extra, at_once = prefix + _EXTRA, False
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if extra in state_dict:
                writes.append(partial(self.set_extra_state, state_dict[extra]))
                # It may make the children that are asked next.
                at_once = not error_msgs
            else:
                missing_keys += [extra] * strict
            own[_EXTRA] = None
        _put_off(state_dict, writes, at_once)
        if strict:
            unexpected_keys += [key for key in state_dict if self._is_unknown(key, prefix, own)]

    def _is_unknown(self, key: str, prefix: str, own: dict) -> bool:
        if not key.startswith(prefix):
            return False
        name, dot, _ = key[len(prefix) :].partition(".")
        return name not in self._modules if dot else name not in own

    # ---- hooks

    def register_state_dict_pre_hook(self, hook) -> RemovableHandle:
        """Calls hook(module, prefix, keep_vars) before the module's state dict is made."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook) -> RemovableHandle:
        """Calls hook(module, state_dict, prefix, local_metadata), which may change the dict."""
        with suppress(AttributeError):  # of a method
            hook._from_public_api = True  # it cannot be one that returns a dict as well
        return add_hook(self._state_dict_hooks, (hook, False))

    def _register_state_dict_hook(self, hook) -> RemovableHandle:
        """The same; what the hook returns replaces the dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, (hook, True))

    def register_load_state_dict_pre_hook(self, hook) -> RemovableHandle:
        """Calls hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs) before the module looks for its entries; it may change them."""
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False) -> RemovableHandle:
        """The same, of a hook that may want no module."""
        return self.register_load_state_dict_pre_hook(hook if with_module else _WithoutModule(hook))

    def register_load_state_dict_post_hook(self, hook) -> RemovableHandle:
        """Calls hook(module, incompatible_keys) after loading; what it takes from the lists of keys is no
        error any more."""
        return add_hook(self._load_state_dict_post_hooks, hook)


def _values(module, registry: str) -> tuple:
    return tuple(hooks_of(module, registry).values())


def _walk(
    module, loading: _Loading, metadata, assign: bool, keys, errors, hooks, prefix=""
) -> None:
    """Has a module and those below it look for their entries, and collects the hooks to run after."""
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(loading, prefix, local, True, *keys, errors)
    for name, child in module._modules.items():
        if child is None:
            continue
        below = f"{prefix}{name}."
        part = _Loading({k: v for k, v in loading.items() if k.startswith(below)}, loading.writes)
        _walk(child, part, metadata, assign, keys, errors, hooks, below)
    hooks += [(module, hook) for hook in _values(module, "_load_state_dict_post_hooks")]


def _put_off(state_dict, writes: list, at_once: bool) -> None:
    """A state dict that is not on its way through load_state_dict has no place for them."""
    on_its_way = isinstance(state_dict, _Loading)
    waiting = state_dict.writes if on_its_way else []
    waiting += writes
    if at_once or not on_its_way:
        _write(waiting)


def _write(waiting: list) -> None:
    with no_grad():
        while waiting:
            waiting.pop(0)()


def _complaints(keys: _IncompatibleKeys, strict: bool) -> list[str]:
    if not strict:
        return []
    out = []
    if keys.missing_keys:
        out.append(f"Missing key(s) in state_dict: {_quoted(keys.missing_keys)}. ")
    if keys.unexpected_keys:
        out.append(f"Unexpected key(s) in state_dict: {_quoted(keys.unexpected_keys)}. ")
    return out


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _like(tensor, value):
    """Old files have vectors of one element for numbers."""
    is_number = isinstance(value, Tensor) and tensor.ndim == 0 and value.shape == (1,)
    return value[0] if is_number else value


def _misfit(name: str, tensor, value) -> str:
    """What is wrong with a value of a state dict; "" if nothing is."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
    if value.shape != tensor.shape:
        return (
            f"size mismatch for {name}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {tensor.shape}."
        )
    return ""


def _try(load, key: str, tensor, value, errors: list[str]) -> None:
    try:
        load()
    except Exception as error:
        action = "swapping" if _future.get_swap_module_params_on_conversion() else "copying"
        errors.append(
            f'While {action} the parameter named "{key}", whose dimensions in the model are {tensor.shape} and whose '
            f"dimensions in the checkpoint are {value.shape}, an exception occurred : {error.args}."
        )


def _load(module, name: str, tensor, value, assign: bool) -> None:
    if _future.get_swap_module_params_on_conversion():
        new = tensor.module_load(value, assign=assign)
        if new is value or new is tensor:
            raise RuntimeError(
                "module_load returned one of self or other, please .detach() the result if returning one of the "
                "inputs in module_load"
            )
        replace(tensor, _parameter(new, tensor) if isinstance(tensor, Parameter) else new)
    elif not assign:
        tensor.copy_(value)
    elif name in module._parameters:
        module._parameters[name] = _parameter(value, tensor)
    else:
        module._buffers[name] = value


def _parameter(value, like) -> Parameter:
    """The value as a parameter that is trained if the one in whose place it comes is."""
    if isinstance(value, Parameter):
        return value.requires_grad_(like.requires_grad)
    return Parameter(value, like.requires_grad)
