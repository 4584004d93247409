"""GPT-2's tokens: pieces of text and their numbers, from the published vocab.json and merges.txt."""

from __future__ import annotations

import json
import re

# Words with the space before them, numbers, other signs, and spaces.
WORDS = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def printable_bytes() -> dict[int, str]:
    """The character that stands for each byte in the files: itself, or one from 256 on."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (b for b in range(256) if b not in kept)
    return {b: chr(b) for b in kept} | {b: chr(256 + n) for n, b in enumerate(others)}


class BPE:
    def __init__(self, vocabulary_file: str, merges_file: str):
        with open(vocabulary_file, encoding="utf-8") as file:
            self.numbers = json.load(file)
        with open(merges_file, encoding="utf-8") as file:
            pairs = [tuple(line.split()) for line in file if not line.startswith("#version")]
        self.rank = {pair: i for i, pair in enumerate(pairs) if len(pair) == 2}
        self.pieces = {number: piece for piece, number in self.numbers.items()}
        self.character = printable_bytes()
        self.byte = {character: b for b, character in self.character.items()}

    def merge(self, word: list[str]) -> list[str]:
        """Joins the pair that comes first in the file, everywhere, until no pair is in the file."""
        while len(word) > 1:
            pair = min(zip(word, word[1:]), key=lambda pair: self.rank.get(pair, len(self.rank)))
            if pair not in self.rank:
                break
            joined, i = [], 0
            while i < len(word):
                both = tuple(word[i : i + 2]) == pair
                joined.append("".join(pair) if both else word[i])
                i += 2 if both else 1
            word = joined
        return word

    def encode(self, text: str) -> list[int]:
        words = ([self.character[b] for b in word.encode()] for word in WORDS.findall(text))
        return [self.numbers[piece] for word in words for piece in self.merge(word)]

    def decode(self, tokens: list[int]) -> bytes:
        return bytes(self.byte[c] for token in tokens for c in self.pieces[token])
