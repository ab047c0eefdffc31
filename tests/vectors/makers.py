"""Embedders and texts for tests."""

import hashlib
import random

import numpy as np


def letters(texts):
    """Counts of letters: a misspelled text lies near; a text without letters has no vector."""
    out = np.zeros((len(texts), 26), np.float32)
    for row, text in zip(out, texts, strict=True):
        for char in text:
            if "a" <= char <= "z":
                row[ord(char) - 97] += 1
    return out


def scattered(texts):
    """A direction of its own for each text."""
    rows = [np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)[:12] for text in texts]
    return np.array(rows, np.float32).reshape(len(texts), 12) - 127.5


_SCRIPTS = (
    "abcdefghijklmnopqrstuvwxyzABC",
    "áéíóúñçüößø",
    "абвгдежзиклмн",
    "αβγδεζηθικλ",
    "中文城市东京大阪",
    "かなカナひら",
    "한국어서울부산",
    "हिन्दीदिल्ली",
    "العربيةمدينة",
    "ไทยกรุงเทพ",
    "😀👩‍👩‍👧🇩🇪",
    "0123456789-/.,'\"()",
)
_ODD_WORDS = ("</s>", "__label__1", "__label__zz", "<", ">", "a\0b", "\0", "\x1f", "\x0b", "\x85", "\u3000", "\u2028")
_BETWEEN = (" ", " ", " ", "  ", "\t", "\x0b", "\xa0")


def texts_of_scripts(n, seed=0):
    """Texts of known and other words in twelve scripts, with words and blanks that fastText treats in its own way."""
    rng = random.Random(seed)

    def word():
        script = rng.choice(_SCRIPTS)
        return "".join(rng.choice(script) for _ in range(rng.randint(1, 9)))

    known = [word() for _ in range(3000)]
    texts = []
    for _ in range(n):
        words = [rng.choice(known) if rng.random() < 0.7 else word() for _ in range(rng.randint(0, 6))]
        if rng.random() < 0.1:
            words.insert(rng.randint(0, len(words)), rng.choice(_ODD_WORDS))
        texts.append(rng.choice(_BETWEEN).join(words))
    return texts
