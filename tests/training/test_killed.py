"""A training killed with SIGKILL at random moments ends with the very weights of one left alone."""

import random
import shutil
import subprocess
import sys
import time

from safetensors.torch import load_file

COMMAND = [sys.executable, "-m", "heatcheck", "train", "planted_keyword", "--json"]
SETTINGS = ["--set", "hidden=32", "--set", "embedding=32", "--set", "epochs=8", "--set", "patience=0"]


def test_killed_three_times_and_resumed(tmp_path):
    start = time.monotonic()
    subprocess.run([*COMMAND, *SETTINGS, "--out", str(tmp_path / "whole")], check=True, capture_output=True)
    seconds = time.monotonic() - start
    moments = random.Random(0)
    kills = 0
    while kills < 3:
        process = subprocess.Popen([*COMMAND, *SETTINGS, "--out", str(tmp_path / "killed")], stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=seconds * moments.uniform(0.4, 0.8))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if (tmp_path / "killed").exists():  # it was done before we came: once more, and sooner
            shutil.rmtree(tmp_path / "killed")
            seconds /= 1.5
        else:
            kills += 1
    subprocess.run([*COMMAND, *SETTINGS, "--out", str(tmp_path / "killed")], check=True, capture_output=True)
    names = ("whole", "killed")
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in names)
    assert all(one[name].equal(other[name]) for name in one)
    assert (tmp_path / "whole" / "training.jsonl").read_text() == (tmp_path / "killed" / "training.jsonl").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["killed", "whole"], "no scratch folder is left"
