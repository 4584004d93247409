"""Networks that people know, under the names that their published weights have.

Vision models take images [N, channels, height, width] and give scores [N, num_classes]; their state
dicts are torchvision's. GPT2's is that of the published checkpoint. Nothing is downloaded: a file
of weights is read with `safetensors.load_file` or `torch.load`.
"""

from .classic import VGG, AlexNet, LeNet, alexnet, lenet, vgg11
from .drawing import draw_graph, graph_dot
from .gpt2 import GPT2, gpt2
from .lstm_lm import LSTMLanguageModel, lstm_lm
from .mobilenet import MobileNetV2, mobilenet_v2
from .resnet import ResNet, resnet18, resnet34, resnet50
from .summary import summary
from .vit import VisionTransformer, vit_b_16

__all__ = [
    "AlexNet", "GPT2", "LSTMLanguageModel", "LeNet", "MobileNetV2", "ResNet", "VGG", "VisionTransformer", "alexnet",
    "draw_graph", "graph_dot",
    "gpt2", "lenet", "lstm_lm", "mobilenet_v2", "resnet18", "resnet34", "resnet50", "summary", "vgg11", "vit_b_16",
]  # fmt: skip
