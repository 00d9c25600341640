"""`heatcheck heads`: the map of heads and the heads that matter, for classifiers and language models."""

import gzip
import json

import pytest

from heatcheck import stats
from heatcheck.cli.circuits import tell_circuits
from heatcheck.cli.heads import drawn, tell
from heatcheck.heads.looking import Place
from heatcheck.heads.roles import Role
from heatcheck.heads.survey import Effect, survey
from heatcheck.heads.where import Gaze
from known_circuits import found_circuits
from made_up_treebank import TEST, TRAIN
from pretrained import as_rows, film_corpus, keep
from tiny_language_models import network, tokenizer
from tiny_transformers import EXAMPLES, tiny


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    keep("bert", folder / "bert")
    network().save_pretrained(folder / "lm")
    tokenizer().save_pretrained(folder / "lm")
    rows = [f"{row['text']},{row['label']}" for row in as_rows(film_corpus(24))]
    (folder / "films.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    return folder


def test_a_classifier_s_heads_as_a_map_and_as_json(heatcheck, films):
    options = ["heads", f"hf:{films / 'bert'}", "--data", str(films / "films.csv"), "--texts", "6"]
    code, out, said = heatcheck(*options)
    assert code == 0, said
    assert "on 6 texts" in out
    assert "layer   1  2  3  4  head" in out
    code, out, _ = heatcheck(*options, "--json")
    facts = json.loads(out)
    assert (facts["texts"], len(facts["heads"])) == (6, 12)
    assert facts["reference_texts"] > 0


def test_a_language_model_reads_plain_texts_or_is_asked(heatcheck, films):
    code, out, said = heatcheck("heads", f"hf:{films / 'lm'}", "--data", films / "films.csv", "--texts", "3", "--json")
    assert code == 0, said
    assert json.loads(out)["causal"]
    asked = ["--prompt", "{text} It is", "--labels", "a=' bad',b=' good'"]
    code, out, said = heatcheck(
        "heads", f"hf:{films / 'lm'}", "--data", films / "films.csv", "--texts", "3", *asked, "--json"
    )
    assert code == 0, said
    assert len(json.loads(out)["heads"]) == 12


def test_the_ten_heads_that_matter_come_with_their_evidence(capsys):
    found = survey(tiny("bert"), EXAMPLES, [EXAMPLES[0].but(id="x"), EXAMPLES[1].but(id="y")])
    effects = {place: Effect(0.1 * place.layer, 0.05, 0.4, 0.01) for place in found.places}
    effects[Place(1, 1)] = Effect(0.9, 0.8, 1.0, 0.01)
    effects[Place(1, 2)] = Effect(0.9, 0.8, 1.0, 0.5)  # not surely
    roles = {place: [] for place in found.places} | {
        Place(1, 1): [Role("sink", 0.8, 0.7, 0.9, 0.1, "…")],
        Place(3, 1): [Role("broad", 2.5, 2.4, 2.6, 2.7, "…")],
    }
    shares = ((0.9, 0.6, 1.1), (0.1, -0.1, 0.4), (0.5, 0.2, 0.8))  # where it looks, what it reads, not decided
    gaze = {Place(3, at): Gaze(2, at - 1, stats.Interval(*share, 3)) for at, share in enumerate(shares, start=1)}
    changed = type(found)(found.looked, effects, roles, found.patterns, gaze, 2)
    lines = drawn(changed)
    assert lines[1].split()[1] == "█S"
    assert lines[1][10:12] == " ·"
    assert "S sink" in lines[-1]
    tell(changed, "tiny")
    out = capsys.readouterr().out
    assert "11 of 12 heads of tiny surely matter on 3 texts" in out
    assert "1 of these 11 surely matter mostly for where they look in the text; 1 surely do not." in out
    assert "For 1 the texts do not decide." in out
    assert "broad 2.50 nats" in out
    assert "sink 0.80 " in out
    assert "The 10 heads whose removal costs most" in out
    table = out[out.index("The 10 heads") :]
    assert table.index("1.1") < table.index("3.1") < table.index("2.1")
    assert "1.2 " not in table


def test_syntactic_roles_from_a_treebank(heatcheck, films, tmp_path):
    for part, sentences in {"train": TRAIN, "devtest": TEST}.items():
        rows = [
            {
                "id": one.id,
                "split": "train" if part == "train" else "test",
                "tokens": one.words,
                "head": [to + 1 for to in one.head],
                "deprel": one.relation,
                "space_after": [int(space) for space in one.space_after],
            }
            for one in sentences
        ]
        path = tmp_path / f"ud_ewt_{part}.jsonl.gz"
        path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    options = ["heads", f"hf:{films / 'bert'}", "--data", films / "films.csv", "--texts", "3", "--data-dir", tmp_path]
    code, out, said = heatcheck(*options, "--treebank", "60")
    assert code == 0, said
    assert "0 heads surely find a syntactic relation" in out
    assert "Sentences: 60 of train and 60 of test." in out
    code, _, said = heatcheck(*options[:-1], tmp_path / "nothing", "--treebank", "60")
    assert code == 2
    assert "ud_ewt_train.jsonl.gz is missing" in said


def test_circuits_of_a_language_model(heatcheck, films):
    options = ["heads", f"hf:{films / 'lm'}", "--data", films / "films.csv", "--texts", "3", "--circuits"]
    code, out, said = heatcheck(*options)
    assert code == 0, said
    assert "None of 12 heads is an induction head." in out
    assert "Previous token heads" in out
    assert "heatcheck removed no heads together: no head is an induction head." in out


def test_induction_heads_come_with_their_evidence(capsys):
    found = found_circuits()
    tell_circuits(found)
    out = capsys.readouterr().out
    assert "1 of 3 heads is an induction head." in out
    row = next(line for line in out.splitlines() if "1.1 (" in line)
    assert "2.1" in row
    assert "10.00 [10.00," in row
    assert "1.1 (1.00)" in out[out.index("Previous token heads") :]
    assert "repeated random tokens" in out
    assert "your texts" in out
    given = survey(tiny("bert"), EXAMPLES, [EXAMPLES[0].but(id="x"), EXAMPLES[1].but(id="y")])
    named = given.with_roles(found.induction_roles)
    assert drawn(named)[2][8] == "C"
    assert named.roles[Place(2, 1)][0].role == "induction"


def test_mistakes_are_said_in_one_sentence(heatcheck, films, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("text\na film\n", encoding="utf-8")
    wrong = {
        "name some texts with --data": [f"hf:{films / 'bert'}"],
        "two texts at least": [f"hf:{films / 'bert'}", "--data", one],
        "--texts must be at least 1": [f"hf:{films / 'bert'}", "--data", films / "films.csv", "--texts", "0"],
        "is not one": ["known:reader@planted_keyword"],
        "needs a causal language model": [f"hf:{films / 'bert'}", "--data", films / "films.csv", "--circuits"],
        "Leave out --text-column": [f"hf:{films / 'bert'}", "--data", "reviews", "--text-column", "x"],
    }
    for sentence, options in wrong.items():
        code, _, said = heatcheck("heads", *options)
        assert code == 2
        assert sentence in said
        assert "Traceback" not in said
