"""`heatcheck audit --heatmap` and `--heatmaps`: which picture of a model can be read, where the answer is known."""

import json

import pytest

import heatcheck as hc
import two_layer_transformer
from heatcheck.auditing import audit_id, decided_by, plan_audit, plan_heatmaps, run_plan
from heatcheck.checks.heatmap import find_heatmap
from heatcheck.errors import BadInput
from heatcheck.models.hf import Transformer
from heatcheck.report.notebook import audit_html

FEW = ("--examples", "30", "--set", "permutation.repeats=20", "--set", "erasure.operators=deletion")
ONE = ("--set", "counterfactual.epsilons=0.05", "--set", "erasure.operators=deletion")
QUICK_SETTINGS = {"erasure.operators": "deletion", "erasure.draws": 200}
QUICK = ("--data", "planted_keyword", "--checks", "erasure,permutation", *FEW)
LOOKUP = "known:two_layers@planted_lookup"


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A transformer whose first layer decides, and whose second is ignored."""
    folder = tmp_path_factory.mktemp("two") / "two"
    two_layer_transformer.network().save_pretrained(folder)
    two_layer_transformer.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model():
    """The same in memory."""
    return Transformer(two_layer_transformer.network(), two_layer_transformer.tokenizer(), name="two")


def lines(facts):
    return {line["short"]: line for line in facts["card"]}


@pytest.mark.parametrize(
    ("heatmap", "shown", "points", "hard", "kept"),
    [
        (
            "layer:1",
            "layer 1, mean over heads",
            "yes",
            "not run",
            0.0,
        ),  # shuffles change it: a search would tell the rest
        ("layer:2", "layer 2, mean over heads", "no", "no", 1.0),
    ],
)
def test_a_transformer_whose_first_layer_decides_and_whose_second_is_ignored(
    heatcheck, two, tmp_path, heatmap, shown, points, hard, kept
):
    out = tmp_path / "out"
    options = (*QUICK, "--heatmap", heatmap, "--format", "md")
    code, said, error = heatcheck("audit", f"hf:{two}", *options, "--out", out, "--json")
    assert code == 0, error
    facts = json.loads(said)
    found = lines(facts)
    assert (found["points"]["state"], found["hard"]["state"]) == (points, hard)
    assert facts["about"]["heatmap"] == {"name": heatmap, "shown": shown, "explainer": "attention"}
    shuffled = next(m["value"] for m in found["hard"]["evidence"] if m["name"] == "q")
    assert abs(shuffled - kept) < 0.2
    report = (out / "report.md").read_text(encoding="utf-8")
    assert report.startswith(f"# Can this heatmap of the model be read as an explanation: {shown}?")


@pytest.mark.parametrize(("heatmap", "hard"), [("layer:1", "yes"), ("layer:2", "no")])
def test_the_known_lookup_whose_first_layer_does_all_the_work(heatcheck, tmp_path, heatmap, hard):
    options = ("--checks", "erasure,permutation,counterfactual", "--examples", "30", "--format", "md", *ONE)
    code, said, error = heatcheck("audit", LOOKUP, *options, "--heatmap", heatmap, "--out", tmp_path / "out", "--json")
    assert code == 0, error
    found = lines(json.loads(said))
    assert (found["points"]["state"], found["hard"]["state"]) == ("yes", hard)


def test_which_of_several_heatmaps_can_be_read(heatcheck, two, tmp_path):
    marked = tmp_path / "marked.jsonl"
    rows = [
        {"id": one.id, "scores": [float(mark) for mark in one.marks["rationale"]]}
        for one in hc.load_task("planted_keyword")["test"]
    ]
    marked.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    names = f"layer:1,layer:2,head:1.1,head:1.2,file:{marked}"
    out = tmp_path / "out"
    code, said, error = heatcheck("audit", f"hf:{two}", *QUICK, "--heatmaps", names, "--out", out)
    assert code == 0, error
    told = said.splitlines()
    assert told[1] == (
        "Three of 5 heatmaps can be read as a pointer: layer 1, mean over heads; layer 1, head 1; scores in "
        "marked.jsonl. In two the highlighted words matter too little."
    )
    assert said.count("accuracy") == 1
    states = {"layer 1, head 1": "yes", "layer 1, head 2": "no", "layer 2, mean over heads": "no"}
    for name, state in states.items():
        row = next(line for line in told if line.startswith(f"{name}  "))
        assert row.removeprefix(name).split()[0] == state
    assert told[-1] == f"report: {out / 'report.html'}"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "5 heatmaps of two: which of them can be read?" in page
    assert page.index(told[1]) < page.index("<table")
    assert "Their numbers can be compared." in page
    assert {path.name for path in out.iterdir()} >= {"layer-1", "layer-2", "head-1.2", "heatmaps.json", "report.html"}
    assert json.loads((out / "heatmaps.json").read_text())["answer"] == told[1]
    code, _, error = heatcheck("audit", f"hf:{two}", *QUICK, "--heatmaps", names, "--out", out)
    assert code
    assert "exists" in error


def test_a_report_of_one_heatmap_names_it(model, tmp_path):
    audit = hc.audit(
        model, "planted_keyword", heatmap="head:1.1", checks="erasure", examples=30, settings=QUICK_SETTINGS
    )
    page = hc.write_report(audit, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Can this heatmap of the model be read as an explanation: layer 1, head 1?" in page
    assert "the heatmap: layer 1, head 1" in page
    assert "two · layer 1, head 1 · planted_keyword test" in page
    assert "The audited heatmap is layer 1, head 1" in page
    assert "two (layer 1, head 1): 30 of" in audit_html(audit)
    assert "(layer 1, head 1)" in repr(audit)


def test_heatmaps_of_one_model_share_what_is_no_heatmaps(model, monkeypatch):
    """Each changed text is read once, and methods that do not depend on the heatmap run once."""
    from heatcheck.checks import answers, case

    read, explained = [], []
    once, explain = answers.read_texts, case.explain_one

    def counted(subject, texts):
        read.extend(text.masked_text + text.text for text in texts)
        return once(subject, texts)

    monkeypatch.setattr("heatcheck.checks.shared_work.read_texts", counted)
    monkeypatch.setattr(
        case,
        "explain_one",
        lambda subject, texts, name, **how: explained.append(name) or explain(subject, texts, name, **how),
    )
    subject = model
    choices = {"checks": "erasure", "examples": 30, "settings": {"erasure.operators": "deletion"}}
    found = hc.audit_heatmaps(subject, "planted_keyword", ["layer:1", "layer:2", "rollout"], **choices)
    assert len(set(read)) == len(read), "a text was read twice"
    assert explained.count("attention") == 2
    for name in ("leave_one_out", "gradient_x_input", "integrated_gradients", "rollout"):
        assert explained.count(name) == 1
    alone = hc.audit(subject, "planted_keyword", heatmap="layer:2", **choices)
    together = found.audits["layer 2, mean over heads"]
    for one, other in zip(alone.results["erasure"].measurements, together.results["erasure"].measurements, strict=True):
        assert one.by == other.by
        assert one[1:4] == pytest.approx(other[1:4], abs=1e-6)
    assert "In one the highlighted words matter too little." in found.answer
    assert repr(found).startswith(found.answer)


def test_lines_about_weights_say_why_they_are_not_about_scores(model):
    subject = model
    audit = hc.audit(
        subject,
        "planted_keyword",
        heatmap="norms",
        checks="erasure,permutation,agreement",
        examples=30,
        settings=QUICK_SETTINGS,
    )
    why = "This heatmap is not made of attention weights that could be replaced."
    for short in ("hard", "necessary", "context", "across"):
        assert (audit.card[short].reason, audit.card[short].badge) == (why, "cannot be run")
    assert audit.not_run == {"permutation": why}
    assert audit.card["points"].state in ("yes", "no")
    assert audit.results["erasure"].settings["explainer"] == "norms"
    assert audit.results["agreement"].settings["explainers"][0] == "norms"
    assert "attention" not in audit.results["agreement"].facts["explainers"]
    assert audit.explainer == "norms"
    assert {"norms", "leave_one_out"} <= audit.examples[0].scores.keys()
    assert "attention" not in audit.examples[0].scores
    assert audit.rival == "leave_one_out"
    assert "no weight" in repr(audit.card["hard"].route)


def test_an_explainer_is_not_compared_with_itself():
    audit = hc.audit("known:reader@planted_contrast", "planted_contrast", heatmap="loo", checks="erasure", examples=10)
    assert audit.results["erasure"].settings["rivals"] == ("gradient_x_input", "integrated_gradients")
    assert audit.heatmap == "leave one out"


def test_another_heatmap_is_another_audit():
    """Its id differs, and so do parts that an interrupted audit left; the default's are as they were."""
    from heatcheck.auditing.shards import decides

    choices = {"checks": "permutation", "examples": 30, "settings": {"permutation.repeats": 5}}
    plans = {
        name: plan_audit(LOOKUP, "planted_lookup", heatmap=name, **choices)
        for name in ("last_layer", "attention", "layer:1", "head:1.1")
    }
    ids = {name: audit_id(run_plan(plan), decided_by(plan)) for name, plan in plans.items()}
    assert ids["last_layer"] == ids["attention"]
    assert len(set(ids.values())) == len({decides(plan.case) for plan in plans.values()}) == 3
    assert "heatmap" not in decided_by(plans["last_layer"])


def test_the_last_layer_by_its_number_is_the_default():
    numbers = [
        hc.audit(LOOKUP, "planted_lookup", heatmap=name, checks="permutation,erasure", examples=30)
        for name in ("last_layer", "layer:2")
    ]
    assert [numbers[0].results[check].measurements for check in ("permutation", "erasure")] == [
        numbers[1].results[check].measurements for check in ("permutation", "erasure")
    ]
    assert [audit.heatmap for audit in numbers] == ["", "layer 2, mean over heads"]


def test_a_plan_names_the_heatmap_and_leaves_out_what_is_not_about_it(heatcheck):
    code, said, _ = heatcheck("audit", LOOKUP, "--heatmap", "gradient", "--examples", "30", "--plan", "--json")
    assert code == 0
    facts = json.loads(said)
    assert facts["heatmap"] == "gradient"
    passes = {one["check"]: one["passes"] for one in facts["checks"]}
    assert passes["permutation"] == passes["necessity"] == 0
    assert passes["erasure"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--heatmap", "layer:3"), "two_layers@planted_lookup has no layer 3: its layers are 1 to 2."),
        (("--heatmap", "head:1.2"), "layer 1 of two_layers@planted_lookup has no head 2: its only head is 1."),
        (("--heatmap", "head:1"), "write head:7.3 for head 3 of layer 7, counted from 1."),
        (("--heatmap", "layer:last"), "write layer:7, counted from 1."),
        (("--heatmap", "rollout"), "rollout needs every layer of a transformer"),
        (("--heatmap", "heat"), "unknown heatmap 'heat'"),
        (("--heatmap", "file:nowhere.jsonl"), "there is no scores file nowhere.jsonl"),
        (("--heatmaps", "layer:1"), "a comparison takes 2 to 30 heatmaps, not 1."),
        (("--heatmaps", "layer:1,layer:1"), "the heatmap layer:1 is named twice"),
        (("--heatmaps", "layer:1,layer:9"), "has no layer 9"),
        (("--heatmaps", "layer:1,layer:2", "--heatmap", "layer:1"), "exclude each other"),
    ],
)
def test_a_heatmap_that_is_not_there_is_said_in_a_sentence(heatcheck, options, said):
    code, out, error = heatcheck("audit", LOOKUP, "--examples", "30", *options)
    assert code
    assert not out
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_recurrent_classifier_has_no_layers(heatcheck):
    code, _, error = heatcheck("audit", "known:reader@planted_contrast", "--heatmap", "layer:1")
    assert code
    assert "has no layers to choose from" in error
    with pytest.raises(BadInput, match="one model"):
        raise BadInput(heatcheck("audit", LOOKUP, LOOKUP, "--heatmaps", "layer:1,layer:2")[2])


def test_heatmaps_from_python():
    with pytest.raises(BadInput, match="in one list"):
        plan_heatmaps(LOOKUP, "planted_lookup", "layer:1,layer:2", heatmap="layer:1")
    with pytest.raises(BadInput, match="heatmap"):
        hc.audit(LOOKUP, "planted_lookup", heatmap=3)
    assert find_heatmap("attention").is_default
    assert find_heatmap("shap").name == "shapley_sampling"
