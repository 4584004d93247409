"""Vision transformers (arXiv 2010.11929)."""

from __future__ import annotations

from collections import OrderedDict

from .. import cat, empty, nn, zeros


class EncoderBlock(nn.Module):
    def __init__(self, heads: int, width: int, mlp_width: int, dropout: float):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(width, mlp_width), nn.GELU(), nn.Dropout(dropout),
            nn.Linear(mlp_width, width), nn.Dropout(dropout),
        )  # fmt: skip
        for layer in (self.mlp[0], self.mlp[3]):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)

    def forward(self, x):
        y = self.ln_1(x)
        y, _ = self.self_attention(y, y, y, need_weights=False)
        x = x + self.dropout(y)
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    def __init__(
        self, places: int, depth: int, heads: int, width: int, mlp_width: int, dropout: float
    ):
        super().__init__()
        self.pos_embedding = nn.Parameter(empty(1, places, width).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(
            OrderedDict(
                (f"encoder_layer_{i}", EncoderBlock(heads, width, mlp_width, dropout))
                for i in range(depth)
            )
        )
        self.ln = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x):
        return self.ln(self.layers(self.dropout(x + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Takes images [N, 3, image_size, image_size]; each patch becomes a token."""

    def __init__(
        self, image_size: int = 224, patch_size: int = 16, num_layers: int = 12, num_heads: int = 12,
        hidden_dim: int = 768, mlp_dim: int = 3072, dropout: float = 0.0, num_classes: int = 1000,
    ):  # fmt: skip
        super().__init__()
        if image_size % patch_size:
            raise ValueError(f"image_size {image_size} is no multiple of patch_size {patch_size}")
        self.image_size = image_size
        self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, stride=patch_size)
        self.class_token = nn.Parameter(zeros(1, 1, hidden_dim))
        places = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(places, num_layers, num_heads, hidden_dim, mlp_dim, dropout)
        self.heads = nn.Sequential(OrderedDict(head=nn.Linear(hidden_dim, num_classes)))
        fan_in = 3 * patch_size**2
        nn.init.trunc_normal_(self.conv_proj.weight, std=fan_in**-0.5)
        for zero in (self.conv_proj.bias, self.heads.head.weight, self.heads.head.bias):
            nn.init.zeros_(zero)

    def forward(self, x):
        if tuple(x.shape[2:]) != (self.image_size, self.image_size):
            size = " x ".join(map(str, x.shape[2:]))
            raise ValueError(
                f"expected images of {self.image_size} x {self.image_size}, given {size}"
            )
        tokens = self.conv_proj(x).flatten(2).transpose(1, 2)
        first = self.class_token.expand(len(x), -1, -1)
        return self.heads(self.encoder(cat([first, tokens], 1))[:, 0])


def vit_b_16(**options) -> VisionTransformer:
    return VisionTransformer(**options)
