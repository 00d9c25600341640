"""`heatcheck.wrap` of a Hugging Face model that is in memory already, with adapters and without."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

import heatcheck as hc
import tiny_language_models
from any_family import make as network
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import explain_one
from heatcheck.models.hf import Prompted, Transformer, load_transformer
from tiny_transformers import EXAMPLES, tokenizer


@pytest.mark.parametrize("family", ["bert", "deberta-v2", "gpt2"])
def test_it_is_what_loading_its_folder_gives(family: str, tmp_path: Any) -> None:
    made = network(family)
    made.save_pretrained(tmp_path)
    tokenizer(marks=True).save_pretrained(tmp_path)
    loaded = load_transformer(str(tmp_path))
    subject = hc.wrap(made, tokenizer(marks=True), name="mine", labels=["bad", "good"])
    assert isinstance(subject, Transformer)
    assert (subject.id, subject.labels, subject.sites) == ("mine", ("bad", "good"), loaded.sites)
    with torch.no_grad():
        one, other = (it.run(it.encode(EXAMPLES), want=it.sites) for it in (subject, loaded))
    assert torch.allclose(one.logits, other.logits, atol=1e-6)
    assert torch.allclose(one.parts[subject.sites[-1]], other.parts[loaded.sites[-1]], atol=1e-6)
    assert hc.explain(subject, "a good film").prediction is not None


def test_a_language_model_is_asked_in_words() -> None:
    words = tiny_language_models.tokenizer()
    prompt, labels = tiny_language_models.PROMPT, tiny_language_models.LABELS
    subject = hc.wrap(tiny_language_models.network(), words, prompt=prompt, labels=labels)
    assert isinstance(subject, Prompted)
    assert subject.labels == tuple(labels)


def test_with_an_option_of_a_torch_module_it_is_one() -> None:
    subject = hc.wrap(network("roformer"), tokenizer(marks=True), mask="attention_mask")
    assert not isinstance(subject, Transformer)
    assert explain_one(subject, EXAMPLES, "gradient").values.any(1).all()


def test_wrap_refuses_weights_that_the_answer_does_not_depend_on() -> None:
    """CANINE computes more characters than the answer is read from."""
    with pytest.raises(NotSupported, match="does not use its last attention"):
        hc.wrap(network("canine"), tokenizer(marks=True))
    with pytest.raises(NotSupported, match="does not depend on the weights at"):
        hc.wrap(network("canine"), tokenizer(marks=True), padding=0)


def test_a_classifier_on_an_encoder_of_t5_or_bart() -> None:
    """What transformers has no class for: a user's module around an encoder."""

    class OnEncoder(nn.Module):
        def __init__(self, whole: Any) -> None:
            super().__init__()
            self.encoder, self.head = whole.get_encoder(), nn.Linear(16, 2)

        def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
            states = self.encoder(input_ids=ids, attention_mask=attention_mask).last_hidden_state
            return self.head(states[:, 0])

    for family in ("t5", "bart"):
        subject = hc.wrap(OnEncoder(network(family)), tokenizer(marks=True), mask="attention_mask")
        assert len(subject.sites) == 2
        assert explain_one(subject, EXAMPLES, "attention").values.any(1).all()


@pytest.mark.parametrize(
    ("make", "named", "reason"),
    [
        (
            lambda: network("bert"),
            {"prompt": "{text} is", "labels": ["a", "b"]},
            "needs a word for each label",
        ),
        (lambda: network("bert"), {"labels": {"a": " a", "b": " b"}}, "words for labels belong to a prompt"),
        (lambda: network("bert").bert, {}, "BertModel is no sequence classifier"),
        (lambda: network("llama", causal=True), {}, "give a prompt and a word for each label"),
        (lambda: network("bert"), {"labels": ["a", "b", "c"]}, "give exactly that many different names"),
        (lambda: network("bert"), {"prompt": "{text}", "mask": "attention_mask"}, "a prompt needs a Hugging Face"),
    ],
)
def test_what_is_wrong_is_said(make: Any, named: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        hc.wrap(make(), tokenizer(marks=True), **named)


class Adapter(nn.Module):
    """W x + B A x, as LoRA does; beside the layer, not in it."""

    def __init__(self, base_layer: nn.Linear, rank: int = 2) -> None:
        super().__init__()
        self.base_layer = base_layer
        self.down = nn.Linear(base_layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base_layer.out_features, bias=False)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.base_layer(states) + self.up(self.down(states))

    def merged(self) -> nn.Linear:
        whole = copy.deepcopy(self.base_layer)
        whole.weight.data += self.up.weight.data @ self.down.weight.data
        return whole


def _adapted(family: str, names: tuple[str, ...]) -> tuple[Any, Any]:
    """The same network with adapters beside some layers, and with these merged."""
    beside, within = network(family), network(family)
    torch.manual_seed(0)
    for path, part in list(beside.named_modules()):
        if path.rpartition(".")[2] in names and isinstance(part, nn.Linear):
            of, _, name = path.rpartition(".")
            adapter = Adapter(part)
            setattr(beside.get_submodule(of), name, adapter)
            setattr(within.get_submodule(of), name, adapter.merged())
    return beside.eval(), within.eval()


@pytest.mark.parametrize(
    ("family", "names"), [("bert", ("query", "value")), ("deberta-v2", ("query_proj", "value_proj"))]
)
def test_adapters_beside_the_layers_or_merged_are_one_model(family: str, names: tuple[str, ...]) -> None:
    beside, within = (hc.wrap(made, tokenizer(marks=True)) for made in _adapted(family, names))
    batch = beside.encode(EXAMPLES)
    with torch.no_grad():
        plain = hc.wrap(network(family), tokenizer(marks=True))
        one, other, bare = (it.run(batch, want=it.sites[-1:]) for it in (beside, within, plain))
    assert torch.allclose(one.logits, other.logits, atol=1e-5)
    assert torch.allclose(one.parts[beside.sites[-1]], other.parts[within.sites[-1]], atol=1e-5)
    assert not torch.allclose(one.logits, bare.logits, atol=1e-3)


def test_explainers_that_read_weights_ask_for_merged_adapters() -> None:
    beside, within = (hc.wrap(made, tokenizer(marks=True)) for made in _adapted("bert", ("value",)))
    with pytest.raises(NotSupported, match="merge its adapters first"):
        explain_one(beside, EXAMPLES, "norms")
    assert explain_one(within, EXAMPLES, "norms").values.any(1).all()


def test_a_class_with_a_forward_pass_of_its_own_keeps_it() -> None:
    """Large linear layers are computed by oneDNN, but not those that compute something else."""

    class Doubled(nn.Linear):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(states)

    made = network("bert", intermediate_size=2048, hidden_size=16)
    plain = made.bert.encoder.layer[0].intermediate.dense
    doubled = Doubled(*plain.weight.T.shape)
    doubled.load_state_dict(plain.state_dict())
    made.bert.encoder.layer[0].intermediate.dense = doubled
    expected = made(input_ids=torch.tensor([[2, 5, 6, 3]])).logits
    subject = hc.wrap(made, tokenizer(marks=True))
    batch = subject.encode([hc.Example("a", "good bad")])
    assert batch.inputs["input_ids"].tolist() == [[2, 5, 6, 3]]
    assert torch.allclose(subject.run(batch).logits[:, 0], expected, atol=1e-5)


def test_adapters_of_peft() -> None:
    peft = pytest.importorskip("peft")
    made = network("bert")
    lora = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query", "value"], init_lora_weights=False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        adapted = peft.get_peft_model(made, lora).eval()
    ids = tokenizer(marks=True)([example.text for example in EXAMPLES], padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = adapted(input_ids=ids["input_ids"], attention_mask=ids["attention_mask"]).logits
        beside = hc.wrap(adapted, tokenizer(marks=True))
        assert isinstance(beside, Transformer)
        assert torch.allclose(beside.run(beside.encode(EXAMPLES)).logits[:, 0], expected, atol=1e-5)
        with pytest.raises(NotSupported, match="merge its adapters first"):
            explain_one(beside, EXAMPLES, "norms")
        merged = hc.wrap(copy.deepcopy(adapted).merge_and_unload(), tokenizer(marks=True))
        assert torch.allclose(merged.run(merged.encode(EXAMPLES)).logits[:, 0], expected, atol=1e-5)
    assert explain_one(merged, EXAMPLES, "norms").values.any(1).all()


def test_learnt_vectors_before_a_text_are_refused() -> None:
    peft = pytest.importorskip("peft")
    tuned = peft.get_peft_model(network("bert"), peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=2))
    with pytest.raises(NotSupported, match=r"learnt vectors before each text"):
        hc.wrap(tuned, tokenizer(marks=True))
