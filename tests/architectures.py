"""Networks that people know, written down in PyTorch's functions. `w` has the weights by their published
names: torchvision's, and GPT-2's."""

import torch
from torch.nn import functional as F


def conv(w, name, x, **options):
    return F.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], **options)


def linear(w, name, x):
    return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])


def layer_norm(w, name, x, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], eps)


def conv_norm(w, conv_name, norm, x, **options):
    """A convolution without bias, and the batch norm behind it in evaluation."""
    x = F.conv2d(x, w[f"{conv_name}.weight"], **options)
    mean, var = w[f"{norm}.running_mean"], w[f"{norm}.running_var"]
    return F.batch_norm(x, mean, var, w[f"{norm}.weight"], w[f"{norm}.bias"])


def lenet(w, x):
    x = F.max_pool2d(F.relu(conv(w, "conv1", x, padding=2)), 2)
    x = F.max_pool2d(F.relu(conv(w, "conv2", x)), 2).flatten(1)
    return linear(w, "fc3", F.relu(linear(w, "fc2", F.relu(linear(w, "fc1", x)))))


def alexnet(w, x):
    x = F.max_pool2d(F.relu(conv(w, "features.0", x, stride=4, padding=2)), 3, 2)
    x = F.max_pool2d(F.relu(conv(w, "features.3", x, padding=2)), 3, 2)
    for i in (6, 8, 10):
        x = F.relu(conv(w, f"features.{i}", x, padding=1))
    x = F.adaptive_avg_pool2d(F.max_pool2d(x, 3, 2), 6).flatten(1)
    x = F.relu(linear(w, "classifier.4", F.relu(linear(w, "classifier.1", x))))
    return linear(w, "classifier.6", x)


def vgg11(w, x):
    for i in (0, 3, 6, 8, 11, 13, 16, 18):
        x = F.relu(conv(w, f"features.{i}", x, padding=1))
        if i not in (6, 11, 16):
            x = F.max_pool2d(x, 2)
    x = F.adaptive_avg_pool2d(x, 7).flatten(1)
    x = F.relu(linear(w, "classifier.3", F.relu(linear(w, "classifier.0", x))))
    return linear(w, "classifier.6", x)


def resnet(w, x, depths, bottleneck):
    x = F.relu(conv_norm(w, "conv1", "bn1", x, stride=2, padding=3))
    x = F.max_pool2d(x, 3, 2, 1)
    for layer, depth in enumerate(depths, 1):
        for i in range(depth):
            name, stride = f"layer{layer}.{i}", 2 if layer > 1 and i == 0 else 1
            # kernel, stride and padding of each convolution
            steps = [(1, 0), (stride, 1), (1, 0)] if bottleneck else [(stride, 1), (1, 1)]
            y = x
            for number, (step, padding) in enumerate(steps, 1):
                place = f"{name}.conv{number}", f"{name}.bn{number}"
                y = conv_norm(w, *place, y, stride=step, padding=padding)
                y = F.relu(y) if number < len(steps) else y
            if i == 0 and (layer > 1 or bottleneck):
                x = conv_norm(w, f"{name}.downsample.0", f"{name}.downsample.1", x, stride=stride)
            x = F.relu(x + y)
    return linear(w, "fc", x.mean((2, 3)))


def mobilenet_v2(w, x):
    x = F.relu6(conv_norm(w, "features.0.0", "features.0.1", x, stride=2, padding=1))
    table = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2))
    table += ((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    place = 1
    for widen, outputs, count, stride in table:
        for i in range(count):
            name, at, y = f"features.{place}.conv", 0, x
            if widen > 1:
                y, at = F.relu6(conv_norm(w, f"{name}.0.0", f"{name}.0.1", y)), 1
            options = dict(stride=stride if i == 0 else 1, padding=1, groups=y.shape[1])
            y = F.relu6(conv_norm(w, f"{name}.{at}.0", f"{name}.{at}.1", y, **options))
            y = conv_norm(w, f"{name}.{at + 1}", f"{name}.{at + 2}", y)
            x = x + y if i > 0 else y
            assert x.shape[1] == outputs
            place += 1
    x = F.relu6(conv_norm(w, "features.18.0", "features.18.1", x))
    return linear(w, "classifier.1", x.mean((2, 3)))


def attention(q, k, v, heads, causal):
    """Multi-head attention of [N, time, width] by its definition."""
    n, time, width = q.shape
    q, k, v = (t.reshape(n, time, heads, -1).transpose(1, 2) for t in (q, k, v))
    scores = q @ k.transpose(-2, -1) / (width // heads) ** 0.5
    if causal:
        later = torch.ones(time, time, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, time, width)


def vit(w, x, layers, heads):
    x = conv(w, "conv_proj", x, stride=16).flatten(2).transpose(1, 2)
    x = torch.cat([w["class_token"].expand(len(x), -1, -1), x], 1) + w["encoder.pos_embedding"]
    for i in range(layers):
        name = f"encoder.layers.encoder_layer_{i}"
        y = layer_norm(w, f"{name}.ln_1", x, 1e-6)
        inner = f"{name}.self_attention"
        y = F.linear(y, w[f"{inner}.in_proj_weight"], w[f"{inner}.in_proj_bias"])
        y = attention(*y.chunk(3, -1), heads, False)
        x = x + linear(w, f"{inner}.out_proj", y)
        y = F.gelu(linear(w, f"{name}.mlp.0", layer_norm(w, f"{name}.ln_2", x, 1e-6)))
        x = x + linear(w, f"{name}.mlp.3", y)
    return linear(w, "heads.head", layer_norm(w, "encoder.ln", x, 1e-6)[:, 0])


def gpt2(w, tokens, layers, heads):
    """As Hugging Face's GPT2LMHeadModel: weights of Conv1D are [inputs, outputs], gelu_new."""

    def conv1d(name, x):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["wte.weight"][tokens] + w["wpe.weight"][: tokens.shape[1]]
    for i in range(layers):
        qkv = conv1d(f"h.{i}.attn.c_attn", layer_norm(w, f"h.{i}.ln_1", x))
        y = attention(*qkv.chunk(3, -1), heads, True)
        x = x + conv1d(f"h.{i}.attn.c_proj", y)
        y = conv1d(f"h.{i}.mlp.c_fc", layer_norm(w, f"h.{i}.ln_2", x))
        y = 0.5 * y * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (y + 0.044715 * y**3)))
        x = x + conv1d(f"h.{i}.mlp.c_proj", y)
    return layer_norm(w, "ln_f", x) @ w["wte.weight"].T


def lstm_lm(w, tokens, layers, hidden):
    x = w["encoder.weight"][tokens]
    for layer in range(layers):
        w_ih, w_hh, b_ih, b_hh = (
            w[f"rnn.{name}_l{layer}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        h = c = torch.zeros(len(x), hidden, dtype=x.dtype)
        outputs = []
        for t in range(x.shape[1]):
            i, f, g, o = (x[:, t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        x = torch.stack(outputs, 1)
    return linear(w, "decoder", x)
