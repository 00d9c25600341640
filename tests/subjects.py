"""Every kind of subject the contract must carry, small and untrained, each with examples it can read."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor, nn

from heatcheck.data import Batch, Example, build_vocabulary, texts_of
from heatcheck.data.planted import planted
from heatcheck.data.vocabulary import END, PAD, START
from heatcheck.models import (
    KNOWN_ANSWERS,
    NO_EDITS,
    Classifier,
    ClassifierSettings,
    Edits,
    Run,
    Site,
    Tap,
    make_classifier,
    masked_softmax,
)
from heatcheck.models import Seq2Seq as Writes
from heatcheck.models import Seq2SeqSettings as WritesSettings

TEXTS = ("not so bad", "a film", "dull", "the plot is a bit thin but the acting is very good indeed", "good good bad")
STORIES = (
    "Not so bad. A film !",
    "dull",
    "The plot is thin ? But the acting is very good indeed ! Good. Not so bad, isn't it ?",
    "good good bad .",
    "Bad. Good. Bad. The plot, the plot, the plot.",
)
SINGLE = tuple(Example(f"e{n}", text, label=n % 2) for n, text in enumerate(TEXTS))
THREE = tuple(Example(f"e{n}", text, label=n % 3) for n, text in enumerate(TEXTS))
PAIRS = tuple(Example(f"e{n}", text, TEXTS[-n], label=n % 3) for n, text in enumerate(TEXTS))
CHOICES = tuple(
    Example(f"e{n}", text, TEXTS[-n], label=n % 3, options=((0, 1, 2), (1,), None, (0, 3), (1, 3))[n])
    for n, text in enumerate(TEXTS)
)
SETS = tuple(Example(f"e{n}", text, label=((), (0,), (1, 2))[n % 3]) for n, text in enumerate(TEXTS))
SEVERAL = tuple(Example(f"e{n}", text, label=n % 2) for n, text in enumerate(STORIES))
SEVERAL_THREE = tuple(
    Example(f"e{n}", text, label=n % 3, options=((0, 2), None)[n % 2]) for n, text in enumerate(STORIES)
)


def classifier(examples: Sequence[Example], labels: Sequence[str] = ("no", "yes"), **settings: object) -> Classifier:
    vocabulary = build_vocabulary(texts_of(examples))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        shape = ClassifierSettings(embedding=8, embedding_scale=1.0, hidden=8, **settings)
        return make_classifier(vocabulary, labels, shape).eval()


class Seq2Seq(nn.Module):
    """The smallest encoder-decoder with attention (Luong's, teacher forcing): a decision a target step."""

    id = "seq2seq"
    sites = (Site("attention"),)
    recipe = None

    def __init__(self, examples: Sequence[Example]) -> None:
        super().__init__()
        self.vocabulary = build_vocabulary(texts_of(examples))
        size = len(self.vocabulary)
        self.embed = nn.Embedding(size, 8, padding_idx=PAD)
        self.read = nn.GRU(8, 8, batch_first=True)
        self.write = nn.GRU(8, 8, batch_first=True)
        self.output = nn.Linear(16, size)

    def encode(self, examples: Sequence[Example]) -> Batch:
        found = [self.vocabulary.look_up(e.text) for e in examples]
        targets = [self.vocabulary.look_up(e.text_pair or "")[0] for e in examples]
        longest, steps = max(len(n) for n, _ in found), max(map(len, targets)) + 1
        tokens = torch.tensor([n + [PAD] * (longest - len(n)) for n, _ in found])
        word = torch.tensor([w + [-1] * (longest - len(w)) for _, w in found])
        said = torch.tensor([[START, *t] + [PAD] * (steps - 1 - len(t)) for t in targets])
        gold = torch.tensor([[*t, END] + [-100] * (steps - 1 - len(t)) for t in targets])
        inputs = {"tokens": tokens, "said": said}
        return Batch(tuple(e.id for e in examples), inputs, tokens != PAD, tokens != PAD, word, gold, {})

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Collection[Site] = ()) -> Run:
        tap = Tap(edits, want)
        embedded = tap(Site("embedding"), self.embed(batch.inputs["tokens"]))
        states = tap(Site("state"), self.read(embedded)[0] * batch.valid[..., None])
        steps, _ = self.write(self.embed(batch.inputs["said"]))
        scores = tap(Site("score"), torch.einsum("eqf,ekf->eqk", steps, states)[:, None])
        weights = tap(Site("attention"), masked_softmax(scores, batch.scored))
        context = tap(Site("context"), torch.einsum("ehqk,ekf->eqf", weights, states))
        logits: Tensor = self.output(torch.cat([context, steps], dim=-1))
        return tap.run(logits, torch.arange(logits.shape[1]).expand(logits.shape[:2]))


def seq2seq(examples: Sequence[Example]) -> Seq2Seq:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Seq2Seq(examples).eval()


SUBJECTS = {
    "lstm": (classifier(SINGLE), SINGLE),
    "lstm dot": (classifier(SINGLE, attention="dot"), SINGLE),
    "cnn": (classifier(SINGLE, encoder="cnn"), SINGLE),
    "conv": (classifier(SINGLE, encoder="conv"), SINGLE),
    "gru": (classifier(SINGLE, encoder="gru"), SINGLE),
    "average": (classifier(SINGLE, encoder="average"), SINGLE),
    "lstm ahead": (classifier(SINGLE, encoder="lstm_ahead"), SINGLE),
    "orthogonal lstm": (classifier(SINGLE, encoder="orthogonal_lstm"), SINGLE),
    "orthogonal ahead": (classifier(SINGLE, encoder="orthogonal_lstm_ahead"), SINGLE),
    "lstm sparsemax": (classifier(SINGLE, normaliser="sparsemax"), SINGLE),
    "cnn entmax": (classifier(SINGLE, encoder="cnn", normaliser="entmax"), SINGLE),
    "label-wise top k": (classifier(SETS, ("a", "b", "c"), label_wise=True, normaliser="top_k", top_share=0.5), SETS),
    "pair entmax": (classifier(PAIRS, ("a", "b", "c"), segments=2, decoder="merge", normaliser="entmax"), PAIRS),
    "none linear": (classifier(SINGLE, encoder="none", attention="linear"), SINGLE),
    "lstm linear": (classifier(SINGLE, attention="linear"), SINGLE),
    "average three labels": (classifier(THREE, ("a", "b", "c"), encoder="average"), THREE),
    "pair merge": (classifier(PAIRS, ("a", "b", "c"), segments=2, decoder="merge"), PAIRS),
    "pair dot": (classifier(PAIRS, ("a", "b", "c"), segments=2, attention="dot", encoder="cnn"), PAIRS),
    "pair average": (classifier(PAIRS, ("a", "b", "c"), segments=2, encoder="average", decoder="merge"), PAIRS),
    "label-wise": (classifier(SETS, ("a", "b", "c"), label_wise=True), SETS),
    "label-wise dot": (classifier(SETS, ("a", "b", "c"), label_wise=True, attention="dot"), SETS),
    "options": (classifier(CHOICES, "abcd", segments=2), CHOICES),
    "options merge": (classifier(CHOICES, "abcd", segments=2, decoder="merge", encoder="cnn"), CHOICES),
    "seq2seq": (seq2seq(PAIRS), PAIRS),
}
# Their read-out attends to sentences.
HIERARCHICAL = {
    "han gru": (classifier(SEVERAL, encoder="gru", hierarchical=True), SEVERAL),
    "han conv": (classifier(SEVERAL, encoder="conv", attention="dot", hierarchical=True), SEVERAL),
    "han none": (classifier(SEVERAL, encoder="none", hierarchical=True), SEVERAL),
    "han lstm linear": (classifier(SEVERAL, attention="linear", hierarchical=True), SEVERAL),
    "han options": (classifier(SEVERAL_THREE, "abc", encoder="average", hierarchical=True), SEVERAL_THREE),
}


def writes(examples: Sequence[Example], **settings: object) -> Writes:
    vocabulary = build_vocabulary(texts_of(examples))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Writes(vocabulary, vocabulary, WritesSettings(embedding=8, hidden=8, **settings)).eval()


# They write the second text, a decision a step, and attend to marks too.
WRITERS = {
    "luong": (writes(PAIRS, decoder="luong", cell="lstm", attention="dot", bidirectional=False, heads=2), PAIRS),
    "bahdanau": (writes(PAIRS, shared_embedding=True), PAIRS),
    "bahdanau lstm": (writes(PAIRS, cell="lstm", heads=2, start_mark=False), PAIRS),
}
for name, kind in KNOWN_ANSWERS.items():
    for task in kind.tasks:
        examples = planted(task, sizes=(1, 1, 20))["test"].examples  # the first of the task, without all others
        subject = kind(task, share=0.3) if name == "dial" else kind(task)
        SUBJECTS[subject.id] = (subject, examples)
