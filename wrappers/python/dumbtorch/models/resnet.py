"""Residual networks (arXiv 1512.03385); the stride of a bottleneck is in its 3x3 convolution."""

from __future__ import annotations

from .. import nn


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = shortcut(inputs, width, stride)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = shortcut(inputs, 4 * width, stride)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


def shortcut(inputs: int, outputs: int, stride: int):
    """What x passes on its way around a block whose output has another shape; else None."""
    if stride == 1 and inputs == outputs:
        return None
    convolution = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """`depths` says how many blocks each of the four layers has."""

    def __init__(self, block, depths, num_classes: int = 1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for number, depth in enumerate(depths, 1):
            width, blocks = 32 << number, []
            for i in range(depth):
                blocks.append(block(inputs, width, 2 if number > 1 and i == 0 else 1))
                inputs = width * block.expansion
            self.add_module(f"layer{number}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(inputs, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet18(**options) -> ResNet:
    return ResNet(BasicBlock, (2, 2, 2, 2), **options)


def resnet34(**options) -> ResNet:
    return ResNet(BasicBlock, (3, 4, 6, 3), **options)


def resnet50(**options) -> ResNet:
    return ResNet(Bottleneck, (3, 4, 6, 3), **options)
