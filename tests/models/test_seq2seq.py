"""The encoder and decoder: against a plain implementation, step by step and at once, told and by itself."""

import pytest
import torch
from torch import nn

from heatcheck.data import Example, build_vocabulary, texts_of
from heatcheck.data.vocabulary import END, PAD, START
from heatcheck.errors import BadInput, BrokenFolder, UnknownName
from heatcheck.models import Seq2Seq, Seq2SeqSettings, Site, generated_words, load_folder, readable_keys, save
from heatcheck.models.seq2seq.model import aligned_tokens
from heatcheck.models.seq2seq.steps import SteppedTap
from subjects import PAIRS, WRITERS, writes

ATTENTION = Site("attention")
each_writer = pytest.mark.parametrize("name", WRITERS)


def close(one, other):
    return torch.allclose(one, other, atol=1e-5, rtol=1e-5)


def test_the_copy_model_is_the_one_written_down():
    """Snell et al. §2.4 with plain layers: (W d)·h over T + 1 places, c = P Σ α h, logits U tanh(Q [d; c])."""
    subject = writes(
        PAIRS[:1], cell="lstm", decoder="luong", attention="dot", bidirectional=False, shared_embedding=True,
        start_mark=False,
    )  # fmt: skip
    batch = subject.encode(PAIRS[:1])
    read, said = subject.embed(batch.inputs["tokens"]), subject.embed(batch.inputs["said"])
    h, state = subject.reader(read)
    d, _ = subject.writer.recurrent(said, state)
    weights = ((d @ subject.attention.of_query.weight.T) @ h.transpose(1, 2)).softmax(-1)
    c = subject.writer.of_context(weights @ h)
    logits = subject.output(subject.writer.merge(torch.cat([d, c], -1)).tanh())
    run = subject.run(batch, want=[ATTENTION])
    assert h.shape[1] == len(PAIRS[0].words) + 1
    assert close(run.logits, logits)
    assert close(run.parts[ATTENTION][:, 0], weights)


def test_the_other_model_is_the_one_written_down():
    """Pruthi et al. §3.2 step by step: a tanh bridge, v·tanh(W [s; h]), the context read by the GRU, [s; c; e]."""
    subject = writes(PAIRS[:1])
    batch = subject.encode(PAIRS[:1])
    h, last = subject.reader(subject.embed(batch.inputs["tokens"]))
    s = subject.bridge[0](torch.cat([last[0], last[1]], -1)).tanh()
    attention, logits = subject.attention, []
    for word in batch.inputs["said"][0]:
        e = subject.embed_target(word[None])
        inner = (attention.of_query(s)[:, None] + attention.of_state(h)).tanh()
        c = ((inner @ attention.score[0]).softmax(-1)[:, None] @ h)[:, 0]
        s = subject.writer.recurrent(torch.cat([e, c], -1)[:, None], s[None])[1][0]
        logits.append(subject.output(torch.cat([s, c, e], -1)))
    assert close(subject.run(batch).logits[0], torch.cat(logits))


@each_writer
def test_all_steps_at_once_are_one_after_the_other(name):
    subject, examples = WRITERS[name]
    batch = subject.encode(examples)
    steps = batch.gold.shape[1]
    stepped = subject._step_by_step(batch, SteppedTap({}, [ATTENTION], steps), [True] * steps)
    run = subject.run(batch, want=[ATTENTION])
    assert close(stepped.logits, run.logits)
    assert close(stepped.parts[ATTENTION], run.parts[ATTENTION])


@each_writer
def test_free_running_reads_its_own_words(name):
    """What it wrote, told as if it were right, gives the same; and the right words give something else."""
    subject, examples = WRITERS[name]
    batch = subject.encode(examples)
    free = subject.generate(batch)
    own = torch.cat([batch.inputs["said"][:, :1], free.logits.argmax(-1)[:, :-1]], dim=1)
    told = subject.run(type(batch)(**{**vars(batch), "inputs": {**batch.inputs, "said": own}}))
    assert close(free.logits, told.logits)
    assert not close(free.logits, subject.run(batch).logits)


@each_writer
def test_relevance_is_what_one_hot_weights_at_one_step_give(name):
    subject, examples = WRITERS[name]
    batch = subject.encode(examples)
    relevance, own = subject.step_relevance(batch), subject.run(batch, want=[ATTENTION]).parts[ATTENTION]
    decided = batch.gold != -100
    assert (relevance[~decided] == 0).all()
    for step in (0, 1, 3):
        for token in (0, 2):
            weights = own.clone()
            weights[:, :, step] = nn.functional.one_hot(torch.tensor(token), own.shape[-1]).float()
            logs = subject.run(batch, edits={ATTENTION: weights}).logits[:, step].log_softmax(-1)
            asked = decided[:, step] & batch.valid[:, token]
            right = logs.gather(1, batch.gold[:, step].clamp(min=0)[:, None])[:, 0]
            assert asked.any()
            assert close(relevance[asked, step, token], right[asked])
    assert relevance[decided].std() > 1e-3, "the test would say nothing if all were alike"


def test_what_a_batch_holds():
    example = Example("a", "not bad", "bad not so", alignment=((1, 0), (0, 2)))
    subject = writes(PAIRS)
    batch = subject.encode([example, Example("b", "good", "film")])
    number = {token: place for place, token in enumerate(subject.vocabulary.tokens)}
    assert batch.inputs["tokens"].tolist() == [
        [START, number["not"], number["bad"], END],
        [START, number["good"], END, PAD],
    ]
    assert batch.inputs["said"][1].tolist() == [START, number["film"], PAD, PAD]
    assert batch.gold.tolist() == [
        [number["bad"], number["not"], number["so"], END],
        [number["film"], END, -100, -100],
    ]
    assert batch.scored.tolist() == [[False, True, True, False], [False, True, False, False]]
    assert readable_keys(subject, batch).tolist() == [[True] * 4, [True, True, True, False]], "marks are attended to"
    aligned = torch.zeros(2, 4, 4, dtype=torch.bool)
    aligned[0, 0, 2] = aligned[0, 2, 1] = True
    assert torch.equal(batch.aligned, aligned)
    assert subject.encode(PAIRS).aligned is None
    assert generated_words(subject, [number["film"], END, number["so"]]) == ["film"]


def test_links_are_between_words_however_many_tokens_these_have():
    example = Example("a", "isn't bad", "ist schlecht", alignment=((0, 0),))
    word, written = torch.tensor([[0, 0, 1, -1]]), torch.tensor([[0, 1, -1]])
    found = aligned_tokens([example], word, written)
    assert found[0].tolist() == [[True, True, False, False], [False] * 4, [False] * 4]
    with pytest.raises(BadInput, match="beyond its words"):
        aligned_tokens([Example("a", "x", "y", alignment=((2, 0),))], word, written)


def test_a_share_of_steps_is_told_in_training_only():
    subject = writes(PAIRS, teacher_forcing=0.5)
    batch = subject.encode(PAIRS)
    told, free = subject.run(batch).logits, subject.generate(batch).logits
    assert torch.equal(told, subject.run(batch).logits), "in evaluation all are"
    subject.train()
    torch.manual_seed(0)
    some = subject.run(batch).logits
    assert torch.equal(some[:, 0], told[:, 0])
    assert not close(some, told)
    assert not close(some, free)
    untold = writes(PAIRS, teacher_forcing=0.0).train()
    assert close(untold.run(batch).logits, free)


def test_weights_put_in_for_a_decoder_that_goes_by_steps_have_all_its_steps():
    subject, examples = WRITERS["bahdanau"]
    batch = subject.encode(examples)
    with pytest.raises(BadInput, match="the edit at attention has shape"):
        subject.run(batch, edits={ATTENTION: torch.ones(len(batch), 1, 1, batch.valid.shape[1])})
    with pytest.raises(BadInput, match="a step of the site has"):
        subject.run(batch, edits={ATTENTION: lambda own: own[..., :1]})


@each_writer
def test_a_folder_gives_it_back(name, tmp_path):
    subject, examples = WRITERS[name]
    save(subject, tmp_path)
    again = load_folder(tmp_path)
    assert again.settings == subject.settings
    assert torch.equal(again.run(again.encode(examples)).logits, subject.run(subject.encode(examples)).logits)


def test_a_folder_without_its_second_vocabulary_is_broken(tmp_path):
    save(WRITERS["luong"][0], tmp_path)
    (tmp_path / "target_vocabulary.json").write_text("[]")
    with pytest.raises(BrokenFolder):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"heads": 0}, "heads must lie"),
        ({"teacher_forcing": 1.5}, "teacher_forcing"),
        ({"dropout": 1.0}, "dropout"),
        ({"weight_scale": -1.0}, "weight_scale"),
    ],
)
def test_impossible_settings_are_refused(changes, said):
    with pytest.raises(BadInput, match=said):
        Seq2SeqSettings(**changes)


def test_other_mistakes_are_refused():
    with pytest.raises(UnknownName, match="bahdanau, luong"):
        Seq2SeqSettings(decoder="other")
    with pytest.raises(BadInput, match="no second text"):
        writes(PAIRS).encode([Example("a", "bad")])
    with pytest.raises(BadInput, match="has no token"):
        writes(PAIRS).encode([Example("a", "", "bad")])
    one, other = (build_vocabulary(texts_of(PAIRS[:n])) for n in (1, 2))
    with pytest.raises(BadInput, match="one vocabulary"):
        Seq2Seq(one, other, Seq2SeqSettings(shared_embedding=True))


def test_normal_starting_weights():
    subject = writes(PAIRS, weight_scale=0.01)
    assert abs(float(subject.reader.weight_hh_l0.detach().std()) - 0.01) < 0.002
    assert all((p == 0).all() for name, p in subject.named_parameters() if "bias" in name)
    assert (subject.embed.weight[PAD] == 0).all()
