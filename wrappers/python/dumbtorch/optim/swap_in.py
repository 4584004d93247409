"""swap_in_optimizer_params_and_state: an optimizer that works on other parameters for a while."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager


@contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Has the optimizer use other parameters, a dictionary in the order of its own, and a state_dict's state and
    settings, until the end of the block."""
    groups = _checked_groups(optimizer, swapin_optim_state)
    params = iter(_checked_params(groups, swapin_parameters))
    before, own = optimizer.state, [dict(group) for group in optimizer.param_groups]
    state = defaultdict(dict)
    for group, given in zip(optimizer.param_groups, groups, strict=True):
        taken = [next(params) for _ in given["params"]]
        kept = swapin_optim_state["state"]
        state.update(
            {p: dict(kept[n]) for p, n in zip(taken, given["params"], strict=True) if n in kept}
        )
        group.update(given, params=taken)
    optimizer.state = state
    try:
        yield
    finally:
        optimizer.state = before
        for group, kept in zip(optimizer.param_groups, own, strict=True):
            group.clear()
            group.update(kept)


def _refuse(what: str):
    raise RuntimeError(f"swap_in_optimizer_params_and_state requires {what}")


def _checked_groups(optimizer, swapin) -> list:
    if not optimizer.state:
        _refuse("initialized optimizer state.")
    if not isinstance(swapin, dict) or not {"state", "param_groups"} <= swapin.keys():
        _refuse("optimizer.state_dict()-style state and param_groups.")
    groups, live = swapin["param_groups"], optimizer.param_groups
    if len(groups) != len(live):
        _refuse(f"as many param_groups as the optimizer has: {len(live)}, got {len(groups)}.")
    for i, (group, own) in enumerate(zip(groups, live, strict=True)):
        if group.keys() != own.keys() or len(group["params"]) != len(own["params"]):
            _refuse(f"the settings and the number of params of group {i} to be the optimizer's.")
    known = {n for group in groups for n in group["params"]}
    if extra := [n for n in swapin["state"] if n not in known]:
        _refuse(
            "swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return groups


def _checked_params(groups: list, params: dict) -> list:
    wanted = sum(len(group["params"]) for group in groups)
    if len(params) != wanted:
        _refuse(f"as many parameters as param_groups have: {wanted}, got {len(params)}.")
    return list(params.values())
