"""Malformed files, folders, command lines and calls, made from whole ones by a seed, and what heatcheck does with them.

`python tests/hostile_inputs.py --cases 5000 --seed 7` runs many; `test_hostile_inputs.py` runs some in the suite.
Every case ends in one sentence (a `HeatcheckError`, or exit code 2), or turns out to be valid and is counted apart.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import unwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import heatcheck as hc
from heatcheck.auditing import plan_audit
from heatcheck.checks import CHECKS
from heatcheck.cli import main
from heatcheck.errors import HeatcheckError
from heatcheck.models import save
from heatcheck.results import keep_audit
from heatcheck.training import TrainingSettings
from pretrained import CODE, keep
from tiny_transformers import make

SECONDS = 30  # after which a case is said to hang
READER = "known:reader@planted_contrast"
TEXTS = [f"{'good' if n % 2 else 'bad'} film number {n}" for n in range(12)]
LABELS = ["positive" if n % 2 else "negative" for n in range(12)]
LISTS = (TEXTS, LABELS)
TINY = ("--encoder", "average", "--set", "embedding=3", "--set", "hidden=3", "--set", "epochs=1", "--json")
HUGE = 10**20
# What no field and no argument means. Strings last: some are names of something.
WRONG: tuple[Any, ...] = (
    None, True, -1, 0, 3, HUGE, 10**400, 1.5, -0.5, float("nan"), float("inf"), [], [None], [[]], {}, {"a": {"b": []}},
    "", " ", "nonsense", "\u200b", "\ud800", "9" * 20, "../..", "a\nb",
)  # fmt: skip


class Case(NamedTuple):
    """One malformed thing: `do` is given an empty folder to make it in, and gives the call that must be refused."""

    kind: str
    do: Callable[[Path], Callable[[], Any]]


class Ended(NamedTuple):
    """How a case ended: refused, valid, or wrong."""

    how: str
    said: str


# Mutations


def mutated_bytes(draw: random.Random, whole: bytes, *, within: int | None = None) -> bytes:
    """Some bytes changed, left out, doubled or put in, among the first `within`."""
    end = min(len(whole), within or len(whole))
    found = bytearray(whole)
    for _ in range(draw.randint(1, 3)):
        at, size = draw.randrange(max(1, end)), draw.randint(1, 20)
        kind = draw.choice(["flip", "cut", "drop", "double", "junk", "fill"])
        if kind == "flip" and at < len(found):
            found[at] ^= 1 << draw.randrange(8)
        elif kind == "cut":
            del found[at:]
        elif kind == "drop":
            del found[at : at + size]
        elif kind == "double":
            found[at:at] = found[at : at + size]
        elif kind == "junk":
            found[at:at] = draw.choice([b"\0", b"\xff\xfe", b'"', b"\n\n", b"}{", b",,,", b"\xef\xbb\xbf", b"[" * 5000])
        else:
            found[at : at + size] = bytes(size)
    return bytes(found)


def mutated_json(draw: random.Random, whole: Any) -> Any:
    """One place of it left out, doubled, nested or replaced by something else."""
    whole = json.loads(json.dumps(whole))
    places = list(_places(whole))
    holder, key = draw.choice(places)
    kind = draw.choice(["replace", "replace", "drop", "nest", "double"])
    if kind == "drop":
        del holder[key]
    elif kind == "nest":
        holder[key] = [holder[key]] if draw.random() < 0.5 else {"of": holder[key]}
    elif kind == "double" and isinstance(holder, list):
        holder.insert(key, holder[draw.randrange(len(holder))])
    else:
        holder[key] = draw.choice(WRONG)
    return whole


def mutated_lines(draw: random.Random, lines: Sequence[str]) -> list[str]:
    """One of the first lines of word vectors is none."""
    at = draw.randrange(4)
    word = lines[at].split()[0]
    line = draw.choice([f"{word} 1 2", f"{word} nan 1 2", f"{word} 1 2 1e999", word, "", f"{word} 1 2 x", "\x00"])
    return [*lines[:at], line, *lines[at + 1 :]]


def mutated_arrays(draw: random.Random, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Words or vectors of another kind or shape, or none."""
    words, vectors = arrays["words"], arrays["vectors"]
    wrong: list[dict[str, np.ndarray]] = [
        *({"vectors": one} for one in (vectors.astype(complex), vectors.astype(str), vectors[0], vectors[:2])),
        *({"vectors": one} for one in (vectors * np.nan, vectors * 1e30 * 1e30, vectors[:, :0], vectors[:, :2])),
        *({"words": one} for one in (np.arange(len(words)), words.astype(bytes), words[:0], words[None])),
    ]
    lot = draw.random()
    if lot < 0.2:
        return {name: array for name, array in arrays.items() if name != draw.choice(sorted(arrays))}
    return {} if lot < 0.3 else {**arrays, **draw.choice(wrong)}


def _places(facts: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder and key, down to the leaves; of a long list the first few."""
    keys = list(facts) if isinstance(facts, dict) else range(min(len(facts), 8)) if isinstance(facts, list) else ()
    for key in keys:
        yield facts, key
        yield from _places(facts[key])


def damage(draw: random.Random, path: Path) -> None:
    """Changes a file as its kind can be changed; JSON sometimes as bytes too, sometimes all of it is gone."""
    lot = draw.random()
    if lot < 0.06:
        path.unlink()
    elif lot < 0.1:
        path.write_bytes(b"")
    elif path.suffix == ".json" and lot < 0.8:
        path.write_text(json.dumps(mutated_json(draw, json.loads(path.read_text()))))
    else:  # of an archive of numbers the beginning: other numbers are valid
        path.write_bytes(mutated_bytes(draw, path.read_bytes(), within=None if path.suffix == ".json" else 400))


# What whole ones are made of, once


class Whole:
    """A model, a transformer, an audit: what folders are copied from."""

    def __init__(self, folder: Path) -> None:
        self.own, self.hf, self.of_hf, self.audit = (folder / name for name in ("own", "hf", "of_hf", "audit"))
        changes = {"epochs": 1, "encoder": "average", "embedding": 4, "hidden": 4}
        hc.train(LISTS, out=self.own, progress=False, device="cpu", **changes)
        keep("bert", self.hf)
        self.of_hf.mkdir()
        save(make("bert"), self.of_hf)
        self.reader, self.examples = hc.load(READER), hc.load_task("planted_contrast")["test"].examples[:3]
        self.audited = hc.audit(READER, "planted_contrast", checks=["permutation"], examples=4)
        self.other = folder / "other"
        for kept in (self.audit, self.other):
            keep_audit(self.audited, kept)
        self.mark = folder / "code-was-run"

    def copied(self, kind: str, place: Path) -> Path:
        return Path(shutil.copytree(getattr(self, kind), place / kind))


def add_code(draw: random.Random, folder: Path, mark: Path, *, file: str = "", facts: Any = None) -> None:
    """Code in a Hugging Face folder, named by its config or its tokenizer; which one, and what else, may be given."""
    (folder / "theirs.py").write_text(CODE.format(mark=str(mark)))
    names = {
        "AutoConfig": "theirs.TheirConfig",
        "AutoModel": "theirs.TheirNetwork",
        "AutoModelForSequenceClassification": "theirs.TheirNetwork",
        "AutoTokenizer": ["theirs.TheirTokenizer", "theirs.TheirTokenizer"],
    }
    some = names if file else dict(draw.sample(sorted(names.items()), draw.randint(1, 4)))
    path = folder / (file or draw.choice(["config.json", "tokenizer_config.json"]))
    others = ({"model_type": "theirs"}, {"model_type": None}, {"tokenizer_class": "TheirTokenizer"}, {})
    changes = draw.choice(others) if facts is None else facts
    path.write_text(json.dumps({**json.loads(path.read_text()), "auto_map": some, **changes}))


# Kinds of cases


def command(*arguments: object) -> Callable[[], None]:
    """A command line, run here as its user would run it: ends in SystemExit."""

    def run() -> None:
        sys.argv = ["heatcheck", *map(str, arguments)]
        main()

    return run


def rows_file(draw: random.Random, place: Path) -> Callable[[], Any]:
    """A CSV, TSV or JSONL of texts and labels, also packed."""
    rows = [{"text": text, "label": label, "id": f"i{n}"} for n, (text, label) in enumerate(zip(*LISTS, strict=True))]
    for row, (text, _) in zip(rows, zip(*LISTS, strict=True), strict=True):
        row["rationale"] = " ".join("1" if word in ("good", "bad") else "0" for word in text.split())
    kind = draw.choice(["csv", "tsv", "jsonl", "jsonl"])
    if kind == "jsonl":
        changed = mutated_json(draw, rows) if draw.random() < 0.7 else rows
        written = "\n".join(json.dumps(row) for row in changed).encode()
        whole = changed is rows
    else:
        cut = "\t" if kind == "tsv" else ","
        written = "\n".join([cut.join(rows[0]), *(cut.join(row.values()) for row in rows)]).encode()
        whole = True
    data = mutated_bytes(draw, written) if whole else written
    packed = draw.random() < 0.25
    path = place / f"rows.{kind}{'.gz' if packed else ''}"
    path.write_bytes(
        (mutated_bytes(draw, gzip.compress(data)) if draw.random() < 0.7 else gzip.compress(data)) if packed else data
    )
    if draw.random() < 0.3:
        return command("explain", READER, "--data", path, "--out", place / "scores.jsonl", "--by", "attention")
    return command("audit", READER, "--data", path, "--plan", "--checks", "permutation", "--train", path)


def vectors_file(draw: random.Random, place: Path) -> Callable[[], Any]:
    """Word vectors as text, packed text or .npz."""
    words = ["good", "bad", "film", "number", *"0123456789"]
    numbers = np.arange(len(words) * 3, dtype=np.float32).reshape(-1, 3) / 10
    kind = draw.choice(["txt", "gz", "npz"])
    path = place / f"vectors.{kind}"
    if kind == "npz":
        packed = io.BytesIO()
        np.savez(packed, **mutated_arrays(draw, {"words": np.array(words), "vectors": numbers}))
        data = packed.getvalue()
        path.write_bytes(data if draw.random() < 0.6 else mutated_bytes(draw, data, within=300))
    else:
        lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, numbers.tolist(), strict=True)]
        text = "\n".join(mutated_lines(draw, lines)).encode()
        path.write_bytes(text if kind == "txt" else mutated_bytes(draw, gzip.compress(text)))
    return command("train", rows_csv(place), "--vectors", path, "--out", place / "fit", *TINY)


def rows_csv(place: Path) -> Path:
    """A whole file to train on."""
    path = place / "whole.csv"
    path.write_text("text,label\n" + "\n".join(map(",".join, zip(*LISTS, strict=True))))
    return path


def scores_file(draw: random.Random, place: Path) -> Callable[[], Any]:
    """Scores computed elsewhere, as JSONL and in ERASER's format."""
    scores = [0.1, 0.2, 0.3]
    plain = {"id": "text", "scores": scores}
    of_eraser = {
        "annotation_id": "text",
        "rationales": [{"docid": "text", "soft_rationale_predictions": scores, "hard_rationale_predictions": []}],
    }
    rows = mutated_json(draw, [draw.choice([plain, of_eraser])])
    written = "\n".join(map(json.dumps, rows)).encode()
    path = place / "scores.jsonl"
    path.write_bytes(written if draw.random() < 0.7 else mutated_bytes(draw, written))
    return command("explain", READER, "but dull film", "--by", f"file:{path}", "--json")


def eraser_task(draw: random.Random, place: Path) -> Callable[[], Any]:
    """ERASER's film reviews with their evidence, in a data folder."""
    rows = [
        {"id": f"r{n}", "text": text, "label": n % 2, "evidence": [[0, 1]], "split": ("train", "dev", "test")[n % 3]}
        for n, text in enumerate(TEXTS)
    ]
    written = "\n".join(json.dumps(row) for row in mutated_json(draw, rows)).encode()
    packed = gzip.compress(written)
    (place / "eraser_movies.jsonl.gz").write_bytes(packed if draw.random() < 0.8 else mutated_bytes(draw, packed))
    return command("audit", READER, "--data", "eraser_movies", "--data-dir", place, "--plan", "--checks", "permutation")


def own_folder(draw: random.Random, place: Path, whole: Whole) -> Callable[[], Any]:
    """A folder that `heatcheck train` made, with a damaged vocabulary, recipe, weights or labels."""
    folder = whole.copied("own", place)
    damage(draw, draw.choice(sorted(path for path in folder.iterdir() if path.is_file())))
    return command("explain", folder, "good film", "--by", "attention", "--json")


def hf_folder(draw: random.Random, place: Path, whole: Whole) -> Callable[[], Any]:
    """A Hugging Face folder, or one of our own with one inside, damaged or with code of its own."""
    inside = draw.random() < 0.25
    folder = whole.copied("of_hf" if inside else "hf", place)
    files = folder / "transformer" if inside else folder
    lot = draw.random()
    if lot < 0.4:
        add_code(draw, files, whole.mark)
    if lot > 0.3:
        damage(draw, draw.choice(sorted(path for path in files.iterdir() if path.suffix != ".py")))
    name = folder if inside else f"hf:{folder}"
    if draw.random() < 0.2 and not inside:
        return command("train", rows_csv(place), "--model", name, "--set", "epochs=1", "--out", place / "fit", "--json")
    return command("explain", name, "good film", "--by", "attention", "--json")


def kept_audit(draw: random.Random, place: Path, whole: Whole) -> Callable[[], Any]:
    """The folder of an audit, edited."""
    folder = whole.copied("audit", place)
    damage(draw, draw.choice(sorted(folder.iterdir())))
    if draw.random() < 0.5:
        return command("compare", folder, whole.other, "--format", "md", "--out", place / "both.md")
    return command("report", folder, "--format", "md", "--out", place / "report")


VALUES = (
    "",
    " ",
    "-1",
    "nan",
    "inf",
    "x",
    "9" * 20,
    "1e9",
    "1.5",
    "true",
    "0",
    ",",
    "a,b",
    "\u200b",
    "--",
    "../..",
    "a\nb",
    "é",
)
# What else than it needs a command takes.
OPTIONS: dict[str, tuple[str, ...]] = {
    "audit": (
        "--data", "--checks", "--examples", "--split", "--seed", "--train", "--vectors", "--labels", "--units",
        "--workers", "--engine", "--fail-if", "--require", "--format", "--tables", "--figures", "--text-column",
        "--label-column", "--data-dir", "--device", "--nonsense",
    ),
    "explain": ("--by", "--data", "--out", "--pair", "--units", "--labels", "--seed", "--device", "--text-column"),
    "train": (
        "--model", "--encoder", "--preset", "--seed", "--vectors", "--impose", "--loss", "--set", "--device",
        "--text-column", "--label-column",
    ),
    "report": ("--format", "--figures", "--out"),
    "compare": ("--format", "--out"),
    "tasks": ("--data-dir", "--nonsense"),
    # These would run for long, so they name something that is not there.
    "reproduce": ("--tasks", "--encoders", "--set", "--preset", "--out", "--seeds", "--workers"),
    "serve": ("--port", "--device", "--labels"),
    "calibrate": ("--first-seed", "--seeds", "--out"),
    "data": ("--out",),
}  # fmt: skip


def needed(name: str, place: Path, whole: "Whole") -> tuple[object, ...]:
    """What a command needs: with it alone it runs, and not for long."""
    return {
        "audit": (READER, "--plan", "--examples", "3"),
        "explain": (READER, "but dull", "--json"),
        "train": (rows_csv(place), "--out", place / "fit", *TINY),
        "report": (whole.audit, "--format", "md", "--out", place / "report"),
        "compare": (whole.audit, whole.other, "--format", "md", "--out", place / "both.md"),
        "tasks": (),
        "reproduce": ("jain2019", "--tasks", "no-such-task"),
        "serve": ("no-such-folder",),
        "calibrate": ("--nonsense",),
        "data": ("import", "imdb_full", "no-such-path"),
    }[name]


def options(draw: random.Random, place: Path, whole: "Whole") -> Callable[[], Any]:
    """A command line with values that an option does not take."""
    if draw.random() < 0.5:
        return draw.choice([audit_setting, training_setting])(draw)
    name = draw.choice(sorted(OPTIONS))
    chosen = draw.sample(OPTIONS[name], draw.randint(1, min(2, len(OPTIONS[name]))))
    return command(name, *needed(name, place, whole), *(part for one in chosen for part in (one, draw.choice(VALUES))))


def audit_setting(draw: random.Random) -> Callable[[], Any]:
    """`--set` of a check, with a number that nothing would ever end with, or none."""
    check = draw.choice(sorted(CHECKS))
    names = sorted(vars(CHECKS[check].settings()))
    key = f"{check}.{draw.choice([*names, 'nonsense'])}"
    chosen = ("--checks", check, "--set", f"{key}={draw.choice(VALUES)}")
    return command("audit", READER, "--plan", "--examples", "3", *chosen)


def training_setting(draw: random.Random) -> Callable[[], Any]:
    """A setting of a training, in a recipe alone: nothing is trained."""
    from heatcheck.training import plan_recipe

    name = draw.choice([*sorted(vars(TrainingSettings())), "encoder", "attention", "hidden", "embedding", "dropout"])
    return partial(
        unwrap(plan_recipe), hc.load_task(LISTS), preset="default", seed=0, **{name: draw.choice([*VALUES, *WRONG])}
    )


# Calls from Python


class Tiny(nn.Module):
    """The smallest classifier with attention; what its answer goes through at the end can be set."""

    def __init__(self, last: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.embed, self.score, self.out = nn.Embedding(9, 4), nn.Linear(4, 1), nn.Linear(4, 2)
        self.last = last

    def forward(self, ids: torch.Tensor) -> Any:
        states = self.embed(ids)
        return self.last(self.out((self.score(states).softmax(1) * states).sum(1)))


def lengths(text: str) -> list[int]:
    """A tokenizer: the id of a word is its length."""
    return [len(word) for word in text.split(" ")]


def _raises(*_: object) -> Any:
    raise KeyError("of\ntheir own")


LASTS: tuple[Callable[[Any], Any], ...] = (
    _raises, lambda _: None, lambda z: z.detach(), lambda z: z[:1], lambda z: z.half(), lambda z: z * float("nan"),
    lambda z: z - z.mean(0), lambda z: z.softmax(1), lambda z: z[..., None, None], lambda _: [], lambda _: {},
    lambda z: z + torch.rand(1), lambda z: z.long(), lambda _: "x",
)  # fmt: skip
TOKENIZERS: tuple[Any, ...] = (
    _raises, lambda _: None, lambda _: [9] * 3, lambda _: [-1] * 3, lambda _: [], lambda _: [object()] * 3,
    lambda _: ["a"] * 3, lambda _: [(1, 99)], lambda _: [(1, 0, 1)], lambda _: [1.5] * 3, lambda _: HUGE,
    lambda _: [HUGE] * 3, lambda _: [[1]] * 3, lambda _: {1: 2}, 3, "tokenizer",
)  # fmt: skip


def as_it_is(logits: Any) -> Any:
    """What a module that does nothing wrong returns."""
    return logits


def module(draw: random.Random, _: Path) -> Callable[[], Any]:
    """`wrap` of a module or with a tokenizer that does something else than it should, and a heatmap of it."""
    lot = draw.random()
    last = draw.choice(LASTS) if lot < 0.5 else as_it_is
    tokenizer = draw.choice(TOKENIZERS) if lot > 0.45 else lengths
    torch.manual_seed(draw.randrange(100))
    return lambda: hc.explain(unwrap(hc.wrap)(Tiny(last), tokenizer), "a bb ccc")


def calls(place: Path, whole: "Whole") -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Public functions with arguments that they take."""
    tiny = {"epochs": 1, "encoder": "average", "embedding": 3, "hidden": 3}
    return {
        "load": (hc.load, {"name": READER, "device": "cpu", "labels": None}),
        "load_task": (
            hc.load_task,
            {"source": LISTS, "data_dir": None, "trainable": True, "text_column": None, "label_column": None,
             "skip_bad_rows": False, "merge_labels": False},
        ),
        "explain": (
            hc.explain,
            {"subject": READER, "text": "but dull", "by": "attention", "text_pair": None, "seed": 0, "device": "cpu",
             "units": "words"},
        ),
        "plan_audit": (
            plan_audit,
            {"subject": READER, "data": "planted_contrast", "checks": "permutation", "examples": 3, "split": None,
             "settings": None, "seed": 0, "data_dir": None, "name": None, "refit": False, "train": None,
             "vectors": None, "device": "cpu", "labels": None, "units": "words"},
        ),
        "train": (
            hc.train,
            {"task": LISTS, "preset": "default", "seed": 0, "out": place / "fit", "vectors": None, "data_dir": None,
             "device": "cpu", "progress": False, **tiny},
        ),
        "evaluate": (hc.evaluate, {"subject": whole.reader, "examples": whole.examples}),
        "write_report": (hc.write_report, {"audit": whole.audited, "path": place / "report.html"}),
        "wrap": (
            hc.wrap,
            {"module": Tiny(lambda z: z), "tokenizer": lengths, "attention": None, "embedding": None, "output": None,
             "labels": None, "mask": None, "row": None, "padding": None, "sample": (), "name": None},
        ),
    }  # fmt: skip


def call(draw: random.Random, place: Path, whole: "Whole") -> Callable[[], Any]:
    """A public function with one argument that is something else."""
    known = calls(place, whole)
    function, arguments = known[draw.choice(sorted(known))]
    changed = {**arguments, draw.choice(sorted(arguments)): draw.choice([*WRONG, b"x", object(), lambda: 0, {1}])}
    return partial(unwrap(function), **changed)  # without the types that tests check at each call


def make_cases(seed: int, number: int, whole: Whole) -> Iterator[Case]:
    """Cases of every kind in turn."""
    kinds: dict[str, Callable[[random.Random, Path], Callable[[], Any]]] = {
        "rows": rows_file,
        "scores": scores_file,
        "options": partial(options, whole=whole),
        "own folder": partial(own_folder, whole=whole),
        "call": partial(call, whole=whole),
        "vectors": vectors_file,
        "hf folder": partial(hf_folder, whole=whole),
        "eraser": eraser_task,
        "module": module,
        "audit folder": partial(kept_audit, whole=whole),
    }
    for at in range(number):
        kind = list(kinds)[at % len(kinds)]
        yield Case(kind, partial(kinds[kind], random.Random(f"{seed} {at}")))


# What becomes of them


class _Yes(io.StringIO):
    """A standard input that says yes to everything, and knows whether it was asked."""

    def __init__(self) -> None:
        super().__init__("y\n" * 50)


def run_case(case: Case, place: Path, mark: Path) -> Ended:
    """Makes the malformed thing in this empty folder and sees how the call ends, and what it leaves there."""
    before_folder, before_stdin, before_argv = Path.cwd(), sys.stdin, sys.argv
    said, shown, sys.stdin = io.StringIO(), io.StringIO(), _Yes()
    os.chdir(place)
    try:
        run = case.do(place)
        there = _files(place)
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown), _time_limit():
            ended = _end(run, said)
        if mark.exists():
            mark.unlink()
            return Ended("wrong", "code of the model was run")
        if sys.stdin.tell():
            return Ended("wrong", "standard input was read")
        left = sorted(_files(place) - there)
        if ended.how == "refused" and left:
            return Ended("wrong", f"left {left[:3]} behind: {ended.said}")
        return ended
    finally:
        os.chdir(before_folder)
        sys.stdin, sys.argv = before_stdin, before_argv


def _files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*")}


def _end(run: Callable[[], Any], said: io.StringIO) -> Ended:
    try:
        run()
        return Ended("valid", "")
    except HeatcheckError as error:
        return _sentence(str(error))
    except SystemExit as ended:
        told = said.getvalue()
        if ended.code in (None, 0):
            return Ended("valid", "")
        if ended.code != 2:
            return Ended("wrong", f"exit code {ended.code}: {told[-300:]}")
        if told.startswith("Usage:"):
            return Ended("refused", told)
        (*remarks, last) = told.rstrip("\n").split("\nheatcheck: ")  # remarks on the data may come first
        return _sentence(last.removeprefix("heatcheck: ")) if all(remarks) or not remarks else Ended("wrong", told)
    except _Hangs:
        return Ended("wrong", f"more than {SECONDS} s")
    except BaseException as error:
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        at = "" if where is None else f" at {Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}"
        return Ended("wrong", f"{type(error).__name__}: {str(error)[:200]}{at}")


def _sentence(said: str) -> Ended:
    if not said.strip() or "\n" in said or len(said) > 1500 or "Traceback" in said:
        return Ended("wrong", f"not one sentence: {said[:400]!r}")
    return Ended("refused", said)


class _Hangs(BaseException):
    pass


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _Hangs

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Found(NamedTuple):
    """How all cases ended: kinds of refused and of valid ones counted, each wrong one told."""

    refused: Counter[str]
    valid: Counter[str]
    wrong: list[str]
    seconds: defaultdict[str, float]


def run_all(seed: int, numbers: Sequence[int], whole: Whole, folder: Path) -> Found:
    """These cases of a seed, each in a folder of its own."""
    found = Found(Counter(), Counter(), [], defaultdict(float))
    wanted = set(numbers)
    for at, case in enumerate(make_cases(seed, max(wanted) + 1, whole)):
        if at not in wanted:
            continue
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(dir=folder) as place:
            ended = run_case(case, Path(place), whole.mark)
        found.seconds[case.kind] += time.perf_counter() - started
        if ended.how == "wrong":
            found.wrong.append(f"seed {seed}, case {at} ({case.kind}): {ended.said}")
        else:
            (found.refused if ended.how == "refused" else found.valid)[case.kind] += 1
    return found


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", type=int, help="Number of the one case to run.")
    chosen = parser.parse_args()
    numbers = range(chosen.cases) if chosen.only is None else [chosen.only]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = run_all(chosen.seed, numbers, Whole(Path(folder).resolve()), Path(folder).resolve())
        os.chdir("/")
    for one in found.wrong:
        print(one)
    for kind, seconds in found.seconds.items():
        refused, valid = found.refused[kind], found.valid[kind]
        print(f"{kind:14} {refused:6,} refused {valid:6,} valid {seconds:8.1f} s")
    print(f"{found.refused.total():,} refused, {found.valid.total():,} valid, {len(found.wrong):,} wrong.")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(_main())
