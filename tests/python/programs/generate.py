"""generate(seed, taste): the text of a random program."""

from __future__ import annotations

import warnings

import torch

from . import families, fitting, layers, rarer
from . import statements as s
from .program import Program, Refused

# What a program is made of, and how often. A program has some of these only: what everybody does at once hides what two
# things do to each other.
STATEMENTS = {
    s.function: 30, s.arithmetic: 20, s.view: 14, s.inplace: 10, s.new_leaf: 3, s.new_trainable: 5,
    s.operator_with_number: 4, s.unary_operator: 3, s.extremes_of_two: 1,
    s.read_index: 6, s.write_index: 6, s.mask_of_comparison: 3,
    s.backward: 6, s.grad: 6, s.penalty: 2, s.hook: 2, s.seen_by_hook: 2, s.remove_hook: 1, s.flags: 5,
    s.detached: 4, s.write_data: 2, s.use_grad: 4, s.step_by_hand: 1,
    s.block: 5, s.conversion: 3, s.looked_at: 3, s.copied: 1,
    s.functional_inplace: 1, s.normalized: 1, s.certain_random: 2,
    fitting.factorisation: 3, fitting.system: 2, fitting.cell: 1, fitting.recurrent: 1, fitting.bags: 1,
    fitting.rounded_channels: 1, fitting.unpooled: 1, fitting.fractional: 1,
    fitting.sequences_of_classes: 1, fitting.samples: 1, fitting.attention: 1, fitting.loss_of_products: 1,
    layers.layer: 3, layers.module_settings: 2, layers.call_by_other_weights: 1, layers.image_layout: 1,
    layers.second_derivative: 3, layers.transform: 3, layers.out_argument: 2,
    layers.other_optimizer: 1, layers.schedule: 1,
    families.linear_algebra: 2, families.special_function: 2, families.loss_of_targets: 2, families.layer_of_inputs: 2,
    families.layer_without_weights: 2, families.other_derivative: 1, families.parameters_in_a_line: 1,
    rarer.lbfgs: 1, rarer.lazy_layer: 1, rarer.layer_of_nothing: 1, rarer.written_results: 2,
    rarer.transform_of_two: 1,
    s.module: 2, s.use_module: 4, s.parameter: 2, s.loss_module: 2, s.optimizer: 2, s.step: 4, s.clip: 1,
}  # fmt: skip
ALWAYS = (s.new_trainable, s.arithmetic, s.function)


# What goes on for several statements, which a short program has not.
LONG = (
    s.module,
    s.use_module,
    s.parameter,
    s.loss_module,
    s.optimizer,
    s.step,
    s.block,
    s.hook,
    s.flags,
    s.use_grad,
)


def generate(seed: int, taste: str = "") -> str:
    """With a taste for certain tensors programs are short: any statement may be the one that does not expect them."""
    p = Program(seed, taste)
    if taste:
        kinds = [k for k in STATEMENTS if k not in LONG]
        weights = [STATEMENTS[k] for k in kinds]
    else:
        kinds = [k for k in STATEMENTS if k in ALWAYS or p.chance(0.45)]
        weights = [STATEMENTS[k] * p.choose(0.3, 1, 1, 3) for k in kinds]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(p.choose(1, 2, 3)):
            _try(p, s.new_trainable)
        for kind in p.rng.choices(kinds, weights, k=4 if taste else p.choose(6, 12, 20, 30)):
            _try(p, kind)
        for kind in (s.backward, s.backward, s.grad):
            _try(p, kind)
    return str(p)


def _try(p: Program, kind) -> None:
    for _ in range(3):
        try:
            kind(p)
            return
        except Refused:
            continue
        except Exception:
            if not torch.is_grad_enabled():
                torch.set_grad_enabled(True)
            raise
