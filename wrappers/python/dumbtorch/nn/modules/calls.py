"""A call of a module with hooks: those of all modules run first, then the module's own."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict, namedtuple
from functools import partial

from ...utils.hooks import Hooks, RemovableHandle, add_hook
from .backward_hooks import BackwardHooks

# A hook before or after forward; `always`: also where forward fails.
ForwardHook = namedtuple("ForwardHook", "key function with_kwargs always")


class CallHooks(Hooks):
    """Hooks around calls. Whoever looks at the dictionary, or puts one of their own in its place, may keep it and
    write a hook into it at any time."""

    def __get__(self, module, cls=None):
        if module is None:
            return self
        module.__dict__["_dt_hooked"] = True
        hooks = module.__dict__.get(self.name)
        return super().__get__(module, cls) if hooks is None else hooks

    def __set__(self, module, hooks) -> None:
        module.__dict__.update({self.name: hooks, "_dt_hooked": True})


class HooksOfAll(OrderedDict):
    """Hooks of all modules: a hook that is written into it has them look."""

    def __setitem__(self, key, hook) -> None:
        from .module import Module

        super().__setitem__(key, hook)
        Module._dt_hooked = True


_KINDS = "", "_with_kwargs", "_always_called"
# The names of each registry's dictionaries, of a module and of all modules.
_NAMES = {
    registry: [tuple(start + registry + kind for kind in _KINDS) for start in ("", "_global")]
    for registry in (
        "_forward_hooks",
        "_forward_pre_hooks",
        "_backward_hooks",
        "_backward_pre_hooks",
    )
}


def is_hooked(module) -> bool:
    """Whether there is a hook that a call of the module has to look for."""
    if not module._dt_hooked:
        return False
    own, of_all = module.__dict__, module._dt_globals
    return any(own.get(mine[0]) or of_all[others[0]] for mine, others in _NAMES.values())


def _hooks(module, registry: str) -> list:
    of_all, own = module._dt_globals[_NAMES[registry][1][0]], module.__dict__.get(registry)
    return [*of_all.values(), *(own.values() if own else ())] if of_all or own else []


def _forward_hooks(module, registry: str) -> list[ForwardHook]:
    """Those before or after forward, and of which kind they are."""
    mine, of_all = _NAMES[registry]
    found: list[ForwardHook] = []
    for place, (name, with_kwargs, always) in (
        (module._dt_globals, of_all),
        (module.__dict__, mine),
    ):
        hooks = place.get(name)
        if hooks:
            wanting, called = place.get(with_kwargs, ()), place.get(always, ())
            found += [
                ForwardHook(key, hook, key in wanting, key in called) for key, hook in hooks.items()
            ]
    return found


def add_call_hook(
    look, registry: str, hook, prepend: bool = False, make=RemovableHandle, **kinds: bool
) -> RemovableHandle:
    """Adds a hook to the dictionary look(registry), and to those of the kinds that are True."""
    asked = [look(f"{registry}_{kind}") for kind, wanted in kinds.items() if wanted]
    return add_hook(look(registry), hook, prepend, asked, make)


def call_with_hooks(module, args: tuple, kwargs: dict):
    """module.forward(*args, **kwargs), with what the hooks make of it."""
    if not is_hooked(module):
        return module.forward(*args, **kwargs)
    out, called = None, set()
    try:
        watch = _watch(module)
        args, kwargs = _before(module, args, kwargs)
        args = watch.before(args) if watch else args
        out = module.forward(*args, **kwargs)
        # Those that are there by now: a hook before forward, or forward itself, may have changed them.
        for hook in _forward_hooks(module, "_forward_hooks"):
            called.add(hook.key)
            out = _after(hook, module, args, kwargs, out)
        return watch.after(out) if watch else out
    except Exception:
        for hook in _forward_hooks(module, "_forward_hooks"):
            if hook.always and hook.key not in called:
                _after_failure(hook, module, args, kwargs, out)
        raise


def _before(module, args: tuple, kwargs: dict) -> tuple:
    for hook in _forward_hooks(module, "_forward_pre_hooks"):
        if not hook.with_kwargs:
            changed = hook.function(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
            continue
        changed = hook.function(module, args, kwargs)
        if changed is None:
            continue
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(
                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                f"{changed}."
            )
        args, kwargs = changed
    return args, kwargs


def _watch(module) -> BackwardHooks | None:
    before, after = _hooks(module, "_backward_pre_hooks"), _hooks(module, "_backward_hooks")
    return BackwardHooks(module, before, after) if before or after else None


def _after(hook: ForwardHook, module, args: tuple, kwargs: dict, out):
    given = (args, kwargs, out) if hook.with_kwargs else (args, out)
    changed = hook.function(module, *given)
    return out if changed is None else changed


def _after_failure(hook: ForwardHook, module, args: tuple, kwargs: dict, out) -> None:
    try:
        _after(hook, module, args, kwargs, out)
    except Exception as error:
        warnings.warn(
            "module forward hook with ``always_call=True`` raised an exception that was silenced "
            f"as another error was raised in forward: {error}",
            stacklevel=4,
        )


# ---- hooks of all modules

# Those that see what any module registers: "parameter", "buffer" or "module".
_REGISTRATION: dict[str, OrderedDict] = {
    what: OrderedDict() for what in ("parameter", "buffer", "module")
}


def registered(what: str, module, name: str, value):
    """The value that is to be registered, as the hooks have it."""
    for hook in tuple(_REGISTRATION[what].values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def register_module_parameter_registration_hook(hook) -> RemovableHandle:
    """Calls hook(module, name, parameter) when any module gets a parameter; what it returns is registered instead."""
    return add_hook(_REGISTRATION["parameter"], hook)


def register_module_buffer_registration_hook(hook) -> RemovableHandle:
    """Calls hook(module, name, buffer) when any module gets a buffer; what it returns is registered instead."""
    return add_hook(_REGISTRATION["buffer"], hook)


def register_module_module_registration_hook(hook) -> RemovableHandle:
    """Calls hook(module, name, child) when any module gets a child; what it returns is registered instead."""
    return add_hook(_REGISTRATION["module"], hook)


class _HandleOfAll(RemovableHandle):
    """The last one that is removed lets modules without hooks go the short way again."""

    def remove(self) -> None:
        super().remove()
        _look_for_hooks()


def _look_for_hooks() -> None:
    from .module import Module

    Module._dt_hooked = any(Module._dt_globals[of_all[0]] for _, of_all in _NAMES.values())


def _register(registry: str, hook, **kinds: bool) -> RemovableHandle:
    from .module import Module

    look = partial(operator.getitem, Module._dt_globals)
    handle = add_call_hook(look, "_global" + registry, hook, make=_HandleOfAll, **kinds)
    _look_for_hooks()
    return handle


def register_module_forward_pre_hook(hook) -> RemovableHandle:
    """Calls hook(module, args) before each module's forward; what it returns replaces args."""
    return _register("_forward_pre_hooks", hook)


def register_module_forward_hook(
    hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls hook(module, args, output) after each module's forward; what it returns replaces output."""
    return _register("_forward_hooks", hook, with_kwargs=with_kwargs, always_called=always_call)


def register_module_full_backward_pre_hook(hook) -> RemovableHandle:
    """Has backward call hook(module, grad_output) for each module."""
    return _register("_backward_pre_hooks", hook)


def register_module_full_backward_hook(hook) -> RemovableHandle:
    """Has backward call hook(module, grad_input, grad_output) for each module."""
    return _register("_backward_hooks", hook)


register_module_backward_hook = register_module_full_backward_hook
