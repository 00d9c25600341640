"""Places that every family has under another name: what a block's attention and its MLP add, and what comes after.

```python
model.run(batch, want=[model.place("mlp_out", 3)])  # what the fourth block's MLP adds to each token's state
```
"""

from typing import Literal, TypeAlias

from torch import nn
from transformers.pytorch_utils import Conv1D

from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models.contract.subject import Site
from heatcheck.models.hf.blocks import family_of, within
from heatcheck.models.hf.transformer import Transformer

Place: TypeAlias = Literal["attention_out", "mlp_out", "final_norm", "unembedding"]
IN_A_BLOCK = ("attention_out", "mlp_out")
PLACES = (*IN_A_BLOCK, "final_norm", "unembedding")


def find_place(subject: Transformer, what: str, layer: int | None = None) -> Site:
    """The site of a place; refused for families whose blocks heatcheck does not know.

    `attention_out` and `mlp_out` are what each half adds to the states, its own norm included where it has one
    (Gemma 2), a constant factor (Granite) not.

    Args:
        what: `attention_out` or `mlp_out` of a layer; `final_norm`, or `unembedding`, which makes a language model's
            logits.
        layer: its number, counted from 0, for places in a block.
    """
    if what not in PLACES:
        raise UnknownName("place", what, PLACES)
    if what == "unembedding":
        return _unembedding(subject)
    family = family_of(subject)
    if what == "final_norm":
        return _final_norm(subject)
    if layer is None or not 0 <= layer < len(subject.sites):
        raise BadInput(f"{what} needs the number of a layer, from 0 to {len(subject.sites) - 1}, not {layer!r}.")
    if family.branch is not None:
        path = family.branch if what == "attention_out" else family.norms[-1]
    elif what == "attention_out":
        path = family.projection
    else:
        path = family.gated or _last_linear(subject, layer)
    return _use(subject, layer, within(subject, layer, path))


def _use(subject: Transformer, layer: int, path: str) -> Site:
    """In a model that uses one block several times (ALBERT), the use that belongs to the layer."""
    times = subject.blocks[layer].where.partition("@")[2]
    return Site("state", f"{path}@{times}" if times else path)


def _last_linear(subject: Transformer, layer: int) -> str:
    """The last linear map of a block outside its attention, as a path within the block."""
    start = within(subject, layer, "")
    block = subject.network.get_submodule(start.removesuffix("."))
    attention = subject.sites[layer].where.partition("@")[0].removeprefix(start).partition(".")[0]
    if subject.adapted:
        raise NotSupported(f"{subject.id} has adapters in its blocks: merge them first (merge_and_unload).")
    linear: list[str] = [
        path
        for path, module in block.named_modules()
        if isinstance(module, nn.Linear | Conv1D) and path.partition(".")[0] != attention
    ]
    if not linear:
        raise NotSupported(f"heatcheck did not find the MLP of a block of {subject.id}.")
    return linear[-1]


def _final_norm(subject: Transformer) -> Site:
    known = {path for path, _ in subject.network.named_modules()}
    norms = [path for path, bend in family_of(subject).after.items() if bend == "norm" and path in known]
    if not norms:
        raise NotSupported(f"{subject.id} has no norm after its last block.")
    return Site("state", norms[0])


def _unembedding(subject: Transformer) -> Site:
    head = subject.network.get_output_embeddings()
    if head is None:
        raise NotSupported(f"{subject.id} is a classifier, which has no unembedding. Use a language model.")
    return Site("state", next(path for path, module in subject.network.named_modules() if module is head))
