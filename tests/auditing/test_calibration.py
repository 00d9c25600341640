"""Calibration: counting on hand-made cards, bounds against scipy, the dial against closed forms and broken curves."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import binom

from heatcheck.auditing import calibration
from heatcheck.auditing.calibration import QUICK, CalibrationSettings, _twins, calibrate, dial, plan_jobs
from heatcheck.auditing.calibration import audit as audits
from heatcheck.auditing.calibration import decoy as decoys
from heatcheck.auditing.calibration.draws import OF_ONE_LENGTH, draw_lengths, draw_nuisance, draw_subject, draw_texts
from heatcheck.auditing.calibration.result import Calibration, Decoy, Twin, Verdict, share_at_least
from heatcheck.auditing.calibration.truth import (
    CONTRAST,
    DECOY,
    FIRST,
    KEYWORD,
    LINES,
    LOOKUP,
    SECOND,
    TRUTH,
    Cell,
    judge,
)
from heatcheck.auditing.lines import CardSettings, make_card
from heatcheck.auditing.lines.across import NAME as ACROSS
from heatcheck.auditing.lines.hard import NAME as HARD
from heatcheck.auditing.lines.necessary import NAME as NECESSARY
from heatcheck.auditing.lines.out_of_context import NAME as OUT_OF_CONTEXT
from heatcheck.auditing.lines.points import NAME as POINTS
from heatcheck.errors import BadInput
from heatcheck.models import KNOWN_ANSWERS, Site
from heatcheck.results import Measurement
from heatcheck.training import evaluate

FEW = replace(QUICK, dials=0, twins=0, cells=(Cell("reader", KEYWORD), Cell("bystander_wrong", KEYWORD)))


def verdict(cell, line, seed=0, state=None):
    """A line as the truth has it, unless another state is given."""
    known = TRUTH[cell][line]
    state = state or {"moot": "unclear", "not no": "not found"}.get(known, known)
    return Verdict(cell, seed, line, known, state, judge(known, state), "", (), {})


def made(but=(), seeds=13, **parts):
    """A calibration in which everything is right but for these (cell, line, seed) -> state."""
    changed = dict(but)
    verdicts = [
        verdict(cell, line, seed, changed.get((cell, line, seed)))
        for cell, known in TRUTH.items()
        for line in known
        for seed in range(seeds)
    ]
    nothing = {"curves": (), "changes": (), "decoys": (), "failed": {}, "enough": 60, "code": ""}
    return Calibration(tuple(verdicts), **{**nothing, **parts})


# The truth --------------------------------------------------------------------------------------------------------


def test_every_line_has_a_known_yes_and_a_known_no_and_which_lines_are_told_apart():
    """No control has weights on the word that matters to it and is no guide, or the other way round."""
    for line in LINES[:4]:
        assert {"yes", "no"} <= {known.get(line) for known in TRUTH.values()}
    together = {
        (one, other)
        for one, other in combinations(LINES[:4], 2)
        if not {("yes", "no"), ("no", "yes")} & {(known.get(one), known.get(other)) for known in TRUTH.values()}
    }
    assert together == {(POINTS, OUT_OF_CONTEXT)}
    assert not any(known[ACROSS] == "yes" for known in TRUTH.values() if ACROSS in known)


def test_the_table_is_about_every_control():
    analytic = {(cell.subject, cell.task) for cell in TRUTH if cell.subject != DECOY}
    assert analytic == {(n, t) for n, kind in KNOWN_ANSWERS.items() if n != "dial" for t in kind.tasks}
    assert {cell.task for cell in TRUTH if cell.subject == DECOY} == {KEYWORD, CONTRAST}


def test_no_guide_can_be_judged_where_words_say_everything_or_nothing():
    for cell, known in TRUTH.items():
        if cell.subject != DECOY and cell.task in (KEYWORD, FIRST, SECOND, LOOKUP):
            assert known[OUT_OF_CONTEXT] == "moot"


# Counting ---------------------------------------------------------------------------------------------------------


def test_all_right_passes():
    found = made()
    by_line = {count.line: count for count in found.counts}
    known = {line: [known[line] for known in TRUTH.values() if line in known] for line in LINES}
    for line, count in by_line.items():
        assert count.decided == 13 * sum(truth in ("yes", "no") for truth in known[line])
        assert count.moot == 13 * known[line].count("moot")
        assert count.not_asserted == 13 * known[line].count("not no")
    assert not found.faults
    assert found.passed


def test_every_verdict_is_counted_once():
    found = made({(Cell("reader", KEYWORD), POINTS, 0): "no", (Cell("reader", CONTRAST), HARD, 1): "yes"})
    whole = sum(sum(count[1:7]) for count in found.counts)
    assert whole == len(found.verdicts)


def test_one_wrong_fails_however_many_are_right():
    """142 of 143 would leave room for .967, were thirteen seeds of a control thirteen controls."""
    for line in (OUT_OF_CONTEXT, HARD):
        found = made({(Cell("leaker", CONTRAST), line, 3): "yes"})
        assert not found.passed
        assert [(str(v.cell), v.seed, v.judged) for v in found.faults] == [("leaker@planted_contrast", 3, "wrong")]


def test_the_bound_counts_controls_and_not_their_seeds():
    of_line = {count.line: count for count in made().counts}
    assert [of_line[line].controls for line in LINES] == [22, 22, 16, 5, 13]
    assert of_line[HARD].bound == share_at_least(16, 16) == pytest.approx(0.05 ** (1 / 16))
    assert [count.bound for count in made(seeds=40).counts] == [count.bound for count in made().counts]
    wrong = [((Cell("leaker", CONTRAST), HARD, seed), "yes") for seed in (3, 4)]
    once, twice = ({c.line: c for c in made(some).counts}[HARD] for some in (wrong[:1], wrong))
    assert (once.wrong, twice.wrong) == (1, 2)
    assert once.bound == twice.bound == share_at_least(15, 16)
    (criterion,) = [c for c in made(wrong).criteria if c.name.startswith(f"{HARD}: 60")]
    assert not criterion.met
    assert criterion.detail.startswith("206 of 208 decided verdicts are right. 15 of 16 controls have no wrong one")


def test_the_bound_holds_where_a_control_is_wrong_at_every_seed():
    """One kind of control in ten is always misjudged: fourteen times thirteen verdicts are fourteen, not 182."""
    right = np.random.default_rng(0).binomial(14, 0.9, size=4000)
    clustered = np.array([share_at_least(count, 14) for count in range(15)])[right]
    pooled = np.array([share_at_least(13 * count, 13 * 14) for count in range(15)])[right]
    assert (clustered <= 0.9).mean() >= 0.95
    assert (pooled <= 0.9).mean() < 0.8


def test_too_few_decided_fails_unless_it_is_a_smoke_run():
    assert not made(seeds=2).passed
    assert made(seeds=2, enough=0).passed
    assert not made({(Cell("reader", KEYWORD), POINTS, 0): "no"}, seeds=2, enough=0).passed


def test_moot_lines_that_are_decided_fail():
    for state in ("yes", "no", "not run"):
        found = made({(Cell("gauge_twin", KEYWORD), HARD, 0): state})
        assert [c.name for c in found.criteria if not c.met] == [
            "no line is decided where its question cannot be asked"
        ]


def test_a_tenth_may_be_unclear():
    """Of 65 asserted verdicts of works out of context: 6 are 9.2%, 7 are 10.8%."""
    for unclear, met in ((6, True), (7, False)):
        lost = {(Cell("reader", CONTRAST), OUT_OF_CONTEXT, seed): "unclear" for seed in range(unclear)}
        found = made(lost, seeds=13)
        (one,) = [c for c in found.criteria if c.name.startswith(OUT_OF_CONTEXT) and "unclear" in c.name]
        assert one.met is met


def test_not_found_is_a_miss_and_an_unfounded_no_is_wrong():
    assert judge("no", "not found") == "unclear"
    found = made({(Cell("shifted", KEYWORD), ACROSS, 0): "no"})
    assert [v.judged for v in found.faults] == ["wrong"]


def test_failed_jobs_fail():
    assert not made(failed={"dial, seed 0": "it broke"}).passed


def test_the_bound_is_clopper_and_pearsons():
    """The share at which so many right or more would happen one time in twenty."""
    for right, n in ((1, 1), (3, 10), (59, 59), (142, 143)):
        assert binom.sf(right - 1, n, share_at_least(right, n)) == pytest.approx(0.05)
    assert share_at_least(0, 5) == share_at_least(0, 0) == 0.0


# Temperature twins --------------------------------------------------------------------------------------------------


def test_a_twin_with_another_card_fails():
    cell = Cell("reader", KEYWORD)
    assert made(twins=(Twin(cell, 0, 40.0, (), 9e-7),)).passed
    assert not made(twins=(Twin(cell, 0, 40.0, (), 2e-6),)).passed
    assert not made(twins=(Twin(cell, 0, 40.0, ("points at what matters: yes and no",), 0.0),)).passed


def test_a_control_is_audited_beside_its_twin(tmp_path, monkeypatch):
    """All of them: test_truth_table.py."""
    monkeypatch.setattr(audits, "TESTED", 40)
    (job,) = _twins(replace(QUICK, cells=(Cell("flat", FIRST),), examples=30, draws=20))
    audits.audit_twins(job.argument, tmp_path)
    found = json.loads((tmp_path / "flat.json").read_text())
    assert (found["states"], found["factor"]) == ([], 40.0)
    assert found["most"] <= 1e-9


def test_how_two_cards_differ():
    number = Measurement("K", 0.6, 0.5, np.inf, 40, "", {})
    card = make_card({}, 1.0, CardSettings())
    first, *rest = card.every_line
    said = replace(card, every_line=(first._replace(state="yes", evidence=(number,)), *rest))
    moved = replace(card, every_line=(first._replace(state="no", evidence=(number._replace(low=0.25),)), *rest))
    assert audits._apart(card, card) == {"states": [], "most": 0.0}
    assert audits._apart(said, moved) == {"states": ["necessary: yes and no"], "most": 0.25}
    assert "the other lacks" in audits._apart(card, said)["states"][-1]


# The dial ---------------------------------------------------------------------------------------------------------


def readings(values, half=0.01):
    shares = np.linspace(0, 1, len(values))
    return [
        dial.Reading(float(m), float(v), float(v - half), float(v + half)) for m, v in zip(shares, values, strict=True)
    ]


def test_what_is_asked_of_a_curve():
    def good(name, values, half=0.01):
        return dial.curve(name, 0, readings(values, half), scale=3.0, tokens=15.0).good

    assert good("K", [0.0, 0.3, 0.6, 1.0])
    assert good("K", [0.0, 0.6, 0.6, 1.0]), "a plateau is no inversion"
    assert good("K", [0.0, 0.6, 0.59, 1.0]), "within the error"
    assert not good("K", [0.0, 0.6, 0.5, 1.0])
    assert not good("K", [0.0, 0.7, 0.69, 0.68, 0.67, 0.66, 1.0]), "a slow slide back, each step within the error"
    assert not good("K", [0.0, 0.1, 0.2, 0.3]), "hardly moves"
    assert not good("K", [1.0, 0.6, 0.3, 0.0]), "the wrong way round"
    assert good("U", [1.0, 0.6, 0.3, 0.1])
    assert not good("U", [0.1, 0.3, 0.6, 1.0])
    assert good("K", [0.0, 0.6, 0.5, 1.0], half=0.2), "within a larger error"


def test_two_standard_errors_of_a_difference():
    """Readings with intervals of ±.0196 have errors of .01, so their difference has .0141: twice that is .0283."""
    for drop, good in ((0.027, True), (0.030, False)):
        found = dial.curve("K", 0, readings([0.0, 0.6, 0.6 - drop, 1.0], half=0.0196), scale=3.0, tokens=15.0)
        assert found.good is good


def test_the_range_in_theory_is_what_a_sharp_dial_does():
    """Brute force: a dial all of whose weight is on cue A, against the closed forms."""
    settings = replace(QUICK, cells=(), shares=(0.0, 1.0), examples=100)
    cell = Cell("dial", dial.TASK)
    corpus = draw_texts(cell, 7, 100)
    tokens = float(np.mean([len(e.words) for e in corpus["test"]]))
    ends = []
    for share in settings.shares:
        subject = KNOWN_ANSWERS["dial"](dial.TASK, share=share, sharpness=20.0, jitter=0.1, scale=3.0)
        chosen = {f"{check}.draws": 50 for check in dial.CHECKS} | {"erasure.rivals": ("leave_one_out",)}
        plan = audits.plan_audit(subject, corpus, checks=dial.CHECKS, examples=100, settings=chosen)
        ends.append(dial.read_dial(audits.lines_of(plan)[1]))
    for name, statistic in dial.STATISTICS.items():
        moved = abs(ends[1][name].value - ends[0][name].value)
        assert moved == pytest.approx(statistic.range(3.0, tokens), rel=0.12), name


def test_a_dial_in_a_calibration():
    good = dial.curve("K", 0, readings([0.0, 0.5, 1.0]), scale=3.0, tokens=15.0)
    bad = dial.curve("K", 1, readings([0.0, 0.9, 0.5]), scale=3.0, tokens=15.0)
    assert made(curves=(good,)).passed
    assert not made(curves=(good, bad)).passed
    assert not made(curves=(good,), changes=("hard to manipulate, seed 0: yes, no, yes",)).passed


# Draws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [cell for cell in TRUTH if cell.subject != DECOY], ids=str)
def test_nuisance_leaves_the_truth_alone(cell):
    """Over many seeds: everything is right, and where the weight is has ≥ .95 of it, the gauge twin's apart."""
    scales, lengths = set(), set()
    for seed in range(40, 52):
        scales.add(draw_nuisance(cell, seed).scale)
        lengths.add(draw_lengths(cell, seed))
        if seed > 41:
            continue
        subject, examples = draw_subject(cell, seed), draw_texts(cell, seed, 60)["test"].examples
        assert evaluate(subject, examples).accuracy == 1.0
        batch = subject.encode(examples)
        weights = subject.run(batch, want=[Site("attention")]).parts[Site("attention")][:, 0, 0]
        if cell.subject == "majority_reader":  # on all cues together
            weights = (weights * batch.marks["rationale"]).sum(1, keepdim=True)
        assert cell.subject in ("gauge_twin", "flat") or weights.max(1).values.min() >= 0.95
    assert len(scales) > 1
    assert len(lengths) > 3
    if cell in OF_ONE_LENGTH:
        assert all(fewest == most for fewest, most in lengths)


def test_the_least_weight_is_the_one_promised():
    """The closed form behind the .95: jitter at its worst, as low as can be on the attended word, high elsewhere."""
    for seed in range(200):
        cell = Cell("reader", CONTRAST)
        drawn, (_, most) = draw_nuisance(cell, seed), draw_lengths(cell, seed)
        scores = torch.full((most + 8,), drawn.jitter)
        scores[0] = drawn.sharpness - drawn.jitter
        assert scores.softmax(0)[0] >= 0.95


# Jobs -------------------------------------------------------------------------------------------------------------


def test_jobs_are_named_by_what_decides_them(monkeypatch):
    jobs = plan_jobs(CalibrationSettings(seeds=3, first_seed=4))
    tasks = len({cell.task for cell in TRUTH})
    assert len({job.id for job in jobs}) == len(jobs)
    assert len(jobs) == 2 * 2 + 3 * tasks + tasks + 3  # decoys of two corpora; controls; twins; dials
    again = plan_jobs(CalibrationSettings(seeds=3, first_seed=4))
    assert [job.id for job in again] == [job.id for job in jobs]
    more = plan_jobs(CalibrationSettings(seeds=4, first_seed=4))
    assert {job.id for job in jobs if job.argument["kind"] != "decoys"} <= {job.id for job in more}
    monkeypatch.setattr(calibration, "code_id", lambda: "another card")
    assert not {job.id for job in plan_jobs(CalibrationSettings(seeds=3, first_seed=4))} & {job.id for job in jobs}


def test_a_small_run_from_end_to_end(tmp_path):
    seen = []
    found = calibrate(FEW, tmp_path, progress=lambda outcome, done, total: seen.append((outcome.state, done, total)))
    assert seen == [("done", 1, 1)]
    assert {str(v.cell) for v in found.verdicts} == {"reader@planted_keyword", "bystander_wrong@planted_keyword"}
    assert {v.judged for v in found.verdicts} <= {"right", "moot"}
    assert found.passed
    assert all(v.numbers for v in found.verdicts)
    again = calibrate(FEW, tmp_path, progress=lambda outcome, *_: seen.append(outcome.state))
    assert seen[-1] == "reused"
    assert again == found


def test_what_an_interrupted_job_left_is_not_audited_again(tmp_path, monkeypatch):
    kept = tmp_path / "reader.json"
    kept.write_text(json.dumps({"left": "as it was"}))
    asked = []
    monkeypatch.setattr(audits, "lines_of", lambda plan: (asked.append(plan.name) or {}, {}))
    (job,) = plan_jobs(FEW)
    audits.audit_known(job.argument, tmp_path)
    assert asked == ["bystander_wrong@planted_keyword"]
    assert json.loads(kept.read_text()) == {"left": "as it was"}


def test_a_control_that_cannot_be_audited_is_named(tmp_path, monkeypatch):
    def broken(_):
        raise ValueError("no such luck")

    monkeypatch.setattr(audits, "lines_of", broken)
    found = calibrate(FEW, tmp_path)
    (reason,) = found.failed.values()
    assert "reader@planted_keyword: ValueError: no such luck" in reason
    assert not found.passed


def test_settings_that_ask_for_nothing():
    with pytest.raises(BadInput, match="seeds must be at least 1, not 0"):
        CalibrationSettings(seeds=0)
    with pytest.raises(BadInput, match="the first seed must be 0 or more, not -1"):
        CalibrationSettings(first_seed=-1)


# Decoys -----------------------------------------------------------------------------------------------------------


def test_the_marker_is_part_of_what_decides():
    for example in decoys.decoy_texts(CONTRAST, 0)["dev"]:
        marked = [word for word, mark in zip(example.words, example.marks["rationale"], strict=True) if mark]
        assert marked[0] == "but"
        assert len(marked) == 2


def test_what_is_no_decoy():
    seen = {
        "n": 600,
        "prior": 0.5,
        "accuracy": 0.991,
        "accuracy of the honest twin": 1.0,
        "accuracy without the rationale": 0.55,
        "weight on the rationale": 0.049,
    }
    assert decoys.reject(seen) == ""
    assert "more than a point below" in decoys.reject({**seen, "accuracy": 0.98})
    assert "5.0% of its weight" in decoys.reject({**seen, "weight on the rationale": 0.05})
    assert "above the majority class" in decoys.reject({**seen, "accuracy without the rationale": 0.6})
    both = decoys.reject({**seen, "accuracy": 0.6, "weight on the rationale": 0.5})
    assert both.count(";") == 1


def test_a_decoy_is_looked_at_as_it_is():
    """On models whose answer is known: a bystander with its weights elsewhere is one, a reader is not."""
    wrong, reader = (KNOWN_ANSWERS[name](KEYWORD) for name in ("bystander_wrong", "reader"))
    examples = draw_texts(Cell("reader", KEYWORD), 3, 200)["test"].examples
    seen = decoys.look_at(wrong, reader, examples)
    assert decoys.reject(seen) == ""
    assert seen["weight on the rationale of the honest twin"] > 0.95
    assert "of its weight on the rationale" in decoys.reject(decoys.look_at(reader, reader, examples))


def test_rejected_decoys_are_listed_and_give_no_verdicts(tmp_path, monkeypatch):
    for number, rejected in enumerate(("", "it is none")):
        lines = {} if rejected else {line: {"state": "no", "reason": "", "numbers": []} for line in LINES}
        found = {"subject": DECOY, "task": KEYWORD, "seed": number, "rejected": rejected, "seen": {}, "lines": lines}
        (tmp_path / f"{number}.json").write_text(json.dumps(found))

    def put(_, folder):
        for path in tmp_path.glob("?.json"):
            (folder / path.name).write_bytes(path.read_bytes())

    monkeypatch.setitem(calibration.JOBS, "decoys", put)
    only = replace(QUICK, decoys=True, dials=0, cells=(Cell(DECOY, KEYWORD),), seeds=2)
    found = calibrate(only, tmp_path / "store")
    assert [(decoy.seed, decoy.rejected) for decoy in found.decoys] == [(0, ""), (1, "it is none")]
    assert {v.seed for v in found.verdicts} == {0}
    assert {v.line for v in found.verdicts} == {NECESSARY, POINTS}
    assert isinstance(found.decoys[0], Decoy)


def test_a_decoy_and_its_twins_are_trained_and_audited(tmp_path, monkeypatch):
    """Tiny: the path from texts to a card, not whether such a model is a good decoy."""
    monkeypatch.setattr(decoys, "TRAIN", 120)
    monkeypatch.setattr(decoys, "DEV", 40)
    monkeypatch.setattr(decoys, "TEST", 60)
    monkeypatch.setattr(decoys, "reject", lambda _: "")
    argument = {"task": KEYWORD, "corpus": 0, "numbers": [1], "epochs": 1, "examples": 30, "draws": 20}
    decoys.audit_decoys(argument, tmp_path)
    found = json.loads((tmp_path / "1.json").read_text())
    assert (found["subject"], found["seed"]) == (DECOY, 1)
    assert found["lines"][POINTS]["state"] in ("yes", "no", "unclear")
    assert found["lines"][OUT_OF_CONTEXT]["state"] == "not run"
    assert found["lines"][ACROSS]["state"] in ("no", "not found")
