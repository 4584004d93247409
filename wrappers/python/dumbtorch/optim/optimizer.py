"""Optimizer: parameter groups and state as Python objects; the arithmetic is the library's."""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from .. import _graph, _ops
from .._tensor import forget_grads
from .._tensor_type import TensorBase, optimizer_step, rate_device
from .._type_info import typename
from .._types import bfloat16, float16, float32, float64
from ..autograd.grad_mode import enable_grad, no_grad
from ..utils.hooks import Hooks, RemovableHandle, add_hook

# What an optimizer takes first.
ParamsT = Iterable[TensorBase] | Iterable[dict[str, Any]] | Iterable[tuple[str, TensorBase]]


class Row(NamedTuple):
    """What the library knows about an optimizer, over a parameter group: see capi/schema/optimizers.toml."""

    name: str
    settings: Callable[[dict], tuple]  # in the order that optimizer_update takes them
    states: tuple[str, ...]  # what is kept for each parameter
    numbers: tuple[str, ...]  # those that are one number, and not like the parameter
    kept: Callable[[dict], tuple]  # the states, None in place of what the settings do not need
    initial: Callable[[dict], tuple]  # what each is filled with
    reads_first: bool  # a parameter's first step differs from later ones


# Hooks around every optimizer's step.
_before_steps: OrderedDict = OrderedDict()
_after_steps: OrderedDict = OrderedDict()


def register_optimizer_step_pre_hook(hook) -> RemovableHandle:
    """Calls hook(optimizer, args, kwargs) before each step of any optimizer."""
    return add_hook(_before_steps, hook)


def register_optimizer_step_post_hook(hook) -> RemovableHandle:
    """Calls hook(optimizer, args, kwargs) after each step of any optimizer."""
    return add_hook(_after_steps, hook)


def _with_hooks(step: Callable) -> Callable:
    """A step() that calls the hooks around it."""

    @functools.wraps(step)
    def hooked(self, *args, **kwargs):
        self._has_stepped = True
        if not (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _before_steps
            or _after_steps
        ):
            return step(self, *args, **kwargs)
        args = (self, *args)
        for hook in [*_before_steps.values(), *self._optimizer_step_pre_hooks.values()]:
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{changed}."
                )
            args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values(), *_after_steps.values()]:
            hook(self, args, kwargs)
        return result

    return hooked


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()  # the default of a setting that each group has to have


@functools.cache
def _usual_settings(kind: type) -> dict:
    return kind([_ops.empty((0,))]).defaults


class Optimizer:
    """Base class. Subclasses have a row of the library's, or write step() themselves."""

    _row: Row
    _has_stepped = False  # a schedule warns if it is asked for the next rate before
    _step_of_its_own = None  # a step() that somebody gave to this object when a schedule began
    _wide: str | None = None  # how parameters in half precision are computed with float32
    # Made at the first look, since a wrapper of another optimizer may leave __init__ out. They are not copied: rates
    # belong to these groups, and hooks to whoever added them.
    _optimizer_step_pre_hooks = Hooks()
    _optimizer_step_post_hooks = Hooks()
    _state_hooks = Hooks()  # by when they are called
    _found_inf = (
        None  # what a GradScaler has found, while a step is under way that a GPU decides on
    )

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)

    def __init__(self, params, defaults: dict):
        if isinstance(params, TensorBase):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                "dicts, but "
                f"got {typename(params)}"
            )
        self.defaults = defaults
        self.state: defaultdict = defaultdict(dict)
        self.param_groups: list[dict] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    @functools.cached_property
    def _rates(self) -> dict[int, _Rate]:
        """By id of the group."""
        return {}

    def __getstate__(self) -> dict:
        kept = {name: getattr(self, name) for name in ("defaults", "state", "param_groups")}
        return kept | {"_wide": self._wide} if self._wide else kept

    def __setstate__(self, state: dict) -> None:
        """Takes what a pickle has kept; settings that an older one lacks get their defaults."""
        self.__dict__.update(state)
        self.defaults.setdefault("differentiable", False)
        own = next(kind for kind in type(self).__mro__ if kind.__module__.startswith(__package__))
        for group in self.param_groups if hasattr(own, "_row") else ():
            group.update(_usual_settings(own) | group)

    # Optimizers of others call these, which PyTorch's have in their base.
    profile_hook_step = staticmethod(_with_hooks)

    def _patch_step_function(self) -> None:
        """Hooks are around every step() from the class statement on."""

    def _cuda_graph_capture_health_check(self) -> None:
        """What must not be captured says so itself."""

    _accelerator_graph_capture_health_check = _cuda_graph_capture_health_check

    def add_param_group(self, param_group: dict) -> None:
        """Adds parameters with settings of their own; what is not set comes from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        group["params"], names = _members(group["params"])
        if names:
            group["param_names"] = names
        for p in group["params"]:
            _check_leaf(p)
        for name, value in self.defaults.items():
            if value is required and name not in group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            group.setdefault(name, value)
        if any(("param_names" in group) != ("param_names" in other) for other in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in group else 'without'} names to the optimizer"
            )
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in known for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if len({id(p) for p in group["params"]}) < len(group["params"]):
            raise ValueError("optimizer contains a parameter group with duplicate parameters")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters."""
        for group in self.param_groups:
            forget_grads(group["params"], set_to_none)

    def register_step_pre_hook(self, hook) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) before each step; it may give back both, changed."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False) -> RemovableHandle:
        """Calls hook(optimizer) before state_dict()."""
        return self._add_state_hook("before state_dict", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False) -> RemovableHandle:
        """Calls hook(optimizer, state_dict) after state_dict(); it may give back another one."""
        return self._add_state_hook("after state_dict", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False) -> RemovableHandle:
        """Calls hook(optimizer, state_dict) before it is loaded; it may give back another one."""
        return self._add_state_hook("before load_state_dict", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False) -> RemovableHandle:
        """Calls hook(optimizer) after a state dict was loaded."""
        return self._add_state_hook("after load_state_dict", hook, prepend)

    def _add_state_hook(self, name: str, hook, prepend: bool) -> RemovableHandle:
        return add_hook(self._state_hooks.setdefault(name, OrderedDict()), hook, prepend)

    def _call_state_hooks(self, name: str, state_dict: dict | None = None) -> dict | None:
        """What the hooks make of a state dict, if there is one."""
        given = () if state_dict is None else (state_dict,)
        for hook in list(self._state_hooks.get(name, {}).values()):
            changed = hook(self, *given)
            if given and changed is not None:
                given = (changed,)
        return given[0] if given else None

    @_with_hooks
    def step(self, closure=None):
        """Updates the parameters by their gradients. closure, if given, computes the loss again."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._update(group)
        return loss

    def _update(self, group: dict) -> None:
        if not hasattr(self, "_row"):  # a class of one's own has its own step
            raise NotImplementedError
        row, params = self._row, list(group["params"])
        settings = self._rate(group, params), *row.settings(group)[1:]
        if self._wide:
            self._step_wide(group, params, settings)
            return
        given = row.kept(group), settings, self._found_inf
        left = optimizer_step(row.name, params, False, self.state, *given)
        if left:
            with self._unless_it_fails(left):
                for p in left:
                    self._fill_state(p, p, group)
                optimizer_step(row.name, left, True, self.state, *given)

    @contextlib.contextmanager
    def _unless_it_fails(self, params: list) -> Iterator[None]:
        """Around a step that makes states of parameters: if it fails, their first step is still to come."""
        before = [(p, dict(self.state[p])) for p in params]
        try:
            yield
        except BaseException:
            for p, state in before:
                if state:
                    self.state[p] = state
                else:
                    del self.state[p]
            raise

    def _fill_state(self, p, computed, group: dict) -> None:
        """What a parameter's state lacks, like what a step computes with."""
        row, state = self._row, self.state[p]
        for name, value in zip(row.kept(group), row.initial(group), strict=True):
            if name is None or state.get(name) is not None:
                continue
            _ops.optimizer_check_not_capturing()
            if name in row.numbers:
                state[name] = _ops.full((), float(value), dtype=float32, device=p.device)
            else:
                state[name] = _ops.full_like(computed, float(value))

    # ---- half precision

    def use_master_weights(self) -> None:
        """Steps of parameters in bfloat16 and float16 compute in float32, with float32 masters of them
        (arXiv 1710.03740) that keep what rounding would lose; states are float32 too. The masters are part of the
        state dict. Call it before the first step."""
        self._compute_wide("masters")

    def use_stochastic_rounding(self) -> None:
        """Steps of parameters in bfloat16 compute in float32 without masters: the result is rounded by
        functional.stochastic_round, so that small steps are not lost on the mean (arXiv 2010.06192). States are
        float32. Call it before the first step."""
        self._compute_wide("rounded at random")

    def _compute_wide(self, how: str) -> None:
        if not hasattr(self, "_row"):
            raise NotImplementedError(f"{type(self).__name__} computes its steps by itself")
        if any(self.state.values()):
            raise RuntimeError(
                "a parameter has stepped: choose how steps round before the first one"
            )
        self._wide = how

    def _step_wide(self, group: dict, params: list, settings: tuple) -> None:
        row, (rate, *others) = self._row, settings
        numbers = [0.0 if isinstance(rate, TensorBase) else rate, *others]
        unless = () if self._found_inf is None else (self._found_inf,)
        update = _ops.optimizer_update_unless if unless else _ops.optimizer_update
        params = [p for p in params if p.grad is not None]
        with self._unless_it_fails(params):
            for part, first in self._parts(params, [name for name in row.kept(group) if name]):
                computed = [self._computed(p) for p in part]
                grads = [_ops.to(p.grad, dtype=x.dtype) for p, x in zip(part, computed)]
                for p, x in zip(part, computed):
                    self._fill_state(p, x, group)
                kept = [name and self.state[p][name] for name in row.kept(group) for p in part]
                update(row.name, computed, grads, kept, rate, numbers, first, *unless)
                for p, x in zip(part, computed):
                    self._round_back(p, x)

    def _parts(self, params: list, kept: list[str]) -> list[tuple[list, bool]]:
        """Parameters whose state is whole and those for which some of it is to be made, whose first step it is."""
        parts: tuple[list, list] = [], []
        for p in params:
            parts[any(self.state[p].get(name) is None for name in kept)].append(p)
        return [(part, part is parts[True]) for part in parts if part]

    def _computed(self, p):
        """What a step changes: the parameter, or its value in float32."""
        if p.dtype not in (bfloat16, float16):
            return p
        if "master" in self.state[p]:
            return self.state[p]["master"]
        wide = _ops.to(_ops.detach(p), dtype=float32)
        if self._wide == "masters":
            _ops.optimizer_check_not_capturing()
            self.state[p]["master"] = wide
        return wide

    def _round_back(self, p, computed) -> None:
        if computed is p:
            return
        with no_grad():
            if self._wide != "masters":
                computed = _ops.stochastic_round(computed, p.dtype)
            _ops.copy_(p, computed)

    def _rate(self, group: dict, params: list):
        """The learning rate for a step of the group's parameters. On a GPU it is a tensor, so that
        the replays of a captured step obey a schedule."""
        lr = group["lr"]
        if isinstance(lr, TensorBase):
            return lr
        device = rate_device(params)
        if device is None:
            return lr
        rate = self._rates.get(id(group))
        if rate is None or rate.tensor.device != device:  # the first step, or the model has moved
            _ops.optimizer_check_not_capturing()
            rate = self._rates[id(group)] = _Rate(group, device)
        rate.refresh()
        if _ops.is_capturing():
            _graph.before_each_replay(rate.refresh)
        return rate.tensor

    # ---- state

    def state_dict(self) -> dict:
        """Settings and state, with numbers in place of parameters."""
        self._call_state_hooks("before state_dict")
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed = {name: value for name, value in group.items() if name != "params"}
            groups.append(packed | {"params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: dict(s) for p, s in self.state.items() if id(p) in numbers}
        state |= {k: s for k, s in self.state.items() if not isinstance(k, TensorBase)}
        return self._call_state_hooks("after state_dict", {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: dict) -> None:
        """Restores what state_dict gave, for parameters in the same order."""
        state_dict = self._call_state_hooks("before load_state_dict", dict(state_dict))
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(
            len(a["params"]) != len(b["params"])
            for a, b in zip(saved, self.param_groups, strict=True)
        ):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        by_number = {
            number: p
            for a, b in zip(saved, self.param_groups, strict=True)
            for number, p in zip(a["params"], b["params"], strict=True)
        }
        # PyTorch may have saved None for one that a step is to make.
        row = getattr(self, "_row", None)
        later = row.states if row else ()
        state: defaultdict = defaultdict(dict)
        for number, values in state_dict["state"].items():
            p = by_number.get(number)
            if p is None:  # not a parameter's: it is kept
                state[number] = values
                continue
            state[p] = {
                name: self._adapted(name, value, p)
                for name, value in values.items()
                if value is not None or name not in later
            }
        for a, b in zip(saved, self.param_groups, strict=True):
            b.update((name, deepcopy(value)) for name, value in a.items() if name != "params")
        # By which optimizers that have been extended fill in what a file lacks.
        self.__setstate__({"state": state, "param_groups": self.param_groups})
        self._call_state_hooks("after load_state_dict")

    def _adapted(self, name: str, value, p):
        """A loaded value as the optimizer needs it: its own copy; what is like the parameter, of its
        dtype and memory order."""
        if isinstance(value, (list, tuple)):
            return type(value)(self._adapted(name, v, p) for v in value)
        row = getattr(self, "_row", None)
        numbers = row.numbers if row else ("step",)
        if (
            row and isinstance(value, (int, float)) and name in numbers
        ):  # PyTorch's files had them once
            return _ops.full((), value, dtype=float32, device=p.device)
        if not isinstance(value, TensorBase):
            return deepcopy(value)
        value = _ops.detach(value)
        if name in numbers:
            return _ops.to(_ops.clone(value), p.device, float32)
        if value.shape != p.shape:
            return _ops.to(_ops.clone(value), p.device, p.dtype)
        dtype = float32 if self._wide and p.dtype in (bfloat16, float16) else p.dtype
        return _ops.copy_(_ops.empty_like(p, dtype=dtype), value)

    def __repr__(self):
        groups = []
        for i, group in enumerate(self.param_groups):
            settings = sorted(name for name in group if name != "params")
            shown = "".join(f"    {name}: {group[name]}\n" for name in settings)
            groups.append(f"\nParameter Group {i}\n{shown}")
        return f"{type(self).__name__} ({''.join(groups)})"


def check_one_rate(lr) -> None:
    if isinstance(lr, TensorBase) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_variants(name: str, foreach, fused, differentiable: bool) -> None:
    """PyTorch's choices of an implementation. Here is one, which is the fast one."""
    if differentiable:
        raise NotImplementedError(f"{name}: differentiable is not supported")
    if foreach and fused:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _members(params) -> tuple[list, list]:
    """The parameters of a group, and their names where it was made of named_parameters()."""
    if isinstance(params, TensorBase):
        return [params], []
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
        )
    given = list(params)
    names = [p[0] for p in given if isinstance(p, tuple)]
    if names and len(names) < len(given):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    return [p[1] if names else p for p in given], names


class _Rate:
    """A group's learning rate on a GPU."""

    def __init__(self, group: dict, device):
        self.group, self.value = group, group["lr"]
        self.tensor = _ops.full((), self.value, dtype=float64, device=device)

    def refresh(self) -> None:
        if self.group["lr"] != self.value:
            self.value = self.group["lr"]
            _ops.fill_(self.tensor, self.value)


def _check_leaf(p) -> None:
    if not isinstance(p, TensorBase):
        raise TypeError(
            f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}"
        )
    if not p.is_leaf:
        raise ValueError("can't optimize a non-leaf Tensor")
