"""A bidirectional GRU."""

from torch import nn

from heatcheck.models.bidirectional import Bidirectional


class BiGRU(Bidirectional):
    """Without a word its text is encoded again: nothing here knows what the gap leaves unchanged."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.ahead = nn.GRU(features, hidden, batch_first=True)
        self.behind = nn.GRU(features, hidden, batch_first=True)
