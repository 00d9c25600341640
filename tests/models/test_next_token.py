"""A language model on plain texts: its decisions are the next tokens, and its loss is the family's own."""

import json

import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.heads.looking import look
from heatcheck.models.contract.direct_answers import answer_edited
from heatcheck.models.contract.edits import uniform
from heatcheck.models.hf.next_token import LABELS, UNDECIDED, NextToken, is_language_model, load_next_token
from heatcheck.training import predict
from tiny_language_models import network, tokenizer

TEXTS = (Example("a", " good bad dull good", label=1), Example("b", " bad good"))


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_the_loss_is_the_family_s_own(kind):
    subject = NextToken(network(kind), tokenizer(), name="tiny")
    batch = subject.encode(TEXTS)
    assert batch.gold.tolist() == [[1, 1, 1, 1], [1, 1, UNDECIDED, UNDECIDED]]
    run = subject.run(batch)
    assert run.logits.shape == (2, 4, 2)
    assert run.row.tolist() == [[0, 1, 2, 3]] * 2
    assert subject.labels == LABELS
    logs = run.logits.log_softmax(-1)
    ids = batch.inputs["input_ids"]
    whole = subject.network(**batch.inputs).logits.log_softmax(-1)[:, :-1].gather(-1, ids[:, 1:, None])[..., 0]
    torch.testing.assert_close(logs[..., 1][batch.gold == 1], whole[batch.gold == 1], atol=1e-4, rtol=1e-4)
    alone = torch.cat([subject.run(subject.encode([one])).logits[0] for one in TEXTS])
    torch.testing.assert_close(alone, run.logits[batch.gold == 1], atol=1e-4, rtol=1e-4)
    assert predict(subject, TEXTS[:1]).shape == (1, 4, 2)
    assert look(subject, TEXTS).causal
    edits = {subject.sites[0]: uniform}
    torch.testing.assert_close(answer_edited(subject, batch, edits), subject.run(batch, edits=edits).logits)
    assert not torch.allclose(answer_edited(subject, batch, edits), run.logits)


def test_a_folder_says_what_it_holds(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"]}))
    assert is_language_model(f"hf:{tmp_path}")
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"]}))
    assert not is_language_model(str(tmp_path))
    assert not is_language_model(str(tmp_path / "nothing"))
    with pytest.raises(BadInput, match="cannot be read as a language model"):
        load_next_token(f"hf:{tmp_path}")
