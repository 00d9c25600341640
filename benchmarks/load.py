"""`python -m benchmarks.load`: 50 clients at once on a real `heatcheck serve`, every answer compared.

Each client is a connection that is kept open, and asks one thing after another: looking, moving weights, explaining, an
adversary, layers and heads, of a BiLSTM and of a small transformer. What the library computes for the same request is
computed here, in this process, and answers must be equal to it, to the last digit: both processes run the same code on
the same machine with one thread for each request. One request in ten is a text that was never seen before, or memory
that is kept for each text would go unnoticed.
"""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from benchmarks.inputs import SST, WORDS, make_texts, one_thread, trained
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.models import Subject, load, save
from heatcheck.models.hf import quiet
from heatcheck.serve import shown_text as looking
from heatcheck.serve.schema import Asked, AskedAdversary, AskedExplanation, AskedHead, AskedWeights

CLIENTS = 50
SECONDS = 30.0
WARM_UP = 5.0
GROWTH = 0.05  # of resident memory, from after the warm-up to the end
TEXTS = 40
UNSEEN = 10  # every so many requests a text is new
APART = 100_003  # where clients start: none comes to where another was
ROOT = Path(__file__).parent.parent


class Request(NamedTuple):
    path: str
    body: bytes
    expected: Any  # None: compared when all is over


@dataclass
class Tally:
    """What one client saw."""

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unseen: list[tuple[bytes, Any]] = field(default_factory=list)  # what was answered about texts that are new


def small_bert(folder: Path) -> None:
    """A transformer of four layers whose weights were drawn, as a folder of Hugging Face's."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = {word: n for n, word in enumerate([*special, *(f"w{rank}" for rank in range(WORDS))])}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=made, mask_token="[MASK]", **names).save_pretrained(folder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = BertForSequenceClassification(
            BertConfig(
                vocab_size=len(words),
                hidden_size=64,
                num_hidden_layers=4,
                num_attention_heads=4,
                intermediate_size=128,
                max_position_embeddings=128,
                id2label={0: "negative", 1: "positive"},
            )
        )
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0)  # weights that start small leave attention uniform
    with quiet():
        network.save_pretrained(folder)


def requests(subjects: dict[str, Subject], texts: Sequence[Example]) -> list[Request]:
    """All kinds of questions, in an order drawn once, each with the library's answer."""
    found = []
    for name, subject in subjects.items():
        for number, example in enumerate(texts):
            words = len(example.words)
            given = [float(w) for w in stream(0, "load", number).random(words)]
            one_text: list[tuple[str, Any, type[Asked], dict[str, Any]]] = [
                ("look", looking.look, Asked, {}),
                ("look", looking.look, Asked, {"erased": [number % words]}),
                ("impose", looking.impose, AskedWeights, {"kind": "given", "weights": given, "rest": 0.1}),
                ("impose", looking.impose, AskedWeights, {"kind": "permuted", "seed": number}),
                ("impose", looking.impose, AskedWeights, {"kind": "uniform"}),
                ("explain", looking.explain, AskedExplanation, {"by": ["attention", "gradient"]}),
            ]
            deep = hasattr(subject, "blocks")
            if not deep or number % 8 == 0:  # a transformer's is a search: 80 steps through its last block
                one_text.append(("adversary", looking.adversary, AskedAdversary, {"epsilon": 0.01 * (1 + number % 9)}))
            if deep:
                at = {"layer": number % 4, "head": number % 3}
                one_text += [
                    ("layers", looking.layers, Asked, {}),
                    ("head", looking.head, AskedHead, at),
                    ("impose", looking.impose, AskedWeights, {"kind": "uniform", **at}),
                ]
            for path, work, kind, more in one_text:
                body = {"model": name, "text": example.text, **more}
                answer = work(subject, kind(**body)).model_dump(mode="json")
                found.append(Request(f"/api/{path}", json.dumps(body).encode(), answer))
    order = stream(0, "load", "order").permutation(len(found))
    return [found[place] for place in order]


@contextmanager
def served(names: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A page in a process of its own, and its port."""
    command = [sys.executable, "-m", "heatcheck", "serve", *names, "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        said = ""
        assert server.stdout is not None
        for line in server.stdout:
            said += line
            if address := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                yield server, int(address[1])
                return
        raise RuntimeError(f"the page did not start:\n{said}")
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def resident(server: subprocess.Popen[str]) -> int:
    """Bytes in memory, on Linux."""
    pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def unseen(names: Sequence[str], place: int) -> Request:
    """Looking at a text that nobody has asked about."""
    ranks = stream(0, "load", "unseen", place).integers(WORDS, size=30)
    body = {"model": names[place % len(names)], "text": " ".join(f"w{rank}" for rank in ranks)}
    return Request("/api/look", json.dumps(body).encode(), None)


def ask(port: int, asked: Sequence[Request], names: Sequence[str], start: int, end: float) -> Tally:
    """One client: from its own place in the list on, round and round."""
    tally = Tally()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    place = start
    while time.monotonic() < end:
        place += 1
        request = unseen(names, place) if place % UNSEEN == 0 else asked[place % len(asked)]
        begun = time.monotonic()
        try:
            connection.request("POST", request.path, request.body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
        except OSError as error:
            tally.wrong.append(f"{request.path}: {error!r}")
            connection.close()
            continue
        tally.seconds.append(time.monotonic() - begun)
        if answer.status != 200:
            tally.wrong.append(f"{request.path}: {answer.status} {body[:200]!r}")
        elif request.expected is None:
            tally.unseen.append((request.body, json.loads(body)))
        elif json.loads(body) != request.expected:
            tally.wrong.append(f"{request.path}: not what the library computes for {request.body[:200]!r}")
    connection.close()
    return tally


def all_at_once(
    port: int, asked: Sequence[Request], subjects: dict[str, Subject], clients: int, seconds: float, start: int
) -> Tally:
    """What all clients saw."""
    end = time.monotonic() + seconds
    with ThreadPoolExecutor(clients) as threads:
        tallies = list(
            threads.map(lambda n: ask(port, asked, list(subjects), start + n * APART, end), range(1, clients + 1))
        )
    wrong = [line for tally in tallies for line in tally.wrong]
    for body, answer in (pair for tally in tallies for pair in tally.unseen):
        request = Asked(**json.loads(body))
        if looking.look(subjects[request.model], request).model_dump(mode="json") != answer:
            wrong.append(f"/api/look: not what the library computes for {body[:200]!r}")
    return Tally([seconds for tally in tallies for seconds in tally.seconds], wrong)


def measure(
    names: Sequence[str], texts: Sequence[Example], *, clients: int, seconds: float, warm_up: float
) -> dict[str, Any]:
    """Rates, latencies, what went wrong, and memory before and after."""
    subjects = {name: load(name) for name in names}
    asked = requests(subjects, texts)
    with served(names) as (server, port):
        # Until every kind of work was done by every thread, memory is not what it will be.
        before = all_at_once(port, asked, subjects, clients, warm_up, start=0)
        warm = resident(server)
        after = all_at_once(port, asked, subjects, clients, seconds, start=APART // 2)
        end = resident(server)
    latency = statistics.quantiles(after.seconds, n=100)
    return {
        "clients": clients,
        "seconds": seconds,
        "requests": len(after.seconds),
        "ms": {share: 1000 * latency[share - 1] for share in (50, 95, 99)},
        "wrong": before.wrong + after.wrong,
        "warm_mb": warm / 2**20,
        "end_mb": end / 2**20,
        "grown": end / warm - 1,
    }


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, one_thread():
        place = Path(folder)
        (place / "bilstm").mkdir()
        save(trained("lstm"), place / "bilstm")
        small_bert(place / "bert")
        names = [str(place / "bilstm"), f"hf:{place / 'bert'}"]
        found = measure(names, make_texts(SST)[:TEXTS], clients=CLIENTS, seconds=SECONDS, warm_up=WARM_UP)
    ms = found["ms"]
    print(f"{found['clients']} clients for {found['seconds']:.0f} s: {found['requests']:,} requests,", end=" ")
    print(f"{found['requests'] / found['seconds']:.0f} a second; {len(found['wrong'])} wrong")
    print(f"latency: median {ms[50]:.0f} ms, 95% {ms[95]:.0f} ms, 99% {ms[99]:.0f} ms")
    print(f"resident memory: {found['warm_mb']:.0f} MB warm, {found['end_mb']:.0f} MB at the end", end=" ")
    print(f"({100 * found['grown']:+.1f}%, limit {100 * GROWTH:.0f}%)")
    for line in found["wrong"][:10]:
        print(line)
    return 0 if not found["wrong"] and found["grown"] <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
