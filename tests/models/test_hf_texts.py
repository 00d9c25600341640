"""A Hugging Face classifier reads what its tokenizer makes of the user's text; words are masked among its ids."""

import pickle
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModelForSequenceClassification, BertConfig, GPT2Config, PreTrainedTokenizerFast

import heatcheck
from heatcheck.auditing import audit
from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.explainers import explain
from heatcheck.explainers.word_removal import delete, mask
from heatcheck.models import in_units, load, name_units
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.pieces import Cutter, count_pieces, cut_texts, encode_pieces, stand_in
from heatcheck.report.audited import audited
from heatcheck.training import predict
from tiny_transformers import make, tiny

READ = [
    "the film was not very good",
    "Q: was it good?\nA: not so bad",
    "unhappily 我爱你 世界 ก็ดี",
    "so so so bad bad movie",
]
TEXT = st.lists(
    st.sampled_from(
        [*"aot né世界ก็", *"\n\t\r\u00a0\u200b\u3000 ", "the ", "not", "film ", "<unk>", "[MASK]", "e\u0301", "😀"]
    ),
    max_size=12,
).map("".join)


def wordpiece() -> PreTrainedTokenizerFast:
    found = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer()
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    found.train_from_iterator(READ, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special))
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=found, **named)


def byte_level(*, trim: bool = True) -> PreTrainedTokenizerFast:
    """As GPT-2's: one special token for everything."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    found.post_processor = processors.ByteLevel(trim_offsets=trim)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<|end|>"], initial_alphabet=alphabet)
    found.train_from_iterator(READ, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=found, eos_token="<|end|>", unk_token="<|end|>", pad_token="<|end|>"
    )


def unigram() -> PreTrainedTokenizerFast:
    """As SentencePiece makes them: a sign in place of a space, `<unk>` a special token of its own."""
    found = Tokenizer(models.Unigram())
    found.normalizer = normalizers.NFKC()
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token="<unk>")
    found.train_from_iterator(READ, trainer)
    found.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    named = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=found, **named)


KINDS = {
    "wordpiece": wordpiece,
    "byte-level": byte_level,
    "byte-level untrimmed": lambda: byte_level(trim=False),
    "unigram": unigram,
}


@cache
def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    return KINDS[kind]()


def encode(kind: str, *examples: Example, longest: int = 512) -> Batch:
    cutter = Cutter(tokenizer(kind), longest)
    return encode_pieces(cutter, examples, gold=None, options=None, device=torch.device("cpu"))


def ids(kind: str, one: Example) -> list[int]:
    return encode(kind, one).inputs["input_ids"][0].tolist()


def subject_of(kind: str, *, family: str = "bert", **config: Any) -> Transformer:
    """A tiny network that reads with such a tokenizer."""
    own = KINDS[kind]()
    size = {"vocab_size": len(own), "max_position_embeddings": 64, "num_labels": 2, "pad_token_id": own.pad_token_id}
    if family == "bert":
        shape = BertConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, **{**size, **config}
        )
    else:
        shape = GPT2Config(n_embd=16, n_layer=2, n_head=2, **{**size, **config})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = AutoModelForSequenceClassification.from_config(shape).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4.0)
    return Transformer(network, own, name="hf:tiny")


@pytest.mark.parametrize("kind", KINDS)
@given(TEXT, st.none() | TEXT)
@example("Q: was it good?\nA: so\tso", None)
@example("not  <unk> [MASK] <|end|> bad\n\n", "a\r\nb")
@settings(max_examples=40, deadline=None)
def test_ids_are_the_tokenizers_own(kind: str, text: str, pair: str | None) -> None:
    own = tokenizer(kind)(text, pair) if pair else tokenizer(kind)([text], None if pair is None else [pair])
    assume(tokenizer(kind)(text, add_special_tokens=False)["input_ids"])
    whole = Example("a", text, pair)
    for read in (whole, *cut_texts(tokenizer(kind), [whole], "words"), *cut_texts(tokenizer(kind), [whole], "tokens")):
        batch = encode(kind, read)
        assert {name: value[0].tolist() if pair else value.tolist() for name, value in batch.inputs.items()} == own
        assert batch.masked is None
        assert batch.word.max() < len(read.words)


def test_a_text_without_any_token_is_refused() -> None:
    """Zero-width characters alone, to a tokenizer that drops them, of a model that puts nothing around a text."""
    subject = make("gpt2")
    subject.tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer()
    with pytest.raises(BadInput, match="example text: its text has no token"):
        explain(subject, "\u200b\u200b")


def test_a_typed_unknown_word_is_what_the_tokenizer_makes_of_it() -> None:
    typed = Example("a", "not <unk> bad")
    assert tokenizer("wordpiece").mask_token_id not in ids("wordpiece", typed)
    assert tokenizer("byte-level").eos_token_id not in ids("byte-level", typed)
    special = tokenizer("unigram").unk_token_id
    assert special in ids("unigram", typed), "as wherever else this model is run"
    split = unigram()
    split.split_special_tokens = True
    read = encode_pieces(Cutter(split, 64), [typed], gold=None, options=None, device=torch.device("cpu"))
    pieces = split.convert_ids_to_tokens(read.inputs["input_ids"][0])
    assert "".join(pieces).count("k") == 1, "a tokenizer that was told to read them as text does"


@pytest.mark.parametrize("kind", KINDS)
@given(TEXT, st.none() | TEXT, st.data())
@settings(max_examples=25, deadline=None)
def test_a_masked_word_is_one_token_in_place_of_its_pieces(
    kind: str, text: str, pair: str | None, data: st.DataObject
) -> None:
    """And all that is before and after it stays, in both texts, whatever the units."""
    units = data.draw(st.sampled_from(["words", "tokens"]))
    (whole,) = cut_texts(tokenizer(kind), [Example("a", text, pair)], units)
    assume(tokenizer(kind)(text, add_special_tokens=False)["input_ids"])
    plain = encode(kind, whole)
    words = sorted({number for number in plain.word[0].tolist() if number >= 0})
    number = data.draw(st.sampled_from(words))
    hidden = encode(kind, mask(whole, {number}))
    before, after = plain.inputs["input_ids"][0].tolist(), hidden.inputs["input_ids"][0].tolist()
    assert hidden.masked is not None
    (at,) = hidden.masked[0].nonzero()[:, 0].tolist()
    gone = len(before) - len(after) + 1
    assert after == [*before[:at], stand_in(tokenizer(kind)), *before[at + gone :]]
    assert hidden.word[0].tolist() == [*plain.word[0].tolist()[: at + 1], *plain.word[0].tolist()[at + gone :]]
    assert set(plain.word[0].tolist()[at : at + gone]) == {number}
    beside = encode(kind, whole, mask(whole, {number}))
    assert beside.inputs["input_ids"][1].tolist()[: len(after)] == after
    assert beside.valid.sum(1).tolist() == [len(before), len(after)]


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(TEXT, min_size=2, max_size=4), st.data())
@settings(max_examples=15, deadline=None)
def test_texts_side_by_side_are_read_and_counted_as_each_alone(
    kind: str, texts: list[str], data: st.DataObject
) -> None:
    """Several of one text with other words hidden among other texts, cut off or not."""
    own, longest = tokenizer(kind), data.draw(st.sampled_from([8, 512]))
    assume(all(own(text, add_special_tokens=False)["input_ids"] for text in texts))
    some = [Example(str(number), text) for number, text in enumerate([*texts, *texts])]
    hidden = [mask(one, data.draw(st.sets(st.integers(0, len(one.words) - 1)))) for one in some]
    together = encode(kind, *hidden, longest=longest)
    for row, one in enumerate(hidden):
        alone = encode(kind, one, longest=longest)
        read = together.valid[row]
        assert together.inputs["input_ids"][row, read].tolist() == alone.inputs["input_ids"][0].tolist()
        assert together.word[row, read].tolist() == alone.word[0].tolist()
    assert count_pieces(Cutter(own, longest), hidden) == together.valid.sum(1).tolist()


def test_a_text_is_cut_once_and_forgotten_when_there_are_many() -> None:
    own, asked = wordpiece(), []

    class Counting:
        pad_token_id, pad_token_type_id, mask_token_id = own.pad_token_id, 0, own.mask_token_id

        def __call__(self, texts: list[str], *given: Any, **named: Any) -> Any:
            asked.extend(texts)
            return own(texts, *given, **named)

    cutter = Cutter(Counting(), 64, kept=20)
    one, other = Example("a", "not so bad"), Example("b", "a film")
    count_pieces(cutter, [one, other, one])
    read = encode_pieces(cutter, [mask(one, {1}), one], gold=None, options=None, device=torch.device("cpu"))
    assert asked == ["not so bad", "a film"]
    assert read.valid.sum(1).tolist() == [len(own("not so bad")["input_ids"])] * 2
    count_pieces(cutter, [Example("c", "a dull film and a long one, too long for so many")])
    count_pieces(pickle.loads(pickle.dumps(Cutter(own, 64))), [one])
    count_pieces(cutter, [one])
    assert asked[3:] == ["not so bad"], "it was forgotten meanwhile"


def test_a_line_break_before_a_masked_word_stays() -> None:
    own = tokenizer("byte-level")
    read = ids("byte-level", mask(Example("a", "good?\nA: so"), {1}))
    assert own.convert_ids_to_tokens(read)[-3:] == ["Ċ", "<|end|>", "Ġso"]


@given(st.lists(st.sampled_from(["a", "", "bc", "é"]), min_size=1, max_size=6), st.data())
def test_a_deleted_word_takes_one_space_along(words: list[str], data: st.DataObject) -> None:
    gone, hidden = (data.draw(st.sets(st.integers(0, len(words) - 1))) for _ in range(2))
    left = delete(mask(Example("a", " ".join(words)), hidden), gone)
    kept = [place for place in range(len(words)) if place not in gone]
    assert left.text == " ".join(words[place] for place in kept)
    assert [kept[number] for number in left.masked] == sorted(hidden - gone)


@pytest.mark.parametrize("kind", KINDS)
@given(TEXT, st.none() | TEXT, st.data())
@settings(max_examples=15, deadline=None)
def test_what_is_left_of_a_text_is_the_words_that_stay(
    kind: str, text: str, pair: str | None, data: st.DataObject
) -> None:
    units = data.draw(st.sampled_from(["words", "tokens"]))
    (whole,) = cut_texts(tokenizer(kind), [Example("a", text, pair)], units)
    gone = data.draw(st.sets(st.integers(0, len(whole.words) - 1)))
    hidden = data.draw(st.sets(st.integers(0, len(whole.words) - 1)))
    left = delete(mask(whole, hidden), gone)
    kept = [place for place in range(len(whole.words)) if place not in gone]
    assert left.words == (tuple(whole.words[place] for place in kept) or left.words)
    assert [kept[number] for number in left.masked] == sorted(hidden - gone)
    assert delete(whole, ()) == whole


def test_line_breaks_stay_between_the_words_beside_them() -> None:
    whole = Example("a", "Q: was it\nA: not so\n\nend")
    assert delete(whole, {2}).text == "Q: was\nA: not so\n\nend"
    assert delete(whole, {3}).text == "Q: was it\nnot so\n\nend"
    assert delete(whole, {0, 1, 2, 3}).text == "not so\n\nend"


def decoder(**config: Any) -> Transformer:
    """As GPT-2: mask, unknown and padding are one token."""
    return subject_of("byte-level", family="gpt2", **config)


@pytest.mark.parametrize("padding", [0, None])
def test_a_masked_last_word_moves_no_row(padding: int | None) -> None:
    subject = decoder(pad_token_id=padding)
    texts = [mask(Example("a", "the film was bad"), {3}), Example("b", "not very good but so so bad")]
    batch = subject.encode(texts)
    run = subject.run(batch, want=subject.sites[-1:])
    last = batch.valid.sum(1) - 1
    assert subject.rows(batch).tolist() == run.row[:, 0].tolist() == last.tolist()
    every = subject.network.score(subject.network.transformer(**batch.inputs).last_hidden_state)
    torch.testing.assert_close(run.logits[:, 0], every[[0, 1], last])
    assert predict(subject, texts[:1])[0] == pytest.approx(run.logits[0].log_softmax(-1).detach().numpy(), abs=1e-5)
    response = subject.response(batch)
    torch.testing.assert_close(response.logits(response.attention[:, None])[:, 0], run.logits, rtol=1e-4, atol=1e-4)


def test_a_text_that_ends_as_padding_does_is_read_where_transformers_reads_it() -> None:
    texts = [Example("a", "the film was bad<|end|>"), Example("b", "bad")]
    told, untold = decoder(), decoder(pad_token_id=None)
    batch = told.encode(texts)
    last = batch.valid.sum(1) - 1
    assert told.rows(batch).tolist() == [last[0] - 1, last[1]]
    torch.testing.assert_close(told.run(batch).logits[:, 0], told.network(**batch.inputs).logits, rtol=0, atol=0)
    assert untold.rows(batch).tolist() == last.tolist()


def test_many_decisions_are_refused_by_name(tmp_path: Path) -> None:
    subject = make("bert", labels=3)
    subject.network.config.problem_type = "multi_label_classification"
    subject.network.save_pretrained(tmp_path)
    subject.tokenizer.save_pretrained(tmp_path)
    for ask in (
        lambda: audit(f"hf:{tmp_path}", (["good film", "bad movie"], ["LABEL_0", "LABEL_2"])),
        lambda: explain(f"hf:{tmp_path}", "good film"),
    ):
        with pytest.raises(
            BadInput, match=r"yes or no to each of its 3 labels .*multi_label_classification.*one label"
        ):
            ask()


def test_one_of_many_decisions_can_be_asked_about() -> None:
    """As docs/transformers.md shows."""
    subject = make("bert", labels=3)
    subject.network.set_attn_implementation("eager")
    one = heatcheck.wrap(
        subject.network,
        subject.tokenizer,
        mask="attention_mask",
        output=lambda out: out.logits[:, 2],
        labels=["not LABEL_2", "LABEL_2"],
    )
    texts = [Example("a", "the film was good"), Example("b", "bad")]
    with torch.no_grad():
        lone = subject.run(subject.encode(texts)).logits[:, 0, 2]
    assert predict(one, texts)[:, 0, 1] == pytest.approx(lone.sigmoid().log().numpy(), abs=1e-5)
    assert len(explain(one, "the film was good")["leave_one_out"]) == 4


def test_a_lone_output_is_refused_or_named(tmp_path: Path) -> None:
    subject = make("bert", labels=1)
    for kind, folder in ((None, tmp_path / "lone"), ("regression", tmp_path / "regression")):
        subject.network.config.problem_type = kind
        subject.network.save_pretrained(folder)
        subject.tokenizer.save_pretrained(folder)
    with pytest.raises(BadInput, match=r"one output \(num_labels is 1\).*regression.*--labels no,yes"):
        load(f"hf:{tmp_path / 'lone'}")
    assert load(f"hf:{tmp_path / 'lone'}", labels=["no", "yes"]).labels == ("no", "yes")
    for labels in (None, ["no", "yes"]):
        with pytest.raises(BadInput, match=r"predicts a number \(problem_type is regression\)"):
            load(f"hf:{tmp_path / 'regression'}", labels=labels)


def test_both_texts_of_a_pair_are_scored() -> None:
    subject = tiny("bert")
    found = explain(subject, "the film", text_pair="was  not good", by="attention,leave_one_out")
    assert [word for word, _ in found["attention"]] == ["the", "film", "was", "", "not", "good"]
    assert [score is None for _, score in found["attention"]] == [False, False, False, True, False, False]
    (whole,) = in_units(subject, [Example("text", "the film", "was  not good")])
    assert name_units([whole]) == "words of both texts"
    label = predict(subject, [whole])[0, 0].argmax()
    shorter = Example("text", "the film", "was  good")
    lost = [predict(subject, [text])[0, 0, label] for text in (whole, shorter)]
    both = torch.tensor(lost).exp()
    assert found["leave_one_out"][4][1] == pytest.approx(float(both[0] - both[1]), abs=1e-5)
    marked = Example("m", "the film", "was not good", marks={"rationale": (True, False)})
    assert in_units(subject, [marked]) == [marked], "marks are counted over the first text"


def test_pairs_are_audited_over_both_texts() -> None:
    texts = [Example(str(n), "the film was", "not good" if n % 2 else "bad movie", label=n % 2) for n in range(6)]
    rows = [{"text": e.text, "text_pair": e.text_pair, "label": f"LABEL_{e.label}"} for e in texts]
    found = audit(tiny("bert"), pd.DataFrame(rows), checks=["erasure"])
    assert found.examples[0].words == ("the", "film", "was", "bad", "movie")
    assert all(score is not None for score in found.examples[0].scores["attention"])
    assert ("scores are of", "words of both texts", "") in audited(found)
    assert "erasure" in found.results


def test_scripts_without_spaces_are_scored_piece_by_piece() -> None:
    subject = subject_of("wordpiece")
    found = explain(subject, "the film 我爱你good世界", by="attention")["attention"]
    assert [word for word, _ in found] == ["the", "film", "我", "爱", "你", "good", "世", "界"]
    assert all(score is not None for _, score in found)
    (cut,) = in_units(subject, [Example("a", "the film 我爱你", marks={"rationale": (True, False, True)})])
    assert cut.marks == {"rationale": (True, False, True, True, True)}
    assert name_units([cut]) == "words; the tokenizer's pieces in 1 of 1 texts, whose script has no spaces"
    for kind in ("byte-level", "unigram"):
        (thai,) = cut_texts(tokenizer(kind), [Example("a", "ก็ดีครับ")], "words")
        assert len(thai.words) > 1
        assert "".join(thai.words) == "ก็ดีครับ"
        assert not any(unicodedata.category(word[0]).startswith("M") for word in thai.words)


def test_pieces_are_units_if_asked_for() -> None:
    subject = subject_of("wordpiece")
    plain, pieces = (
        explain(subject, "unhappier so", by="attention", units=units)["attention"] for units in ("words", "tokens")
    )
    assert len(plain) == 2
    assert len(pieces) == len(subject.tokenizer("unhappier so", add_special_tokens=False)["input_ids"]) > 2
    assert sum(score for _, score in pieces) == pytest.approx(sum(score for _, score in plain))
    with pytest.raises(UnknownName, match="unknown kind of units 'token'"):
        explain(subject, "so", units="token")
    with pytest.raises(NotSupported, match="units=tokens needs a model with a Hugging Face tokenizer"):
        explain("known:reader@planted_keyword", "so", units="tokens")


def test_a_model_by_name_is_loaded_where_the_device_says(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Loaded(Exception):
        pass

    def note(_: str, *, device: str = "cpu", **__: object) -> None:
        asked.append(device)
        raise Loaded

    monkeypatch.setattr("heatcheck.auditing.planning.load", note)
    monkeypatch.setattr("heatcheck.explainers.load", note)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for options in ({}, {"device": "cpu"}):
        with pytest.raises(Loaded):
            audit("hf:some", (["a"], ["b"]), **options)
        with pytest.raises(Loaded):
            explain("hf:some", "a", **options)
    assert asked == ["cuda", "cuda", "cpu", "cpu"]
