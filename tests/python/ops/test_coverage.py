"""Every public function of the schema that makes or writes a tensor has a row; one that computes
in place has a row with `inplace`."""

import sys
from pathlib import Path

import layer_rows
import model_rows
import optimizer_rows
import pytest
from by_op import by_op
from rows import ROWS

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "capi"))
from generate import schema  # noqa: E402

SCHEMA = schema.load(Path(__file__).resolve().parents[3] / "capi" / "schema")

# Tested elsewhere, or not by numbers of their own. Everything else needs a row.
ELSEWHERE = {
    "test_creation.py: they have no tensor to begin with": {
        "empty_strided", "new_empty_strided", "logspace", "tril_indices", "triu_indices", "empty", "zeros",
        "ones", "full", "arange", "linspace", "eye", "scalar_tensor", "empty_like",
        "new_empty", "new_zeros", "new_ones", "new_full", "from_numbers", "from_ints",
        "from_bools",
    },
    "test_random.py: PyTorch draws other numbers": {
        "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
        "bernoulli", "uniform_", "normal_", "bernoulli_", "random_", "generator_get_state",
        "bernoulli_p", "bernoulli_tensor_", "random_from_", "multinomial", "poisson", "binomial",
        "exponential_", "geometric_", "cauchy_", "log_normal_",
    },
    "test_autograd.py: they are the machinery that every row's gradients go through": {
        "autograd_grad", "custom_function", "tensor_base", "tensor_grad",
        "tensor_requires_grad_", "detach_",
    },
    "test_data.py and robustness/test_files.py: they read files": {
        "data_loader_next", "read_idx", "load_safetensors", "load_safetensors_bytes",
    },
    "test_generation.py: what a model has seen": {
        "kv_cache_update", "kv_cache_place", "kv_cache_seen", "kv_cache_decoder_block",
    },
    "test_init.py: what is random, and what nn.init alone has": {
        "eye_", "dirac_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
        "trunc_normal_", "orthogonal_", "sparse_",
    },
    "test_scaler.py: what a training loop does with them": {
        "amp_unscale_", "grad_scaler_scale", "grad_scaler_get_state", "stochastic_round",
    },
    "test_csv.py: it reads files": {"read_csv"},
    "test_profiler.py: what ops took": {"profiler_activities"},
    "test_serialization.py and test_npy.py: they read and write files": {
        "load_checkpoint", "load_archive", "load_archive_bytes", "archive_bytes", "load_npy",
        "load_npz",
    },
    "test_nn.py and test_optim.py: they list what a module or an optimizer holds": {
        "module_forward", "module_forward_inputs", "module_forward_outputs", "module_parameters",
        "module_named_parameters", "module_named_buffers", "module_state_dict", "optimizer_state_dict",
        "clip_grad_norm_",
    },
    "test_versions.py and test_arguments.py: where memory is, not what is in it": {
        "tensor_data", "tensor_pin_memory",
    },
    "test_inplace_twins.py: they copy what their twin, which has a row, computes": {
        "eq_", "ne_", "lt_", "le_", "gt_", "ge_", "logical_not_", "logical_and_", "logical_or_",
        "logical_xor_", "tril_", "triu_", "cumsum_", "addmm_",
    },
    "test_views_in_place.py: they change a shape, not numbers": {
        "as_strided_", "resize_", "resize_as_",
    },
    "test_subscript.py: brackets, as other languages write them": {"at", "set_at"},
    "test_streams.py: where memory is": {"cpu", "cuda"},
    "test_out.py: where results are": {"out_finish"},
    "test_models.py: a module that writes": {"module_generate"},
    "tests/capi: handles, without arithmetic": {"tensor_alias", "tensor_list_get"},
}  # fmt: skip
EXEMPT = set().union(*ELSEWHERE.values())


def makes_tensors(f) -> bool:
    return f.inplace or any(r.kind.base == "tensor" for r in f.results)


FUNCTIONS = [f for f in SCHEMA.public if makes_tensors(f)]


def test_the_list_is_long():
    assert len(FUNCTIONS) > 200


@pytest.mark.parametrize("f", [pytest.param(f, id=f.name) for f in FUNCTIONS])
def test_every_function_has_a_row(f):
    rows = {r.op for r in ROWS}
    twins = {r.op for r in ROWS if r.inplace} | {r.op + "_" for r in ROWS if r.inplace}
    known = f.name in rows or f.name in EXEMPT or (f.inplace and f.name in twins)
    assert known, f"{f.name} has no row in tests/python/ops, nor a reason in test_coverage.py"


def test_reasons_are_up_to_date():
    assert EXEMPT - {f.name for f in FUNCTIONS} == set()
    assert EXEMPT & {r.op for r in ROWS} == set()


def test_rows_belong_to_functions():
    assert {r.op for r in ROWS} - {f.name for f in FUNCTIONS} == set()


def test_layers_models_optimizers_and_schedules_have_rows():
    assert {row[0] for row in layer_rows.LAYERS} == set(SCHEMA.layers)
    models = {row[0] for row in model_rows.MODELS}
    large = {row[0] for row in model_rows.LARGE}
    assert models | large == set(SCHEMA.models)
    assert not models & large
    assert set(optimizer_rows.SETTINGS) == set(SCHEMA.optimizers)
    assert set(optimizer_rows.SCHEDULES) == set(SCHEMA.schedules)


def test_a_row_that_is_skipped_leaves_the_others_of_its_op():
    tried = []

    @by_op(ROWS[:1])
    def several(row):
        tried.append(row)
        if len(tried) == 1:
            pytest.skip("not this one")

    with pytest.raises(pytest.skip.Exception, match="not this one"):
        several([ROWS[0], ROWS[1]])
    assert tried == [ROWS[0], ROWS[1]]
