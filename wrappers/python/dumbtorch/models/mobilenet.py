"""MobileNetV2 (arXiv 1801.04381)."""

from __future__ import annotations

from .. import nn

# For each group of blocks: how much they widen inside, their outputs, how many, the first's stride.
BLOCKS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip


def convolve(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(inplace=True),
    )


class InvertedResidual(nn.Module):
    """Widens, convolves each channel by itself, and narrows again."""

    def __init__(self, inputs: int, outputs: int, stride: int, widen: int):
        super().__init__()
        width = inputs * widen
        self.adds = stride == 1 and inputs == outputs
        self.conv = nn.Sequential(
            *([convolve(inputs, width, 1)] if widen > 1 else []),
            convolve(width, width, 3, stride, groups=width),
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, num_classes: int = 1000, dropout: float = 0.2):
        super().__init__()
        features, inputs = [convolve(3, 32, 3, 2)], 32
        for widen, outputs, count, stride in BLOCKS:
            for i in range(count):
                step = stride if i == 0 else 1
                features.append(InvertedResidual(inputs, outputs, step, widen))
                inputs = outputs
        self.features = nn.Sequential(*features, convolve(inputs, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(1280, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
        nn.init.normal_(self.classifier[1].weight, 0, 0.01)
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def mobilenet_v2(**options) -> MobileNetV2:
    return MobileNetV2(**options)
