"""Hooks of optimizers: around step, and around the state dict."""

from __future__ import annotations

import functools

from ..utils.hooks import RemovableHandle, add_hook


class Hooked:
    """The part of Optimizer that has hooks. A dictionary is made when its first hook comes."""

    _step_pre_hooks: dict | None = None
    _step_post_hooks: dict | None = None
    _state_dict_pre_hooks: dict | None = None
    _state_dict_post_hooks: dict | None = None
    _load_state_dict_pre_hooks: dict | None = None
    _load_state_dict_post_hooks: dict | None = None

    def register_step_pre_hook(self, hook) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) before step; what it returns replaces both. The first of args
        is the optimizer."""
        _watch_step(type(self))
        return add_hook(self, "_step_pre_hooks", hook)

    def register_step_post_hook(self, hook) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) after step."""
        _watch_step(type(self))
        return add_hook(self, "_step_post_hooks", hook)

    def register_state_dict_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Calls hook(optimizer) before the state dict is made."""
        return add_hook(self, "_state_dict_pre_hooks", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Calls hook(optimizer, state_dict); what it returns replaces the dict."""
        return add_hook(self, "_state_dict_post_hooks", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Calls hook(optimizer, state_dict) before loading; what it returns is loaded instead."""
        return add_hook(self, "_load_state_dict_pre_hooks", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Calls hook(optimizer) after loading."""
        return add_hook(self, "_load_state_dict_post_hooks", hook, prepend)

    def _pass_hooks(self, registry: str, state_dict=None):
        """Calls the hooks of a dictionary; gives what they make of a state dict."""
        given = () if state_dict is None else (state_dict,)
        for hook in tuple((getattr(self, registry) or {}).values()):
            changed = hook(self, *given)
            given = given if changed is None or not given else (changed,)
        return given[0] if given else None


def _watch_step(cls) -> None:
    """From the first hook on, the class's step looks for hooks; without any, it would look in vain."""
    step = cls.step
    if getattr(step, "looks_for_hooks", False):
        return

    @functools.wraps(step)
    def call(*args, **kwargs):
        self = args[0]
        for hook in tuple((self._step_pre_hooks or {}).values()):
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{changed}."
                )
            args, kwargs = changed
        out = step(*args, **kwargs)
        for hook in tuple((self._step_post_hooks or {}).values()):
            hook(self, args, kwargs)
        return out

    call.looks_for_hooks = True
    cls.step = call
