"""A transformer of two layers, written by hand: the first layer decides, and the second is ignored.

It reads texts of `planted_keyword`. A state has eight features, each as a pair (x, −x), so that layer norms centre
nothing and only scale. In the first layer, head 1 of [CLS] puts nearly all its weight on the word that decides, and
copies that word's polarity into [CLS]; head 2 spreads its weight evenly and copies nothing. In the second layer, both
heads put nearly all weight on the first word of the text, and all values are 0. So:

- layer 1, and its head 1, mark the word that decides, and other weights change the answer;
- head 2 of layer 1 has equal weights, and its values are 0;
- layer 2 marks the first word, whatever it is, and no weights there can change the answer.
"""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from heatcheck.data import load_task

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CLS, DECIDES, POLARITY, PLAIN, ANSWER, MARK, FIRST = range(7)  # features
WIDTH, HEADS = 16, 2
SHARP = 4.0


def words() -> dict[str, int]:
    """The words of the task, each with its polarity; 0 for those that say nothing."""
    found: dict[str, int] = {}
    for split in load_task("planted_keyword").splits.values():
        for example in split:
            for word, marked in zip(example.words, example.marks["rationale"], strict=True):
                found[word] = (1 if example.label else -1) if marked else found.get(word, 0)
    return dict(sorted(found.items()))


def _pair(row: torch.Tensor, feature: int, size: float) -> None:
    row[2 * feature], row[2 * feature + 1] = size, -size


def network() -> BertForSequenceClassification:
    known = words()
    config = BertConfig(
        vocab_size=len(SPECIAL) + len(known),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        intermediate_size=WIDTH,
        max_position_embeddings=128,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
    )
    found = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for name, parameter in found.named_parameters():
            parameter.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        table = found.bert.embeddings.word_embeddings.weight
        for number, token in enumerate(SPECIAL):
            _pair(table[number], CLS if token == "[CLS]" else MARK, 1.0)
        for number, polarity in enumerate(known.values(), len(SPECIAL)):
            for feature, size in ((DECIDES, 1.0), (POLARITY, float(polarity))) if polarity else ((PLAIN, 1.0),):
                _pair(table[number], feature, size)
        _pair(found.bert.embeddings.position_embeddings.weight[1], FIRST, 1.0)
        first, second = found.bert.encoder.layer
        first.attention.self.query.weight[0, 2 * CLS] = 1.0
        first.attention.self.key.weight[0, 2 * DECIDES] = SHARP
        first.attention.self.value.weight[0, 2 * POLARITY] = 1.0
        first.attention.output.dense.weight[2 * ANSWER, 0] = 1.5
        first.attention.output.dense.weight[2 * ANSWER + 1, 0] = -1.5
        for head in range(HEADS):
            row = head * WIDTH // HEADS
            second.attention.self.query.weight[row, 2 * CLS] = 1.5
            second.attention.self.key.weight[row, 2 * FIRST] = SHARP
        found.bert.pooler.dense.weight[0, 2 * ANSWER] = 0.5
        found.classifier.weight[0, 0], found.classifier.weight[1, 0] = -2.0, 2.0
    return found


def tokenizer() -> PreTrainedTokenizerFast:
    ids = {token: number for number, token in enumerate((*SPECIAL, *words()))}
    found = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    found.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    )
    named = {f"{token.strip('[]').lower()}_token": token for token in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=found, model_max_length=128, **named)
