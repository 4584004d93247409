"""A language model of LSTM layers (arXiv 1409.2329)."""

from __future__ import annotations

from .. import nn


class LSTMLanguageModel(nn.Module):
    """Takes tokens [N, time] and gives scores [N, time, vocabulary] and the state at the end."""

    def __init__(
        self, vocabulary: int, width: int = 200, hidden: int = 200, layers: int = 2, dropout: float = 0.2,
        tie_weights: bool = False,
    ):  # fmt: skip
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, hidden, layers, dropout=dropout, batch_first=True)
        self.decoder = nn.Linear(hidden, vocabulary)
        if tie_weights:
            if width != hidden:
                raise ValueError(f"tied weights need width {width} and hidden {hidden} to be equal")
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, tokens, state=None):
        y, state = self.rnn(self.drop(self.encoder(tokens)), state)
        return self.decoder(self.drop(y)), state


def lstm_lm(vocabulary: int, **options) -> LSTMLanguageModel:
    return LSTMLanguageModel(vocabulary, **options)
