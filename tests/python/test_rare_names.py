"""Functions that few programs use and that Python composes of others: as PyTorch's."""

import copy
import importlib
import pickle
import sys
import warnings

import dumbtorch as dt
import numpy as np
import pytest


def outcome(t, text):
    """What an expression over t gives, as text, or its error."""
    try:
        return repr(eval(text, {"t": t}))
    except Exception as error:
        return type(error).__name__, str(error)


POINTS = "t.tensor([[0., 1], [1, 0], [2, 1], [2, 2], [5, 0]])"
EDGES = "[t.tensor([0., 1, 2]), t.tensor([0, .5, 2])]"
SYMMETRIC = "(lambda x: x + x.mT)(t.arange(16., dtype=t.float64).sin().reshape(4, 4))"
FACTORS = f"t.linalg.ldl_factor({SYMMETRIC})"
SIDES = "t.arange(8., dtype=t.float64).reshape(4, 2)"
IMAGES = "t.ones(1, 2, 3, 4).to(memory_format=t.channels_last)"
TEXTS = [
    # histogramdd
    f"t.histogramdd({POINTS}, 2)", f"t.histogramdd({POINTS}, [2, 3], range=[0, 2, 0, 3.])",
    f"t.histogramdd({POINTS}, {EDGES}, density=True, weight=t.arange(5.))",
    f"t.histogramdd({POINTS}.double().reshape(5, 1, 2), (2, 2)).hist", "t.histogramdd(t.zeros(0, 2), 2)",
    "t.histogramdd(t.ones(3, 2), 2)", f"t.histogramdd({POINTS}, [2])", f"t.histogramdd({POINTS}, [2, 0])",
    f"t.histogramdd({POINTS}, 2, range=[0, 1])", f"t.histogramdd({POINTS}, 2, range=[2, 1, 0, 1])",
    f"t.histogramdd({POINTS}, 2, range=[0, 1., 0, float('inf')])", f"t.histogramdd({POINTS}[0], 2)",
    f"t.histogramdd({POINTS}.long(), 2)", f"t.histogramdd({POINTS}, 2, weight=t.ones(4))",
    f"t.histogramdd({POINTS}, 2, weight=t.ones(5).double())", "t.histogramdd(t.tensor([[float('nan'), 1]]), 2)",
    f"t.histogramdd({POINTS}, [t.tensor([0., 1]), t.tensor([[0, 2.]])])",
    f"t.histogramdd({POINTS}, [t.tensor([0., 1]), t.tensor([0, 2]).double()])",
    f"t.histogramdd({POINTS}[:, :1], [t.tensor([1.])])",
    # LDL
    FACTORS, f"t.linalg.ldl_factor_ex({SYMMETRIC})", f"{FACTORS}.LD.stride()", "t.linalg.ldl_factor_ex(t.zeros(3, 3))",
    "t.linalg.ldl_factor_ex(t.zeros(2, 0, 0))", "t.linalg.ldl_factor_ex(t.zeros(0, 2, 2))",
    f"t.linalg.ldl_factor(t.stack([{SYMMETRIC}, {SYMMETRIC} * 2])).pivots", "t.linalg.ldl_factor(t.zeros(3, 2))",
    "t.linalg.ldl_factor(t.zeros(3))", "t.linalg.ldl_factor(t.zeros(3, 3).long())",
    "t.linalg.ldl_factor(t.zeros(3, 3).half())", f"t.linalg.ldl_solve(*{FACTORS}, {SIDES})",
    f"t.linalg.ldl_solve(*{FACTORS}, {SIDES}).stride()", f"t.linalg.ldl_solve(*{FACTORS}, {SIDES}.expand(3, 4, 2))",
    f"t.linalg.ldl_solve({FACTORS}.LD.expand(3, 4, 4), {FACTORS}.pivots.expand(3, 4), {SIDES})",
    f"t.linalg.ldl_solve(*{FACTORS}, {SIDES}[:, :0])", f"t.linalg.ldl_solve(*{FACTORS}, {SIDES}[0])",
    f"t.linalg.ldl_solve(*{FACTORS}, {SIDES}[:3])", f"t.linalg.ldl_solve(*{FACTORS}, {SIDES}.float())",
    f"t.linalg.ldl_solve({FACTORS}.LD, {FACTORS}.pivots[:3], {SIDES})",
    f"t.linalg.ldl_solve({FACTORS}.LD.expand(0, 4, 4), {FACTORS}.pivots.expand(0, 4), {SIDES})",
    f"t.linalg.ldl_solve({FACTORS}.LD, {FACTORS}.pivots + 7, {SIDES})",
    f"t.linalg.ldl_solve({FACTORS}.LD[:3], {FACTORS}.pivots, {SIDES})",
    # storages
    "t.FloatStorage(3).size()", "t.FloatStorage([1, 2])", "t.LongStorage([1, 2]).dtype", "t.FloatStorage", "t.Storage",
    "t.FloatStorage.dtype", "isinstance(t.ones(2).storage(), t.FloatStorage)", "t.UntypedStorage(3).size()",
    "isinstance(t.ones(2).storage(), t.LongStorage)", "t.ones(2).storage_type()", "t.arange(3.).storage().fill_(3)",
    "t.arange(3.).storage().clone()", "t.FloatTensor(t.arange(3.).storage())", "t.arange(4).short().untyped_storage()",
    "t.FloatStorage([1, 2]).copy_(t.FloatStorage([3, 4]))",
    # set_ and its kin
    "t.zeros(3).set_()", "t.zeros(3).set_(t.arange(6.).reshape(2, 3))", "t.zeros(3).set_(t.arange(6.).storage())",
    "t.zeros(3).set_(t.arange(6.).storage(), 1, (2, 2), (2, 1))", "t.zeros(3).set_(t.arange(6.).untyped_storage())",
    "t.zeros(3).set_(source=t.arange(6.).storage(), storage_offset=1, size=(2, 2))",
    "t.zeros(3).set_(t.arange(6.), 1, (2,), (2,))", "t.zeros(3).set_(t.zeros(2).double().untyped_storage())",
    "t.zeros(3).set_(t.zeros(2).double())", "t.zeros(3).set_(t.zeros(2).double().storage())",
    "t.zeros(3).set_(t.arange(6.).storage(), -1, (3,), (1,))", "t.zeros(3, requires_grad=True).set_(t.ones(2))",
    "t.ones(2).module_load(t.zeros(2))", "t.ones(2).module_load(t.zeros(2), assign=True)",
    # arguments
    "t.tril_indices(2, 2, layout=t.strided)", "t.triu_indices(2, 3, 0, dtype=t.int32, pin_memory=False)",
    "t.zeros(3).uniform_(**{'from': 2, 'to': 2.0001}).round()", "t.zeros(3).uniform_(2, 2.0001).round()",
    "t.zeros(3).uniform_(to=1e-6).round()", "t.zeros(3).uniform_(1, 2, 3)", "t.zeros(3).uniform_(foo=1)",
    f"t.zeros(3).resize_as_({IMAGES}).stride()", "t.resize_as_(t.zeros(1), t.ones(2, 1)).shape",
    f"t.zeros(3).resize_as_({IMAGES}, memory_format=t.preserve_format).stride()",
    "t.zeros(3).resize_as_(t.ones(1, 2, 3, 4), memory_format=t.channels_last).stride()",
    "t.zeros(2).resize_(2, 3, 1, 1, memory_format=t.channels_last).stride()",
    "t.zeros(2).resize_(2, 3, 1, 2, memory_format=t.preserve_format)", "t.zeros(2).resize_(size=(1, 2)).shape",
    "t.conj_physical(t.ones(2), out=t.empty(0))", "t.tensor([1, 2]).bitwise_not_()", "t.tensor([True]).bitwise_not_()",
    "t.isin(element=1, test_elements=t.tensor([1]))", "t.isin(t.tensor([1]), test_element=1)",
    "t.isin(t.tensor([1]), t.tensor([2]), invert=True)", "t.isin(1, t.tensor([1]))",
    "t.conv_tbc(t.ones(3, 1, 2), t.ones(2, 2, 1), t.zeros(1), pad=1)",
    "t.t_copy(t.ones(2, 3), out=t.empty(0))", "t.alias_copy(t.ones(2, 3).t(), out=t.empty(0))",
    "t.alias_copy(t.ones(2, 3).t()).stride()",
    # conditions
    "t._check(True)", "t._check(False)", "t._check(False, lambda: 3)", "t._check(1)", "t._check(False, 'abc')",
    "t._check(t.tensor(True))", "t._check_value(False)", "t._check_index(False)", "t._check_type(False)",
    "t._check_not_implemented(False)", "t._check_with(KeyError, False, lambda: 'x')",
    "t._check_tensor_all(t.tensor([True, False]))", "t._check_tensor_all(t.ones(2) > 0)", "t._check_tensor_all(True)",
    "t._check_tensor_all(t.ones(2))", "t._assert_async(t.tensor(1))", "t._assert_async(t.tensor(0))",
    "t._assert_async(t.tensor(0), 'no')", "t._assert_async(t.ones(2))",
    # by position
    "t.constant_pad_nd(t.ones(2, 2), (1, 1), 3)", "t.constant_pad_nd(t.ones(2, 2), (-1, 1))",
    *(
        f"t.grid_sampler{dims}({images}, {grid}.sin() * 1.2, {how}, {beyond}, {align})"
        for dims, images, grid, hows in (
            ("", IMAGES, "t.arange(24.).reshape(1, 3, 4, 2)", (0, 1, 2)),
            ("_2d", IMAGES, "t.arange(24.).reshape(1, 3, 4, 2)", (0, 1, 2)),
            ("_3d", "t.arange(8.).reshape(1, 1, 2, 2, 2)", "t.arange(24.).reshape(1, 1, 2, 4, 3)", (0, 1)),
        )
        for how in hows for beyond in (0, 1, 2) for align in (False, True)
    ),
    # functions of elements
    "t.arange(3.).map2_(t.ones(3), t.ones(1), lambda z, x, y: z * x + y)", "t.arange(3.).map_(3, max)",
    "t.arange(3.).map_(t.ones(3).long(), max)", "t.arange(3.).map_(t.ones(3, requires_grad=True), max)",
    "t.arange(3.).map2_(t.ones(3).long(), t.ones(1), max)", "t.arange(3.).map2_(t.ones(3), 3, max)",
    "t.arange(3.).map2_(t.ones(3), t.ones(1, requires_grad=True), max)",
    # storages and their buffers
    "t.ones(2).storage().type()", "t.ones(2).untyped_storage().type()", "t.ones(2).storage().filename",
    "t.ones(2).untyped_storage().filename", "t.FloatStorage.from_buffer(bytearray([1, 2, 3, 4]), 'little')",
    "t.ByteStorage.from_buffer(bytearray([1, 2, 3, 4]), 'native', 1, 2)", "t.ByteStorage.from_buffer(b'abc')",
    *(
        f"t.UntypedStorage.from_buffer({args})"
        for args in (
            "b'abcd', dtype=t.int16, byte_order='little'", "b'abcd', 'big', dtype=t.int16", "b'abcd', dtype=t.uint8",
            "b'abcd', 'big', 0, 1, dtype=t.int16", "b'abcd', 'native', offset=2, dtype=t.int16", "b'abcd'",
            "b'abcd', dtype=t.int16", "b'abcd', 'foo', dtype=t.int16", "b'abc', 'little', dtype=t.int16",
            "b'abc', 'little', count=3, dtype=t.int16", "b'', 'little', dtype=t.int16", "b'a\\0', dtype=t.bool",
            "b'abcdefgh', 'big', dtype=t.float32",
        )
    ),
    "t.tensor(t.ones(2).untyped_storage())", "t.tensor(t.ones(2).untyped_storage(), dtype=t.float32)",
    "t.tensor(t.ones(2).untyped_storage(), dtype=t.uint8)", "t.tensor(t.ones(2).storage())",
    "t.as_tensor(t.ones(2).untyped_storage(), dtype=t.float32)",
    # forms
    "t.tensor([3, 1]).sort(stable=None)", "t.sort(t.tensor([3, 1]), stable=None, dim=0, descending=True)",
    "t.arange(3.).narrow(0, t.tensor([0]), 1)", "t.narrow(t.arange(3.), 0, t.tensor(1), 1)",
    "t.narrow(t.arange(3.), 0, t.tensor(1.), 1)", "t.narrow(t.arange(3.), 0, t.tensor(True), 1)",
    "t.unravel_index(t.tensor([3]), t.tensor([2, 3]))", "t.unravel_index(t.tensor([3]), 4)",
    "t.unravel_index(t.tensor([3]), (2, 2))", "t.unravel_index(t.tensor(1), (2, 2.0))",
    "t.unravel_index(t.tensor(1), (None,))",
    "t.linspace(t.tensor([1., 2]), 3, 4)", "t.linspace(1, t.ones(1), 4)",
    "t.linspace(t.ones(1), t.ones(1, 1), 4)", "t.linspace(t.tensor(1.), 3, 4)", "t.logspace(t.ones(1), 3, 4)",
    "t.logspace(t.tensor(1.), t.tensor(2.), 3, 2)",
    # storages as others
    *(f"t.FloatStorage([1, 2.5]).{word}()" for word in (
        "double", "float", "half", "long", "int", "short", "char", "byte", "bool", "bfloat16", "cpu", "resizable",
    )),
    "t.FloatStorage([1, 2]).to(device='cpu')", "t.UntypedStorage(3).to(device='cpu').size()",
    "t.FloatStorage([1, 2]).float().data_ptr() == 0", "sorted((str(k), v) for k, v in "
    "t.storage._dtype_to_storage_type_map().items() if str(k) in ('torch.float32', 'torch.bool', 'torch.int8'))",
    # refusals of segments and of what is rounded
    "t.segment_reduce(t.ones(3), 'sum')", "t.segment_reduce(t.ones(3), 'sum', indices=t.tensor([3]))",
    "t.segment_reduce(t.ones(3).long(), 'sum', lengths=t.tensor([3]))",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("text", TEXTS)
def test_as_pytorch(text, torch):
    ours, theirs = outcome(dt, text), outcome(torch, text)
    if isinstance(ours, tuple) and isinstance(
        theirs, tuple
    ):  # errors begin with the function's name
        assert ours[0] == theirs[0]
        assert ours[1].partition(": ")[2] == theirs[1].partition(": ")[2] or ours[1].endswith(
            theirs[1]
        )
    else:
        assert ours == theirs


class Doubled:
    """What has a length and elements, and no more."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return [0, 2, 4][i]


class Row(Doubled):
    def __getitem__(self, i):
        return [Doubled(), Doubled(), Doubled()][i]


class Broken(Doubled):
    def __getitem__(self, i):
        raise TypeError


@pytest.mark.parametrize("kind", [Doubled, Row])
def test_tensors_of_objects_with_a_length(kind, both, same):
    same(*both(lambda t: (t.tensor(kind()), t.as_tensor(kind()), t.tensor([kind(), kind()]))))


def test_refusals_of_objects_with_a_length(torch):
    for t in (dt, torch):
        with pytest.raises(
            ValueError, match="could not determine the shape of object type 'Broken'"
        ):
            t.tensor(Broken())
        with pytest.raises(RuntimeError, match="Could not infer dtype of set"):
            t.tensor({2, 3})


def test_what_a_storage_takes(torch):
    for t in (dt, torch):
        for of in (t.Tensor.storage, t.Tensor.untyped_storage):
            assert sys.getsizeof(of(t.ones(200))) - sys.getsizeof(of(t.ones(100))) == 400


def test_what_was_built():
    assert dt.version.release in dt.__config__.show()
    assert str(dt.get_num_threads()) in dt.__config__.parallel_info()
    assert dt.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")


def test_the_older_place_of_collate():
    from dumbtorch.utils.data._utils.collate import default_collate

    assert default_collate is dt.utils.data.default_collate
    assert dt.utils.data._utils.collate.default_convert is dt.utils.data.default_convert


# What PyTorch says of these begins in another way, or not at all.
REFUSED = {
    "t.segment_reduce(t.ones(3), 'foo', lengths=t.tensor([3]))": "be either sum, prod, mean, amax or amin, got foo",
    "t.segment_reduce(t.ones(3), 'sum', lengths=t.tensor([1, 3]))": "to sum to data.size",
    "t.segment_reduce(t.ones(3), 'sum', lengths=t.tensor([-1, 4]))": "lengths contains negative value!",
    "t.segment_reduce(t.ones(3), 'sum', offsets=t.tensor([0, 3, 1]))": "offsets must not decrease",
    "t.segment_reduce(t.ones(2, 3), 'sum', lengths=t.tensor([1, 2]), axis=1)": "last dimension of lengths but got 1.",
    "t.segment_reduce(t.ones(2, 3), 'sum', lengths=t.tensor([[3]]), axis=1)": "must have the sizes of data",
    "t.segment_reduce(t.tensor(1.0), 'sum', lengths=t.tensor([1]))": "must have the sizes of data",
    "t.segment_reduce(t.ones(3), 'sum', lengths=t.tensor([3.0]))": "not implemented for 'Float'",
    "t.fake_quantize_per_tensor_affine(t.ones(3), 0.1, 9, -8, 7)": "must be between `quant_min` and `quant_max`",
    "t.fake_quantize_per_tensor_affine(t.ones(3), 0.1, 0, 8, 7)": "`quant_min` should be less than or",
    "t.fake_quantize_per_tensor_affine(t.ones(3).long(), 0.1, 0, 0, 7)": "not implemented for 'Long'",
    "t.fake_quantize_per_channel_affine(t.ones(2), t.ones(2).double(), t.zeros(2), 0, 0, 7)": "found Double",
    "t.fake_quantize_per_channel_affine(t.ones(2), t.ones(2), t.zeros(2).long(), 0, 0, 7)": "found Long",
    "t.fake_quantize_per_channel_affine(t.ones(2), t.ones(3), t.zeros(3), 0, 0, 7)": "not consistent with input tensor",
    "t.fake_quantize_per_channel_affine(t.ones(2), t.ones(2), t.zeros(1), 0, 0, 7)": "need to have the same dimensions",
    "t.fake_quantize_per_channel_affine(t.ones(2), t.ones(2), t.ones(2).int() * 9, 0, 0, 7)": "must be between",
    "t.fake_quantize_per_channel_affine(t.ones(2), t.ones(2), t.zeros(2), -1, 0, 7)": "`axis` must be between 0",
    "t.linalg.ldl_factor(t.zeros(3, 3))": "the diagonal element 1 of D is zero",
    "t.linalg.eig(t.ones(2, 2))": "there are no complex numbers, which the eigenvalues",
    "t.linalg.eigvals(t.ones(2, 2))": "eigh and eigvalsh",
    "t.zeros(2, dtype=t.complex64)": "torch.complex64: there are no complex numbers",
    "t.ones(2).to(t.cdouble)": "torch.complex128: there are no complex numbers",
    "t.tensor([1], dtype=t.uint16)": "torch.uint16: there is no such dtype",
    "t.ones(2).view(t.uint32)": "torch.uint32: there is no such dtype",
    "t.ones(2).type(t.float8_e5m2)": "torch.float8_e5m2: there is no such dtype",
    "t.nn.Linear(1, 1, dtype=t.complex64)": "torch.complex64: there are no complex numbers",
    "t.set_default_dtype(t.complex64)": "there are no complex numbers",
    "t.promote_types(t.float32, t.complex64)": "there are no complex numbers",
    "t.finfo(t.complex64)": "there are no complex numbers",
    "t.ones(2).sum(dtype=t.complex64)": "there are no complex numbers",
    "t.zeros(2, layout=t.sparse_coo)": "torch.sparse_coo: all tensors are strided",
    "t.ones(2).to_sparse()": "there are no sparse tensors",
    "t.quantize_per_tensor(t.ones(2), 0.1, 0, t.quint8)": "there are no quantized tensors",
    "t.ones(2).hash_tensor()": "there is no uint64",
    "t.utils.data.IterDataPipe": "datasets and samplers",
    "t.nn.functional.scaled_mm": "8 bits",
    "t.channels_last_3d": "volumes",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    assert REFUSED[text] in outcome(dt, text)[1]


# ---- parts of factorisations


def low_rank(*sizes, rank=4):
    dt.manual_seed(3)
    x = dt.randn(*sizes[:-1], rank, dtype=dt.float64) @ dt.randn(
        *sizes[:-2], rank, sizes[-1], dtype=dt.float64
    )
    return x


@pytest.mark.parametrize("sizes", [(12, 7), (7, 12), (2, 3, 9, 6)])
def test_svd_lowrank_of_a_matrix_of_low_rank(sizes):
    x = low_rank(*sizes)
    u, s, v = dt.svd_lowrank(x, 4)
    assert dt.allclose(u * s.unsqueeze(-2) @ v.mT, x)
    assert dt.allclose(s, dt.linalg.svdvals(x)[..., :4])
    mean = dt.ones(sizes[-1], dtype=dt.float64)
    u, s, v = dt.svd_lowrank(x + 1, q=5, niter=3, M=mean)
    assert dt.allclose(u * s.unsqueeze(-2) @ v.mT, x) and s.shape[-1] == 5


def test_pca_lowrank():
    x = low_rank(12, 7) + 5
    _, s, v = dt.pca_lowrank(x)
    centred = x - x.mean(0)
    assert dt.allclose(s[:4], dt.linalg.svdvals(centred)[:4]) and v.shape == (7, 6)
    assert dt.allclose(centred @ v @ v.mT, centred)
    assert dt.pca_lowrank(x, 2, center=False)[1].shape == (2,)


@pytest.mark.parametrize("text", ["(t.ones(3, 4), 4)", "(t.ones(3, 4), 2, niter=-1)"])
def test_refusals_of_pca_lowrank(text, torch):
    assert outcome(dt, "t.pca_lowrank" + text) == outcome(torch, "t.pca_lowrank" + text)


def pencil(t, n=30):
    x = t.arange(float(n * n), dtype=t.float64).reshape(n, n)
    a, b = (x * 1.3).sin(), (x * 0.7).cos()
    return a @ a.mT, b @ b.mT + n * t.eye(n, dtype=t.float64)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("general", [True, False])
def test_lobpcg(general, largest):
    """The pairs solve the problem, and the values are those that eigh finds."""
    a, b = pencil(dt)
    b = b if general else None
    values, vectors = dt.lobpcg(a, 3, B=b, largest=largest, tol=1e-10, n=5)
    right = vectors if b is None else b @ vectors
    assert dt.allclose(a @ vectors, right * values, atol=1e-6)
    assert dt.allclose(vectors.mT @ right, dt.eye(3, dtype=dt.float64))
    inverse = dt.eye(30, dtype=dt.float64) if b is None else dt.linalg.cholesky(b).inverse()
    exact = dt.linalg.eigvalsh(inverse @ a @ inverse.mT)
    assert dt.allclose(values, exact.flip(0)[:3] if largest else exact[:3])


def test_lobpcg_of_a_batch_and_its_tracker():
    a, _ = pencil(dt)
    seen = []
    values, vectors = dt.lobpcg(dt.stack([a, a * 2]), 2, tracker=lambda w: seen.append(w.ivars["istep"]))  # fmt: skip
    assert values.shape == (2, 2) and vectors.shape == (2, 30, 2)
    assert dt.allclose(values[0] * 2, values[1]) and seen.count(1) == 2
    start = dt.randn(30, 2, dtype=dt.float64)
    preconditioner = dt.eye(30, dtype=dt.float64)
    again = dt.lobpcg(a, X=start, iK=preconditioner, niter=50)[0]
    assert dt.allclose(again, values[0])


def test_gradient_of_lobpcg(both, same):
    """PyTorch's is not symmetric; its symmetric part is what moves the result."""

    def run(t):
        a, _ = pencil(t)
        # Far apart, so that both libraries find them to the last digits.
        a = (a + t.diag(t.arange(30.0, dtype=t.float64)) * 5).requires_grad_()
        values, vectors = t.lobpcg(a, 3, tol=1e-13)
        weight = t.arange(90.0, dtype=t.float64).reshape(30, 3).sin()
        ((vectors * weight).sum(0).square().sum() + values.square().sum()).backward()
        return a.grad + a.grad.mT

    same(*both(run), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "text",
    ["(t.eye(5), 2)", "(t.ones(3, 4))", "(t.eye(9), X=t.ones(8, 1))", "(t.eye(9), B=t.eye(8))"],
)
def test_refusals_of_lobpcg(text, torch):
    ours, theirs = (outcome(t, "t.lobpcg" + text) for t in (dt, torch))
    assert ours[0] == theirs[0] and (ours[1] == theirs[1] or "X shape mismatch" in ours[1])


def test_gradient_of_ldl_solve():
    a, _ = pencil(dt, 5)
    a = a - 3 * dt.eye(5, dtype=dt.float64)
    factors = dt.linalg.ldl_factor(a)
    b = dt.arange(10.0, dtype=dt.float64).reshape(5, 2).requires_grad_()
    solve = lambda b: dt.linalg.ldl_solve(*factors, b)  # noqa: E731
    assert dt.allclose(a @ solve(b), b)
    assert dt.autograd.gradcheck(solve, (b,)) and dt.autograd.gradgradcheck(solve, (b,))
    with pytest.raises(NotImplementedError, match="'linalg_ldl_factor_ex' is not implemented"):
        dt.linalg.ldl_factor(a.requires_grad_()).LD.sum().backward()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("kind", ["full", "hollow", "whole"])
def test_pivots_of_ldl(n, kind, both, same):
    """Elements of one size and zeros on the diagonal make blocks of two rows."""

    def run(t):
        x = (t.arange(float(n * n), dtype=t.float64).reshape(n, n).square() * 0.3).sin()
        x = (x * 1.5).round() if kind == "whole" else x
        x = x + x.mT
        if kind == "hollow":
            x = x - x.diag().diag()
        return tuple(t.linalg.ldl_factor_ex(x))

    same(*both(run), rtol=1e-8, atol=1e-8)


# ---- files, optimizers, autograd


def test_from_file(tmp_path, both):
    def run(t):
        file = str(tmp_path / f"{t.__name__}.bin")
        made = t.from_file(file, True, 5).fill_(3)
        private = t.from_file(file, False, 4).fill_(1)
        longer = t.from_file(file, shared=True, size=6, dtype=t.int32)
        errors = []
        for size, name in ((9, file), (2, file + ".not")):
            try:
                t.from_file(name, size=size)
            except RuntimeError as error:
                errors.append(str(error).replace(t.__name__, ""))
        parts = (made, private, longer, t.from_file(file))
        return [x.tolist() for x in parts], errors

    mine, theirs = both(run)
    assert mine == theirs


def test_an_optimizer_works_on_other_parameters_for_a_while(both, same):
    def run(t):
        p = t.tensor([1.0, 2.0], requires_grad=True)
        p.grad = t.tensor([1.0, -1.0])
        optimizer = t.optim.AdamW([p], lr=0.1)
        optimizer.step()
        given = copy.deepcopy(optimizer.state_dict())
        given["param_groups"][0]["lr"] = 0.5
        other = t.tensor([3.0, 4.0])
        other.grad = t.tensor([1.0, 2.0])
        with t.optim.swap_in_optimizer_params_and_state(optimizer, {"p": other}, given):
            optimizer.step()
        state, rate = given["state"][0], optimizer.param_groups[0]["lr"]
        return p.detach().clone(), other, state["exp_avg"], state["step"], rate

    same(*both(run))
    p = dt.ones(1, requires_grad=True)
    optimizer = dt.optim.SGD([p], momentum=0.9)
    swap = dt.optim.swap_in_optimizer_params_and_state
    with pytest.raises(RuntimeError, match="initialized optimizer state"), swap(optimizer, {}, {}):
        pass


def test_old_names_of_autograd():
    old = dt.autograd.function
    assert type(dt.autograd.Function) is old.FunctionMeta
    assert issubclass(old.InplaceFunction, dt.autograd.Function)
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        dt.autograd.NestedIOFunction.apply(dt.ones(1))
    with dt.autograd.enforce_grad_layout_policy(False):
        pass


def test_unchecked_gradients_and_shared_storages(both):
    def run(t):
        p = t.nn.Parameter(t.ones(2))
        p._grad = t.full((2,), 3.0)
        t.nn.utils.clip_grad_norm_([p], 1.0)
        x = t.ones(2)
        shared = [
            t.ones(2).share_memory_().storage().is_shared(),
            x.storage().is_shared(),
            x.untyped_storage().is_shared(),
        ]
        return [round(g, 5) for g in p.grad.tolist()], p._grad is not None, shared

    mine, theirs = both(run)
    assert mine == theirs


def test_collating_types_of_ones_own(both):
    """What a program adds to the map, and what it takes from it."""

    def run(t):
        place = importlib.import_module(f"{t.__name__}.utils.data._utils.collate")

        class Graph:
            def __init__(self, size):
                self.size = size

        def together(batch, *, collate_fn_map=None):
            return "graphs", place.collate([g.size for g in batch], collate_fn_map=collate_fn_map)

        place.default_collate_fn_map[Graph] = together
        try:
            items = [
                {"g": Graph(i), "x": np.float32(i), "a": np.ones(2) * i, "s": ("t", i, 0.5)}
                for i in range(2)
            ]
            out = place.default_collate(items)
            alone = place.collate(
                [[1, 2], [3, 4]], collate_fn_map={int: lambda b, *, collate_fn_map: max(b)}
            )
            with pytest.raises(TypeError):
                place.collate([1, 2])
            with pytest.raises(TypeError):
                place.collate([[Graph(1)]], collate_fn_map={int: together})
        finally:
            del place.default_collate_fn_map[Graph]
        shown = {
            k: (str(v.dtype)[-7:], v.tolist()) for k, v in out.items() if isinstance(v, t.Tensor)
        }
        return shown, out["g"][0], out["g"][1].tolist(), out["s"][0], out["s"][1].tolist(), alone

    mine, theirs = both(run)
    assert mine == theirs


def test_the_usual_functions_of_collating(both):
    def run(t):
        place = importlib.import_module(f"{t.__name__}.utils.data._utils.collate")
        usual = place.default_collate_fn_map
        keys = [t.Tensor, np.ndarray, (np.bool_, np.number, np.object_), float, int, str, bytes]
        names = [usual[key].__name__ for key in keys]

        def largest(batch, *, collate_fn_map=None):
            return max(x.max().item() for x in batch)

        its, usual[t.Tensor] = usual[t.Tensor], largest
        try:
            found = place.default_collate([t.nn.Parameter(t.ones(2)), t.ones(2) * 3])
        finally:
            usual[t.Tensor] = its
        refused = []
        for item in (np.ones(2), np.float32(1), np.int64(1), t.ones(1)):
            with pytest.raises(TypeError) as caught:
                place.collate([item], collate_fn_map={int: largest})
            refused.append(str(caught.value).split("<")[0])
        return names, len(usual), found, refused

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize(
    "seed", [0, -1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 1.5, 2**64, -(2**63) - 1]
)
def test_seeds_of_64_bits(both, seed):
    """Negative ones are those of the same bits; what has more bits is refused."""

    def run(t):
        try:
            seeds = [t.manual_seed(seed).initial_seed(), t.initial_seed()]
            seeds.append(t.Generator().manual_seed(int(seed)).initial_seed())
            first = t.rand(3)
            return seeds, t.equal(t.manual_seed(seeds[0]) and t.rand(3), first)
        except (ValueError, RuntimeError) as error:
            return str(error).rpartition("(): ")[2]

    mine, theirs = both(run)
    assert mine == theirs


@pytest.mark.parametrize("dtype", ["", ", dtype=t.float32", ", dtype=t.bool"])
@pytest.mark.parametrize("name", ["tensor", "as_tensor", "asarray"])
def test_storages_of_another_dtype(refusals, name, dtype):
    def run(t):
        eval(f"t.{name}(storage{dtype})", {"t": t, "storage": t.ones(2, dtype=t.int64).storage()})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's of typed storages
        ours, theirs = refusals(run, RuntimeError)
    assert ours == theirs


@pytest.mark.parametrize("call", ["t.save('x', {})", "t.load({})"])
@pytest.mark.parametrize("what", ["t.ones(2)", "5", "None"])
def test_what_is_no_file(refusals, call, what):
    ours, theirs = refusals(lambda t: eval(call.format(what), {"t": t}), AttributeError)
    assert ours == theirs


def test_old_name_of_segment_reduce(both, same):
    def run(t):
        return t._segment_reduce(t.arange(4.0), "max", lengths=t.tensor([1, 3]), unsafe=False)

    same(*both(run))


def test_dtypes_and_layouts_to_compare_with(torch):
    """Programs ask whether a tensor has one of these: none has."""
    names = "complex32 complex64 complex128 chalf cfloat cdouble uint16 uint32 uint64 float8_e4m3fn float8_e5m2".split()
    for name in names:
        ours, theirs = getattr(dt, name), getattr(torch, name)
        assert isinstance(ours, dt.dtype) and repr(ours) == repr(theirs)
        assert ours == ours and ours != dt.float32 and dt.ones(1).dtype != ours
        for trait in ("is_complex", "is_floating_point", "is_signed", "itemsize"):
            assert getattr(ours, trait) == getattr(theirs, trait), (name, trait)
        assert pickle.loads(pickle.dumps(ours)) is ours
    for name in "sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc".split():
        ours = getattr(dt, name)
        assert isinstance(ours, dt.layout) and repr(ours) == repr(getattr(torch, name))
        assert dt.ones(1).layout != ours and pickle.loads(pickle.dumps(ours)) is ours
