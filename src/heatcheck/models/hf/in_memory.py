"""A Hugging Face model that is in memory already, with its tokenizer, as a model of heatcheck."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import nn

from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.hf.load import check_choice, name_outputs, quiet
from heatcheck.models.hf.prompted import Prompted
from heatcheck.models.hf.transformer import Transformer


def is_of_hugging_face(module: nn.Module) -> bool:
    """Whether transformers made this classifier or language model, with or without adapters of PEFT."""
    from transformers import PreTrainedModel

    return isinstance(without_adapters(module), PreTrainedModel)


def of_memory(
    module: nn.Module,
    tokenizer: Any,
    *,
    name: str | None,
    labels: Sequence[str] | Mapping[Any, Any] | None,
    prompt: str | None,
    shown: Iterable[Any],
    chat: bool,
) -> Transformer:
    """The model as if it had been loaded by name; the arguments are those of `heatcheck.wrap` and `heatcheck.load`."""
    network: Any = without_adapters(module)
    name = name or type(network).__name__
    _require_no_prompt_learning(module, name)
    with quiet():
        if prompt is not None:
            if not isinstance(labels, Mapping):
                raise BadInput("a prompt needs a word for each label, such as labels={'bad': ' no', 'good': ' yes'}.")
            if network.get_output_embeddings() is None:
                raise BadInput(f"{name} is no language model, so it cannot be given a prompt. Leave it out.")
            return Prompted(
                network, tokenizer, name=name, prompt=prompt, labels=labels, shown=list(shown), chat=chat
            ).eval()
        if isinstance(labels, Mapping):
            raise BadInput("words for labels belong to a prompt. Give a prompt too.")
        if "SequenceClassification" not in type(network).__name__:
            raise BadInput(
                f"{name} is no sequence classifier. If it is a language model, give a prompt and a word for each "
                "label; otherwise name its attention with attention=."
            )
        check_choice(name, network.config, labels)
        found = Transformer(network, tokenizer, name=name)
    if labels is not None:
        name_outputs(found, labels)
    return found.eval()


def without_adapters(module: nn.Module) -> nn.Module:
    """The network that PEFT put adapters into: they are parts of it, so its answers are with them."""
    base = getattr(module, "get_base_model", None)
    return base() if callable(base) and hasattr(module, "peft_config") else module


def _require_no_prompt_learning(module: nn.Module, name: str) -> None:
    """Refuse adapters that are not in the network but before the text, as prefixes are."""
    if any(getattr(one, "is_prompt_learning", False) for one in _configs(module)):
        raise NotSupported(
            f"{name} reads learnt vectors before each text (prompt or prefix tuning), which are no tokens of it. Use "
            "adapters inside the network, such as LoRA."
        )


def _configs(module: nn.Module) -> Iterable[Any]:
    found = getattr(module, "peft_config", None)
    return found.values() if isinstance(found, Mapping) else ()
