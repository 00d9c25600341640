"""A training killed with SIGKILL at random moments ends with the very weights of one left alone."""

import io
import json
import multiprocessing
import random
import shutil
import signal
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

from safetensors.torch import load_file

from heatcheck.cli import main

SETTINGS = ["--set", "hidden=8", "--set", "embedding=8", "--set", "epochs=40", "--set", "patience=0"]

# Each training is a process of its own, and a copy of one that has imported all that a training imports.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["heatcheck.training", "sklearn.linear_model", "torch._dynamo"])


def run(*arguments):
    sys.argv = ["heatcheck", *arguments]
    with redirect_stdout(io.StringIO()):
        main()


def number_of(path):
    """By which the file system knows a file: another one once it is written anew; None where there is no file."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def start(out):
    """A training that has written a checkpoint, or has ended already."""
    checkpoint = Path(f".{out}.part", "checkpoint.safetensors")
    before = number_of(checkpoint)
    process = processes.Process(target=run, args=("train", "mine.jsonl", "--json", *SETTINGS, "--out", out))
    process.start()
    while process.is_alive() and number_of(checkpoint) in (None, before):
        time.sleep(0.005)
    return process


def test_killed_three_times_and_resumed(tmp_path):
    rows = [{"text": f"a {'good' if n % 2 else 'dull'} film {n % 7}", "label": n % 2} for n in range(200)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    whole = start("whole")
    began = time.monotonic()
    whole.join()
    seconds = time.monotonic() - began
    assert whole.exitcode == 0
    moments = random.Random(0)
    kills = 0
    while kills < 3:
        process = start("killed")
        process.join(seconds * moments.uniform(0, 0.3))
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        if (tmp_path / "killed").exists():  # it was done before we came: once more, and sooner
            shutil.rmtree(tmp_path / "killed")
            seconds /= 1.5
        else:
            kills += 1
    last = start("killed")
    last.join()
    assert last.exitcode == 0
    names = ("whole", "killed")
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in names)
    assert all(one[name].equal(other[name]) for name in one)
    assert (tmp_path / "whole" / "training.jsonl").read_text() == (tmp_path / "killed" / "training.jsonl").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["killed", "mine.jsonl", "whole"], "no scratch folder is left"
