"""A bidirectional GRU encoder."""

from torch import nn

from heatcheck.models.classifiers.bidirectional import Bidirectional


class BiGRU(Bidirectional):
    """A bidirectional GRU. Without a word, the whole text is encoded again."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.ahead = nn.GRU(features, hidden, batch_first=True)
        self.behind = nn.GRU(features, hidden, batch_first=True)
