"""Networks that people know, under the names that their published weights have.

Vision models take images [N, channels, height, width] and give scores [N, num_classes]; their state
dicts are torchvision's. GPT2's is that of the published checkpoint. Nothing is downloaded: a file
of weights is read with `safetensors.load_file` or `torch.load`. The networks are rows of
capi/schema/models.toml, which other languages have as well.
"""

from .. import _missing
from . import networks
from .drawing import draw_graph, graph_dot
from .networks import *  # noqa: F403
from .summary import summary

__getattr__ = _missing.getattr_of(__name__)

__all__ = ["draw_graph", "graph_dot", "summary", *networks.__all__]
