"""What a transformer's heatmap is made of, in sentences for the reader of a report."""

from typing import TYPE_CHECKING

from heatcheck.models.hf.joined import is_merged

if TYPE_CHECKING:
    from heatcheck.models.hf.transformer import Transformer


def describe_rows(subject: "Transformer") -> str:
    """See Transformer.shown_rows."""
    modules = list(subject.network.modules())
    said = []
    if subject.pools:
        said.append("The answer is read from all tokens, so the heatmap is the mean of their rows.")
    if subject.placed.not_stacked:
        said.append("The heatmap is what the decoder's last layer reads of the encoder.")
    if any(hasattr(module, "lambda_init") for module in modules):  # differential attention
        said.append("The model subtracts what half of its heads read; the heatmap is the mean over all heads.")
    if subject.sinks and any(is_merged(module) for module in modules):
        said.append("Part of the weight goes to the decoder's own tokens, so the heatmap sums to less.")
    elif subject.sinks:
        said.append("Part of the weight goes to something that is no token (a sink), so the heatmap sums to less.")
    return " ".join(said)
