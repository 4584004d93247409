"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes; the rare ones are computed where they are asked for."""

from __future__ import annotations

from collections import namedtuple

from ... import _ops
from ..._creation import tensor
from .container import ModuleList, Sequential
from .layers import Linear
from .module import Module

# The log-probability of each target, and the mean of its negative.
_ASMoutput = namedtuple("_ASMoutput", "output loss")


class AdaptiveLogSoftmaxWithLoss(Module):
    """log_softmax over classes that are sorted by how frequent they are, with its loss (arXiv 1609.04309).

    The head tells the most frequent classes, the shortlist, and the clusters of the others apart; a
    cluster's layers have fewer features the rarer its classes are.

    Args:
        in_features: Size of the input's last dimension.
        n_classes: How many classes there are.
        cutoffs: Where a cluster begins: increasing classes between 1 and n_classes - 1.
        div_value: By how much a cluster's features are fewer than those of the one before.
        head_bias: Whether the head adds a bias.
    """

    def __init__(
        self,
        in_features,
        n_classes,
        cutoffs,
        div_value=4.0,
        head_bias=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        increasing = all(a < b for a, b in zip([0, *cutoffs], [*cutoffs, n_classes], strict=True))
        if not increasing or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            features = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, features, bias=False, **place),
                    Linear(features, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, **place),
                )
            )

    def reset_parameters(self):
        """Draws initial values."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:
                layer.reset_parameters()

    def forward(self, input_, target_):
        self._check(input_, target_)
        if target_.dim() == 0:
            output, loss = self._losses(input_.unsqueeze(0), target_.unsqueeze(0))
            return _ASMoutput(output.squeeze(0), loss)
        return _ASMoutput(*self._losses(input_, target_))

    def _losses(self, input, target):
        begins = tensor(self.cutoffs[:-1], device=target.device)
        cluster = _ops.bucketize(target, begins, right=True)  # 0: the shortlist
        column = _ops.where(cluster > 0, self.shortlist_size - 1 + cluster, target)
        output = _ops.log_softmax(self.head(input), 1).gather(1, column.unsqueeze(1)).squeeze(1)
        for i, layers in enumerate(self.tail):
            rows = (cluster == i + 1).nonzero().squeeze(1)
            if len(rows):
                within = (target[rows] - self.cutoffs[i]).unsqueeze(1)
                logs = _ops.log_softmax(layers(input[rows]), 1)
                output = output.index_add(0, rows, logs.gather(1, within).squeeze(1))
        return output, -output.mean()

    def _check(self, input, target):
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and len(input) != len(target):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, "
                f"but found inputs with size {input.shape}"
            )
        if target.numel() and not (0 <= target.min() and target.max() < self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )

    def log_prob(self, input):
        """The logarithm of every class's probability, [batch, n_classes]."""
        return self._log_prob(input, self.head(input))

    def _log_prob(self, input, head):
        logs = _ops.log_softmax(head, 1)
        parts = [logs[:, : self.shortlist_size]]
        for i, layers in enumerate(self.tail):
            of_cluster = logs[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(_ops.log_softmax(layers(input), 1) + of_cluster)
        return _ops.cat(parts, 1)

    def predict(self, input):
        """The most probable class of each row; clusters are computed where the head chooses one."""
        head = self.head(input)
        chosen = head.argmax(1)
        rows = (chosen >= self.shortlist_size).nonzero().squeeze(1)
        if len(rows):
            chosen[rows] = self._log_prob(input[rows], head[rows]).argmax(1)
        return chosen
