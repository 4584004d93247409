"""Recurrent layers: RNN, LSTM, GRU. Their weights are in the order in which functions take them."""

from __future__ import annotations

import math
import numbers
import warnings

from ... import _ops
from ..._overloads import gru, lstm, rnn_relu, rnn_tanh
from ..._warning import warn_each
from ...amp.autocast_mode import is_autocast_enabled
from ...autograd.grad_mode import no_grad
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {"LSTM": lstm, "GRU": gru, "RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu}

# The methods that refuse what forward is given.
_CHECKS = frozenset(
    ["check_forward_args", "check_input", "check_hidden_size", "get_expected_hidden_size"]
    + ["get_expected_cell_size"]
)


def _refuse_types(**named) -> None:
    for name, (value, wanted) in named.items():
        if not isinstance(value, wanted):
            given = type(value).__name__
            raise TypeError(f"{name} should be of type {wanted.__name__}, got: {given}")


def _refuse_settings(dropout, input_size, hidden_size, num_layers, proj_size) -> None:
    is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
    if not is_number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    named = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
    for name, value in named.items():
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _apply_permutation(tensor, permutation, dim=1):
    return _ops.index_select(tensor, dim, permutation)


def apply_permutation(tensor, permutation, dim=1):
    """index_select, in another order of arguments."""
    warn_each(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
    )
    return _apply_permutation(tensor, permutation, dim)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: settings, weights, and the reading of their inputs."""

    _older = {"proj_size": 0}

    def __init__(
        self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
        dropout=0.0, bidirectional=False, proj_size=0, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        dropout = float(dropout) if isinstance(dropout, str) else dropout
        _refuse_types(bias=(bias, bool), batch_first=(batch_first, bool))
        _refuse_types(input_size=(input_size, int), hidden_size=(hidden_size, int))
        _refuse_settings(dropout, input_size, hidden_size, num_layers, proj_size)
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
                f"expects num_layers greater than 1, but got dropout={dropout} and num_layers=1",
                stacklevel=3,
            )
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        self._all_weights = []
        place = {"device": device, "dtype": dtype}
        for layer in range(num_layers):
            self._add_direction(layer, f"_l{layer}", place)
            if bidirectional:
                self._add_direction(layer, f"_l{layer}_reverse", place)
        self.reset_parameters()

    def _add_direction(self, layer, suffix, place) -> None:
        rows = _GATES[self.mode] * self.hidden_size
        outputs = self.proj_size or self.hidden_size
        features = outputs * (2 if self.bidirectional else 1) if layer else self.input_size
        shapes = {"weight_ih": (rows, features), "weight_hh": (rows, outputs)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (outputs, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(_ops.empty(shape, **place)))
        self._all_weights.append([name + suffix for name in shapes])

    def reset_parameters(self):
        """Draws initial values."""
        bound = 1 / math.sqrt(self.hidden_size)
        with no_grad():
            for weight in self.parameters():
                weight.uniform_(-bound, bound)

    def _apply(self, function, recurse: bool = True):
        self.__dict__.pop("_given_weights", None)
        return super()._apply(function, recurse)

    def flatten_parameters(self):
        """Does nothing: there is no memory layout that would be faster."""

    @property
    def all_weights(self):
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        """All of them in one list: what a call computes with."""
        own = [weight for weights in self.all_weights for weight in weights]
        given, instead_of = self.__dict__.get("_given_weights", (None, ()))
        return given if list(map(id, own)) == list(map(id, instead_of)) else own

    @_flat_weights.setter
    def _flat_weights(self, weights) -> None:
        """Others to compute with, until one of the layer's own is replaced."""
        self.__dict__.pop("_given_weights", None)
        self.__dict__["_given_weights"] = weights, self._flat_weights

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"proj_size={self.proj_size}"] if self.proj_size else []
        parts += [f"num_layers={self.num_layers}"] if self.num_layers != 1 else []
        parts += [f"bias={self.bias}"] if not self.bias else []
        parts += [f"batch_first={self.batch_first}"] if self.batch_first else []
        parts += [f"dropout={self.dropout}"] if self.dropout else []
        parts += [f"bidirectional={self.bidirectional}"] if self.bidirectional else []
        return ", ".join(parts)

    # ---- what forward refuses, and in which order a batch is

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__module__ != __name__ and not _CHECKS.isdisjoint(cls.__dict__):
            cls._checks_itself = True

    _checks_itself = False  # the functions check the same, unless a class has checks of its own

    def check_input(self, input, batch_sizes) -> None:
        """Refuses an input of another dtype, of other dimensions or features."""
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype and not any(map(is_autocast_enabled, ("cpu", "cuda"))):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input, batch_sizes) -> tuple[int, int, int]:
        """The sizes of hidden states."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_size(self, input, batch_sizes, features: int) -> tuple[int, int, int]:
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else batch_sizes[0]
        batch = int(batch)
        return self.num_layers * (2 if self.bidirectional else 1), batch, features

    def check_hidden_size(
        self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"
    ) -> None:
        """Refuses a state of other sizes."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        """Refuses what forward, of a batch, would refuse."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """A state, or hidden states and cells, with the batch in another order."""
        return _permuted(hx, permutation)

    def _zeros(self, input, batch_sizes):
        """The state before the first step."""
        return input.new_zeros(self.get_expected_hidden_size(input, batch_sizes))

    def _check(self, input, hx, batch_sizes=None) -> None:
        """By the checks of a class of one's own, which see a batch and a state."""
        if batch_sizes is None and input.dim() == 2:
            input = input.unsqueeze(0 if self.batch_first else 1)
            hx = _each(hx, lambda state: state.unsqueeze(1))
        given = self._zeros(input, batch_sizes) if hx is None else hx
        self.check_forward_args(input, given, batch_sizes)

    def forward(self, input, hx=None):
        weights = self._flat_weights
        checks_itself = self._checks_itself or not _CHECKS.isdisjoint(self.__dict__)
        settings = self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        function = _FUNCTIONS[self.mode]
        if isinstance(input, PackedSequence):
            first = None if hx is None else self.permute_hidden(hx, input.sorted_indices)
            if checks_itself:
                self._check(input.data, first, input.batch_sizes)
            result = function(input.data, input.batch_sizes, first, weights, *settings)
            output = input._replace(data=result[0])
            return output, self.permute_hidden(_state(result), input.unsorted_indices)
        if checks_itself:
            self._check(input, hx)
        result = function(input, hx, weights, *settings, self.batch_first)
        return result[0], _state(result)


def _state(result):
    """What a network ends with: of an LSTM hidden states and cells."""
    return tuple(result[1:]) if len(result) > 2 else result[1]


def _permuted(state, order):
    """A state, or hidden states and cells, with the batch in another order."""
    return state if order is None else _each(state, lambda s: s.index_select(1, order))


def _each(state, function):
    """A function of a state, or of hidden states and cells."""
    if isinstance(state, (tuple, list)):
        return tuple(map(function, state))
    return None if state is None else function(state)


def _without_projection(options) -> dict:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    return options


class RNN(RNNBase):
    """The recurrent network of Elman: h = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh),
    or relu in the place of tanh, for each time step of [time, batch, input_size].

    Args:
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        num_layers: How many layers there are, each applied to the outputs of the one before.
        nonlinearity: tanh or relu.
        bias: Whether there are biases.
        batch_first: Whether dimension 0 of input and output is the batch, and 1 the time.
        dropout: Probability of a 0 in what goes from a layer to the next, in training.
        bidirectional: Whether each layer also runs from the end to the beginning.
    """

    def __init__(
        self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **options
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        options = _without_projection(options)
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **options)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Neural Computation 9, 1735), of [time, batch, input_size]; torch.lstm has
    the formulas.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        num_layers: How many layers there are, each applied to the outputs of the one before.
        bias: Whether there are biases.
        batch_first: Whether dimension 0 of input and output is the batch, and 1 the time.
        dropout: Probability of a 0 in what goes from a layer to the next, in training.
        bidirectional: Whether each layer also runs from the end to the beginning.
        proj_size: Features of the hidden state after a projection; 0: there is none.
    """

    def __init__(self, *args, **options):
        super().__init__("LSTM", *args, **options)

    def get_expected_cell_size(self, input, batch_sizes) -> tuple[int, int, int]:
        """The sizes of cells."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        self.check_input(input, batch_sizes)
        sizes = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for i, size in enumerate(sizes):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def _zeros(self, input, batch_sizes):
        cells = input.new_zeros(self.get_expected_cell_size(input, batch_sizes))
        return super()._zeros(input, batch_sizes), cells


class GRU(RNNBase):
    """Gated recurrent units (arXiv 1406.1078), of [time, batch, input_size]; torch.gru has the formulas.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        num_layers: How many layers there are, each applied to the outputs of the one before.
        bias: Whether there are biases.
        batch_first: Whether dimension 0 of input and output is the batch, and 1 the time.
        dropout: Probability of a 0 in what goes from a layer to the next, in training.
        bidirectional: Whether each layer also runs from the end to the beginning.
    """

    def __init__(self, *args, **options):
        super().__init__("GRU", *args, **_without_projection(options))
