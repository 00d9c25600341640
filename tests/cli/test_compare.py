"""`heatcheck compare` and `heatcheck report` on real, small audits, and the formats of `heatcheck audit`."""

import json
import re

import pytest

from heatcheck.auditing import audit
from heatcheck.cli.audit import write
from heatcheck.cli.compare import names_of
from heatcheck.errors import BadInput
from heatcheck.results import keep_audit, read_audit

QUICK = {"checks": ["permutation", "erasure"], "settings": {"erasure.rivals": "leave_one_out", "erasure.draws": "50"}}


def small(name, **choices):
    return audit(f"known:{name}@planted_keyword", "planted_keyword", **{"examples": 12, **QUICK, **choices})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of audits: two of the same texts, one of others."""
    folder = tmp_path_factory.mktemp("audits")
    made = {"reader": small("reader"), "bystander": small("bystander_wrong"), "other": small("reader", seed=5)}
    for name, found in made.items():
        keep_audit(found, folder / name)
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")


def test_two_models_side_by_side(heatcheck, runs, tmp_path):
    code, out, err = heatcheck("compare", runs / "reader", runs / "bystander")
    assert (code, err) == (0, "")
    assert "known:reader@planted_keyword" in out
    assert "known:bystander_wrong@planted_keyword" in out
    for name in ("reader", "bystander"):
        for line in read_audit(runs / name).card.every_line:
            assert line.name in out
            assert line.state in out
    assert re.search(r"K = 1\.00 \[1\.00, 1\.00\].*K = -?\d\.\d\d \[", out)
    assert re.search(r"n = 12 +n = 12", out)
    assert "Both were audited on the same 12 texts" in out
    assert "comparison: comparison.html" in out
    assert [path.name for path in tmp_path.iterdir()] == ["comparison.html"]


def test_other_texts_are_said_to_be_others(heatcheck, runs):
    _, out, _ = heatcheck("compare", runs / "reader", runs / "other", "--format", "md")
    assert "These audits differ in: seed, which texts." in " ".join(out.split())
    assert "known:reader@planted_keyword (reader)" in out  # two of one name go by their folders too
    assert "known:reader@planted_keyword (other)" in out


def test_every_format(heatcheck, runs, tmp_path):
    code, out, _ = heatcheck("compare", runs / "reader", runs / "bystander", "--out", "mine", "--format", "md,json,csv")
    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "mine.json", "mine.md"]
    assert json.loads((tmp_path / "mine.json").read_text())["comparable"] is True
    code, out, _ = heatcheck("compare", runs / "reader", runs / "bystander", "--out", "deep/two.csv", "--json")
    found = json.loads(out)
    assert found["files"] == ["deep/two.csv"]
    assert (tmp_path / "deep" / "two.csv").is_file()
    assert {one["name"] for one in found["paired"]} >= {"right", "q", "delta", "effect:attention:deletion"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "reader"], "compare takes 2 to 6 audit folders, not 1."),
        (["compare", "reader", "reader"], "is named twice: name each audit once."),
        (["compare", "reader", "nowhere"], "name one that `heatcheck audit` made."),
        (["compare", "reader", "."], "is not the folder of an audit"),
        (["compare", "reader", "other", "--format", "pdf"], "--format takes html, md, json, csv, not 'pdf'."),
        (["compare", "reader", "other", "--out", "x.pdf"], "--out must end in .html, .md, .json, .csv, not .pdf."),
        (
            ["compare", "reader", "other", "--out", "x.md", "--format", "html"],
            "--out x.md does not match --format html",
        ),
        (["report", "nowhere"], "there is no folder"),
        (["report", "reader", "--format", "docx"], "--format takes html, md, json, csv, parquet, not 'docx'."),
        (["report", "reader", "--figures", "gif"], "--figures takes svg, png, pdf, csv, not 'gif'."),
        (["audit", "known:reader@planted_keyword", "--format", "html,doc"], "--format takes html, md"),
    ],
)
def test_mistakes_get_a_sentence_and_nothing_is_written(heatcheck, runs, tmp_path, arguments, said):
    named = [str(runs / word) if word in ("reader", "other", "nowhere") else word for word in arguments]
    code, _, err = heatcheck(*named)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_report_is_drawn_again(heatcheck, runs, tmp_path):
    before = {path.name: path.read_bytes() for path in (runs / "reader").iterdir()}
    code, out, _ = heatcheck(
        "report", runs / "reader", "--format", "md,json,csv", "--figures", "csv", "--out", tmp_path / "again"
    )
    assert code == 0
    made = {path.name for path in (tmp_path / "again").iterdir()}
    assert made == {"report.md", "report.json", "measurements.csv", "per_example.csv", "card.csv", "figures"}
    assert "report.md" in out
    assert {path.name: path.read_bytes() for path in (runs / "reader").iterdir()} == before
    _, out, _ = heatcheck("report", runs / "bystander", "--format", "md", "--json")
    assert json.loads(out)["files"] == [str(runs / "bystander" / "report.md")]


def test_an_audit_keeps_itself_and_writes_what_is_asked_for(tmp_path):
    found = small("reader", checks=["permutation"], settings={})
    tables = {"measurements", "per_example", "card"}
    for number, (options, wanted) in enumerate(
        (
            ({"formats": ("md",)}, {"report.md"} | {f"{name}.csv" for name in tables}),
            ({"formats": ("json",), "tables": "json"}, {"report.json"} | {f"{name}.json" for name in tables}),
            ({"formats": ("parquet",)}, {f"{name}.parquet" for name in tables}),
        )
    ):
        folder = write(found, tmp_path / str(number), **options)
        assert {path.name for path in folder.iterdir()} == wanted | {"audit.json", "audit.npz"}
        assert read_audit(folder).card == found.card


def test_models_of_one_name_in_folders_of_one_name(runs, tmp_path):
    one = read_audit(runs / "reader")
    folders = [tmp_path / "a" / "run", tmp_path / "b" / "run"]
    assert list(names_of(folders, [one, one])) == [f"{one.subject} ({folder})" for folder in folders]


def test_an_old_audit_stays_until_the_new_one_is_whole(runs, tmp_path, monkeypatch):
    kept, again = read_audit(runs / "reader"), read_audit(runs / "other")
    folder = write(kept, tmp_path / "mine", formats=["md"])

    def full_disk(*_, **__):
        raise BadInput("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("heatcheck.report.write_markdown", full_disk)
        with pytest.raises(BadInput, match="the disk is full"):
            write(again, folder, formats=["md"])
    assert read_audit(folder).seed == kept.seed != again.seed
    write(again, folder, formats=["md"])
    assert read_audit(folder).seed == again.seed
    assert [path.name for path in tmp_path.iterdir()] == ["mine"], "nothing is left beside it"
