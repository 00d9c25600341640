"""Small models and corpora that are made on the spot, the same ones every time."""

import json
from pathlib import Path

GOOD, BAD = ("good", "great", "fine"), ("bad", "dull", "not")
FILLING = ("film", "the", "a", "movie", "was", "is", "very", "ok", "but", "so")
SHARP = 4.0  # weights that start small leave attention uniform


def write_bert(folder: Path) -> str:
    """A random BERT of three layers, as `save_pretrained` leaves it; its name for heatcheck."""
    import torch
    from tests.tiny_transformers import CONFIGS, tokenizer
    from transformers import AutoModelForSequenceClassification

    config = CONFIGS["bert"]()
    config.num_labels = 2
    torch.manual_seed(0)
    network = AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(SHARP)
    network.save_pretrained(folder)
    tokenizer(marks=True).save_pretrained(folder)
    return f"hf:{folder}"


def _text(number: int, word: str, length: int) -> list[str]:
    """Words without a meaning, and one with a meaning at a place that the number decides."""
    words = [FILLING[(number * 7 + place * (3 + number % 4)) % len(FILLING)] for place in range(length)]
    words[number % length] = word
    return words


def _write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_reviews(path: Path, rows: int) -> Path:
    """One word decides the label, and is marked as people would mark it."""
    found: list[dict[str, object]] = []
    for n in range(rows):
        words = _text(n // 2, (GOOD if n % 2 else BAD)[n // 2 % 3], 4 + n % 5)
        marks = [int(word in GOOD + BAD) for word in words]
        found.append({"text": " ".join(words), "label": ("negative", "positive")[n % 2], "rationale": marks})
    return _write(path, found)


def write_pairs(path: Path, rows: int) -> Path:
    """Two texts with a word of meaning each: alike, unlike, or one of them says nothing."""
    found: list[dict[str, object]] = []
    for n in range(rows):
        kind, word = n % 3, (GOOD + BAD)[n // 3 % 6]
        other = {0: word, 1: (BAD if word in GOOD else GOOD)[n // 18 % 3], 2: "film"}[kind]
        pair = " ".join(_text(n // 3 + 1, other, 3 + n % 3))
        label = ("entailment", "contradiction", "neutral")[kind]
        found.append({"text": " ".join(_text(n // 3, word, 4 + n % 4)), "text_pair": pair, "label": label})
    return _write(path, found)


def write_stories(path: Path, rows: int) -> Path:
    """Two to four sentences, in one of which a word decides the label."""
    found: list[dict[str, object]] = []
    for n in range(rows):
        sentences = [_text(n // 2 + 5 * place, "film", 3 + (n + place) % 3) for place in range(2 + n // 2 % 3)]
        sentences[n // 2 % len(sentences)] = _text(n // 2, (GOOD if n % 2 else BAD)[n // 2 % 3], 4)
        text = " ".join(" ".join(words).capitalize() + " ." for words in sentences)
        found.append({"text": text, "label": ("negative", "positive")[n % 2]})
    return _write(path, found)
