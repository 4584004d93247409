"""What parts there are, as torch.backends says it, and the switches of the GPU libraries."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType

from . import _missing, _ops

__getattr__ = _missing.getattr_of(__name__)


class _Module(ModuleType):
    """What programs import by its name, as in `import torch.backends.cudnn as cudnn`: a module, whose
    switches are properties."""

    def __init__(self, name: str):
        super().__init__(f"{__name__}.{name}", type(self).__doc__)
        sys.modules[self.__name__] = self

    def __getattr__(self, name: str):
        return _missing.getattr_of(self.__name__)(name)


class _Part(_Module):
    """A library that PyTorch may have been built with. Its switches are remembered and change nothing."""

    enabled = True
    deterministic = allow_tf32 = False

    @contextmanager
    def flags(self, enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
        """The switches inside of a block."""
        with _set(self, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32):
            yield

    def is_available(self) -> bool:
        """Whether it can be used."""
        return False

    is_built = is_available


@contextmanager
def _set(module, **new):
    """A module's switches inside of a block."""
    before = {name: getattr(module, name) for name in new}
    try:
        for name, value in new.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


class _Switch:
    """One of the two switches that set_tf32 takes."""

    def __init__(self, position: int):
        self._position = position

    @property
    def allow_tf32(self) -> bool:
        return _ops.get_tf32()[self._position]

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        both = list(_ops.get_tf32())
        both[self._position] = bool(value)
        _ops.set_tf32(*both)


def _way(name: str):
    """How a way of attention is allowed, and whether it is. The library chooses by itself."""

    def enable(self, enabled: bool) -> None:
        self._ways = {**self._ways, name: bool(enabled)}

    def enabled(self) -> bool:
        return self._ways[name]

    return enable, enabled


class _Cuda(_Module):
    matmul = _Switch(0)
    _ways = dict.fromkeys(("cudnn", "flash", "mem_efficient", "math", "overrideable"), True)
    enable_flash_sdp, flash_sdp_enabled = _way("flash")
    enable_math_sdp, math_sdp_enabled = _way("math")
    enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _way("mem_efficient")
    enable_cudnn_sdp, cudnn_sdp_enabled = _way("cudnn")

    @property
    def SDPBackend(self):
        """The names of these ways."""
        from .nn.attention import SDPBackend

        return SDPBackend

    @contextmanager
    def sdp_kernel(
        self, enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True
    ):
        """The ways that are allowed inside of a block."""
        before = self._ways
        allowed = enable_cudnn, enable_flash, enable_mem_efficient, enable_math, False
        self._ways = dict(zip(before, map(bool, allowed), strict=True))
        try:
            yield
        finally:
            self._ways = before

    @staticmethod
    def is_built() -> bool:
        """Whether there is a CUDA plugin that works."""
        return _ops.cuda_device_count() > 0


class _Cudnn(_Module, _Switch):
    """cuDNN. `enabled`, `benchmark` and `deterministic` are remembered and change nothing: the library
    chooses its algorithms itself."""

    enabled = True
    benchmark = False
    deterministic = False
    benchmark_limit = 10
    _position = 1

    def is_available(self) -> bool:
        """Whether there is a GPU, and with it cuDNN."""
        return _ops.cuda_device_count() > 0

    def version(self) -> int | None:
        """cuDNN's version, which is not known before it is opened."""
        return None

    @contextmanager
    def flags(self, enabled=False, benchmark=False, benchmark_limit=10, deterministic=False,
              allow_tf32=True, fp32_precision="none"):  # fmt: skip
        """The switches inside of a block."""
        with _set(self, enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit,
                  deterministic=deterministic, allow_tf32=allow_tf32):  # fmt: skip
            yield


class _Cpu(_Module):
    @staticmethod
    def get_cpu_capability() -> str:
        """PyTorch's word for the instructions that kernels use."""
        level = _ops.build_info().partition("in use: ")[2].partition("\n")[0]
        return {"x86-64-v3": "AVX2", "x86-64-v4": "AVX512"}.get(level, "DEFAULT")


cpu = _Cpu("cpu")
cuda = _Cuda("cuda")
cudnn = _Cudnn("cudnn")
mps = _Part("mps")
mkl = _Part("mkl")
mkldnn = _Part("mkldnn")
openmp = _Part("openmp")
