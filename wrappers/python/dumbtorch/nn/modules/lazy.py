"""Layers that read the size of their input off the first one."""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from . import layers


class LazyModuleMixin:
    """A module that makes its parameters at the first call: initialize_parameters(*args, **kwargs) sees
    what forward will, and materializes them. The module then becomes a cls_to_become, if that is a class.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(_make_room)
        self._initialize_hook = self.register_forward_pre_hook(_initialize, with_kwargs=True)

    def initialize_parameters(self, *args, **kwargs):
        """To be written by a class."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether there is a parameter or buffer that is not made yet."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))


def _initialize(module, args, kwargs):
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {type(module).__name__} has not been fully initialized")
    for hook in ("_initialize_hook", "_load_hook"):
        getattr(module, hook).remove()
        delattr(module, hook)
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


def _make_room(module, state_dict, prefix, *_):
    """Before a state dict is loaded: what is in it and not made yet gets the size that it has there."""
    for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
        value = state_dict.get(prefix + name)
        if is_lazy(tensor) and value is not None and not is_lazy(value):
            tensor.materialize(value.shape)


class _LazyLayer(LazyModuleMixin):
    """A layer without its first argument, `size_name`."""

    size_name: str

    def __init__(self, *args, **kwargs):
        super().__init__(0, *args, **kwargs)
        self._arguments = args, kwargs
        for name, p in self._parameters.items():
            if p is not None:
                self._parameters[name] = UninitializedParameter(device=p.device, dtype=p.dtype)
        for name, buffer in self._buffers.items():
            if buffer is not None and buffer.dim() > 0:
                self._buffers[name] = UninitializedBuffer(device=buffer.device, dtype=buffer.dtype)

    def size_of(self, input) -> int:
        """The first argument, read off an input."""
        raise NotImplementedError

    def initialize_parameters(self, input, *args, **kwargs):
        """Takes all that depends on the input's size from a layer made for it."""
        made = self.cls_to_become(self.size_of(input), *self._arguments[0], **self._arguments[1])
        setattr(self, self.size_name, getattr(made, self.size_name))
        own = {**self._parameters, **self._buffers}
        with no_grad():
            for name, value in {**made._parameters, **made._buffers}.items():
                if is_lazy(own[name]):
                    own[name].materialize(value.shape)
                    own[name].copy_(value)
        del self._arguments


class LazyLinear(_LazyLayer, layers.Linear):
    """Linear whose in_features are the last size of the first input."""

    cls_to_become, size_name = layers.Linear, "in_features"

    def size_of(self, input) -> int:
        return input.shape[-1]


class _LazyConvXdMixin(_LazyLayer):
    size_name = "in_channels"

    def size_of(self, input) -> int:
        batched = len(self.kernel_size) + 2
        if input.dim() not in (batched - 1, batched):
            raise RuntimeError(
                f"Expected {batched - 1}D (unbatched) or {batched}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[1 - batched]


class _LazyNormBase(_LazyLayer):
    size_name = "num_features"

    def size_of(self, input) -> int:
        return input.shape[1]


class _LazyInstanceNorm(_LazyNormBase):
    def __init__(
        self,
        eps=1e-05,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )


def _lazy(base, dims: int, *names: str) -> None:
    """Classes of one, two and three dimensions."""
    for name in names:
        full = getattr(layers, f"{name}{dims}d")
        doc = f"{full.__name__} whose {base.size_name} are the first input's."
        body = {"cls_to_become": full, "__doc__": doc, "__module__": __name__}
        kin = full
        if issubclass(base, _LazyNormBase):  # it is no such norm, but what that one is, too
            kin = full.__base__
            own = "_check_input_dim", "_get_no_batch_dim"
            body |= {name: vars(full)[name] for name in own if name in vars(full)}
        globals()[f"Lazy{full.__name__}"] = type(f"Lazy{full.__name__}", (base, kin), body)


for _dims in (1, 2, 3):
    _lazy(_LazyConvXdMixin, _dims, "Conv", "ConvTranspose")
    _lazy(_LazyNormBase, _dims, "BatchNorm")
    _lazy(_LazyInstanceNorm, _dims, "InstanceNorm")

__all__ = [name for name in globals() if name.startswith("Lazy") and name != "LazyModuleMixin"]
