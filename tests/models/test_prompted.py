"""A language model that is asked to classify: its logits are the model's own, and only words of the text are scored."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, BertConfig

import heatcheck
from heatcheck.data import Corpus, Example, Split
from heatcheck.errors import BadInput
from heatcheck.explainers import explain_one
from heatcheck.explainers.word_removal import mask
from heatcheck.models import Site, load
from heatcheck.models.hf import Prompted
from heatcheck.models.hf.asking import answer_ids, make_frame
from heatcheck.models.hf.pieces import Cutter, Frame
from heatcheck.training import predict
from tiny_language_models import LABELS, PROMPT, network, tokenizer

TEXTS = ("a dull film", "good good good acting and a plot", "so so")
EXAMPLES = [Example(f"e{number}", text, label=number % 2) for number, text in enumerate(TEXTS)]


def prompted(kind="llama", prompt=PROMPT, labels=LABELS, **options):
    return Prompted(network(kind), tokenizer(), name=f"hf:tiny-{kind}", prompt=prompt, labels=labels, **options)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_logits_are_those_of_the_labels_tokens_after_the_prompt(kind):
    subject, plain, own = prompted(kind), network(kind), tokenizer()
    logs = predict(subject, EXAMPLES)[:, 0]
    for example, ours in zip(EXAMPLES, logs, strict=True):
        ids = torch.tensor([own(PROMPT.replace("{text}", example.text))["input_ids"]])
        with torch.no_grad():
            theirs = plain(input_ids=ids).logits[0, -1]
        wanted = (
            theirs[[own.convert_tokens_to_ids("Ġbad"), own.convert_tokens_to_ids("Ġgood")]].double().log_softmax(-1)
        )
        np.testing.assert_allclose(ours, wanted.numpy(), atol=1e-5)
    assert subject.labels == ("negative", "positive")


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_only_words_of_the_text_are_scored(kind):
    subject = prompted(kind)
    batch = subject.encode(EXAMPLES)
    for row, example in enumerate(EXAMPLES):
        of_words = batch.inputs["input_ids"][row][batch.scored[row]]
        assert subject.tokenizer.decode(of_words).strip() == example.text
        assert set(batch.word[row].tolist()) == {-1, *range(len(example.words))}
    found = explain_one(subject, EXAMPLES, "attention")
    assert (found.values.sum(1) < 0.999).all(), "the rest lies on the prompt and BOS"
    loo = explain_one(subject, EXAMPLES[:1], "leave_one_out").values[0]
    assert np.abs(loo).max() > 1e-4


def test_alone_as_in_a_batch_and_a_masked_word_moves_nothing():
    subject = prompted()
    together = predict(subject, [*EXAMPLES, mask(EXAMPLES[1], {2})])
    for row, example in enumerate([*EXAMPLES, mask(EXAMPLES[1], {2})]):
        np.testing.assert_allclose(predict(subject, [example])[0], together[row], atol=2e-6)
    whole, hidden = (subject.encode([one]) for one in (EXAMPLES[1], mask(EXAMPLES[1], {2})))
    assert hidden.masked.sum() == 1
    assert torch.equal(whole.inputs["input_ids"][0, -4:], hidden.inputs["input_ids"][0, -4:])


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("prompt", [PROMPT, "It is: {text}"])
def test_a_masked_word_is_hidden_from_every_token(kind, prompt):
    """Whatever stands in its place, the answer is the same, and the tokens after it stay where they are."""
    subject = prompted(kind, prompt=prompt)
    hidden = mask(Example("a", "a dull film so so good"), {1, 3})
    batch = subject.encode([hidden])
    assert batch.masked.sum() > 2, "all pieces of both words"
    other = dict(batch.inputs)
    other["input_ids"] = torch.where(batch.masked, 7, batch.inputs["input_ids"])
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
        again = subject.run(replace(batch, inputs=other)).logits
    torch.testing.assert_close(run.logits, again, atol=1e-6, rtol=0)
    seen = ~batch.masked[0]
    for site in subject.sites:
        assert run.parts[site][0][:, seen][..., batch.masked[0]].max() == 0
    texts = [hidden, mask(hidden, {0}), mask(hidden, {5}), Example("b", hidden.text)]
    apart = np.concatenate([predict(subject, [text]) for text in texts])
    np.testing.assert_allclose(predict(subject, texts), apart, atol=2e-6)


def test_own_weights_imposed_change_nothing_and_uniform_ones_do():
    subject = prompted()
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        own = subject.run(batch, want=subject.sites)
        again = subject.run(batch, edits={site: own.parts[site] for site in subject.sites})
        even = subject.run(batch, edits={subject.sites[-1]: lambda weights: torch.full_like(weights, 0.01)})
        response = subject.response(batch)
    torch.testing.assert_close(own.logits, again.logits, atol=1e-5, rtol=0)
    assert (own.logits - even.logits).abs().max() > 1e-3
    torch.testing.assert_close(response.logits(response.attention[:, None])[:, 0], own.logits, atol=1e-4, rtol=0)


def test_examples_stand_before_the_text_and_are_read_once(monkeypatch):
    shown = [("dull dull dull", "negative"), ("a good one", "positive")]
    subject = prompted(shown=shown)
    whole = subject.tokenizer.decode(subject.encode(EXAMPLES[:1]).inputs["input_ids"][0])
    expected = "Review: dull dull dull\nIt is bad\n\nReview: a good one\nIt is good\n\nReview: a dull film\nIt is"
    assert whole == f"<s>{expected}"
    apart = np.concatenate([predict(subject, [example]) for example in EXAMPLES])
    read = []
    own = subject.network.model.embed_tokens.forward
    monkeypatch.setattr(subject.network.model.embed_tokens, "forward", lambda ids: read.append(ids.numel()) or own(ids))
    np.testing.assert_allclose(predict(subject, EXAMPLES), apart, atol=2e-6)
    assert sum(read) < 2.2 * len(expected), "three texts, whose examples are read once"


def test_a_chat_template_goes_around_the_prompt():
    own = tokenizer()
    own.chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"
    frame = make_frame(own, PROMPT, LABELS, chat=True)
    assert frame == Frame("[user]Review: ", "\nIt is[assistant]", special=False)
    subject = Prompted(network(), own, name="hf:tiny", prompt=PROMPT, labels=LABELS, chat=True)
    assert subject.tokenizer.decode(subject.encode(EXAMPLES[:1]).inputs["input_ids"][0]).startswith("[user]Review: a d")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prompt": "no place"}, "has 0 places for a text. Write {text} in it once"),
        ({"prompt": "{text} {text}"}, "has 2 places"),
        ({"labels": {"a": " good"}}, "two labels or more"),
        ({"labels": {"a": " good", "b": " good film"}}, "the word of the label 'b' begins with that of 'a'"),
        ({"score": "best"}, "an answer's score is text, mean, pmi, not 'best'"),
        ({"labels": {"a": " good", "b": " good"}}, "the labels 'a' and 'b' have the same token"),
        ({"labels": {"a": "", "b": " good"}}, "the label 'a' has no word"),
        ({"prompt": "{text} It is ", "labels": {"a": "bad", "b": "good"}}, "become one token"),
        ({"shown": [("x", "neutral")]}, "an example of the prompt has the label 'neutral'; known: negative, positive"),
        ({"shown": ["ab"]}, "must be pairs of a text and a label"),
        ({"shown": [("good " * 150, "positive")]}, "the prompt alone has"),
        ({"labels": {0: " bad", 1: " good"}}, "labels of a prompt must be texts"),
        ({"chat": True}, "no chat template"),
    ],
)
def test_what_is_refused(change, said):
    with pytest.raises(BadInput, match=said):
        prompted(**change)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('roles must alternate') }}", "chat template does not work: .*roles must alternate"),
        ("{{ messages[0].content }}{{ messages[0].content }}", "does not write the prompt exactly once"),
    ],
)
def test_chat_templates_that_do_not_work(template, said):
    own = tokenizer()
    own.chat_template = template
    with pytest.raises(BadInput, match=said):
        make_frame(own, PROMPT, LABELS, chat=True)


def test_examples_may_come_from_anywhere():
    shown = [("dull", "negative")]
    assert prompted(shown=iter(shown)).frame == prompted(shown=shown).frame != prompted().frame


def test_a_network_that_sees_what_follows_is_no_language_model():
    shape = BertConfig(
        vocab_size=len(tokenizer()), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    both_ways = AutoModelForCausalLM.from_config(shape).eval()
    with pytest.raises(BadInput, match="sees the words after a token too"):
        Prompted(both_ways, tokenizer(), name="hf:both", prompt=PROMPT, labels=LABELS)


def test_the_prompt_stays_where_a_piece_is_of_both():
    """A quote or a line break that becomes one piece with the end of the text is the prompt's."""
    own = tokenizer()
    subject = Prompted(network(), own, name="hf:tiny", prompt="good{text}good is", labels=LABELS)
    batch = subject.encode([mask(Example("a", " film g"), {1})])  # "g" stands alone here
    kept = batch.inputs["input_ids"][0][~batch.masked[0]]
    assert own.decode(kept).endswith("good is")
    joined = Cutter(own, 64, frame=Frame("so ", "d is"))([Example("a", "dull good goo")])[0][0]
    pieces = [own.decode([token]) for token in joined.inputs["input_ids"]]
    assert " good" in pieces
    assert pieces[-4] == " good", "the text's last word and the prompt's d"
    assert joined.word[-4] == -1


def test_weights_move_within_the_text():
    """The prompt keeps its weights, so a text of one word has no other weights."""
    subject = prompted()
    batch = subject.encode([*EXAMPLES, Example("one", "film")])
    with torch.no_grad():
        response = subject.response(batch)
        own = subject.run(batch).logits
    assert torch.equal(response.allowed, batch.scored)
    torch.testing.assert_close(response.attention.sum(-1), torch.ones_like(response.attention[..., 0]))
    torch.testing.assert_close(response.logits(response.attention[:, None])[:, 0], own, atol=1e-4, rtol=0)
    assert torch.equal(subject.readable(batch), batch.scored)


def test_units_are_pieces_as_the_model_reads_them():
    subject = prompted()
    (cut,) = subject.cut([Example("a", "dull film")], "tokens")
    assert cut.words[0] == "dull", "one piece, with the prompt's space before it"
    assert "".join(cut.words).replace(" ", "") == "dullfilm"
    found = explain_one(subject, [cut], "attention")
    assert found.valid[0, : len(cut.words)].all()


def test_the_tokenizer_decides_what_a_special_token_in_a_text_means():
    subject = prompted()
    ids = subject.encode([Example("a", "a </s> film")]).inputs["input_ids"][0].tolist()
    assert ids.count(subject.tokenizer.eos_token_id) == 1
    own = tokenizer()
    own.split_special_tokens = True
    apart = Prompted(network(), own, name="hf:tiny", prompt=PROMPT, labels=LABELS)
    assert own.eos_token_id not in apart.encode([Example("a", "a </s> film")]).inputs["input_ids"][0].tolist()


def test_a_tokenizer_that_closes_each_text_and_texts_that_are_too_long():
    with pytest.raises(BadInput, match="ends each text with a token of its own"):
        answer_ids(tokenizer(ends=True), Frame("", " is"), LABELS)
    with pytest.raises(BadInput, match=r"example long: with the prompt around it the text has \d+ tokens"):
        prompted().encode([Example("long", "film " * 60)])
    with pytest.raises(BadInput, match="example two has a second text"):
        prompted().encode([Example("two", "a", text_pair="b")])


def test_loaded_by_name_and_audited(tmp_path):
    folder = tmp_path / "lm"
    network().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    with pytest.raises(BadInput, match="a prompt needs a word for each label"):
        load(f"hf:{folder}", prompt=PROMPT)
    with pytest.raises(BadInput, match="belong to a prompt"):
        load(f"hf:{folder}", labels=LABELS)
    subject = load(f"hf:{folder}", prompt=PROMPT, labels=LABELS)
    corpus = Corpus("made up", ("negative", "positive"), {"test": Split("test", tuple(EXAMPLES))})
    found = heatcheck.audit(
        subject,
        corpus,
        checks="agreement,erasure,counterfactual,permutation",
        settings={"agreement.explainers": "attention,leave_one_out", "erasure.draws": 20, "agreement.draws": 20},
    )
    assert set(found.results) == {"agreement", "erasure", "counterfactual", "permutation"}
    for one in found.examples:
        own, shuffled, other = (sum(one.scores[name]) for name in ("attention", "shuffled", "counterfactual"))
        assert shuffled == pytest.approx(own, abs=1e-6)
        assert other == pytest.approx(own, abs=1e-4)
        assert own < 0.99
    assert not found.not_run


def test_one_network_with_several_prompts():
    own, alone = network(), {prompt: prompted(prompt=prompt) for prompt in (PROMPT, "{text} is")}
    several = {
        prompt: Prompted(own, tokenizer(), name="hf:tiny", prompt=prompt, labels=LABELS)
        for prompt in (PROMPT, "{text} is")
    }
    for prompt, subject in [*several.items(), *several.items()]:
        np.testing.assert_allclose(predict(subject, EXAMPLES), predict(alone[prompt], EXAMPLES), atol=2e-6)
        batch = subject.encode(EXAMPLES)
        sites = [*subject.sites, *subject.blocks, Site("embedding")]
        with torch.no_grad():
            theirs, ours = (one.run(batch, want=sites).parts for one in (alone[prompt], subject))
            given = {subject.blocks[0]: ours[subject.blocks[0]]}
            again = subject.run(batch, edits=given, want=sites[-1:]).logits
        for site in sites:
            torch.testing.assert_close(ours[site], theirs[site], atol=1e-5, rtol=0)
        torch.testing.assert_close(again, subject.run(batch).logits, atol=1e-5, rtol=0)
