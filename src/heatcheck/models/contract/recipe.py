"""The record of how a model was trained: plain data, enough to train it again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from heatcheck.engine import Facts, content_id


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a trained model; its content id names the folder of the trained model.

    The id never depends on the version of this package or its code. `version` is raised by hand when the results of the
    training loop change; otherwise every commit would retrain everything.
    """

    task: str  # name@fingerprint
    model: Facts
    training: Facts
    seed: int
    loss: Facts
    impose: Facts | None = None  # {"weights": "uniform"}: weights put in place of the model's own
    version: int = 1
    observe: Facts | None = None  # what is written down on the way (training/observing.py); changes no weight
    extract: Facts | None = None  # the words that the model reads, and nothing else (contract/extraction.py)

    def __post_init__(self) -> None:
        """Check the types, because a file may contain anything; raises TypeError if this is no recipe."""
        kinds: Mapping[str, Any] = {"task": str, "seed": int, "version": int, "model": Mapping, "training": Mapping}
        optional = {"loss": Mapping, "impose": Mapping, "observe": Mapping, "extract": Mapping}
        for name, kind in {**kinds, **optional}.items():
            value = getattr(self, name)
            if not isinstance(value, kind) and not (name in optional and value is None):
                raise TypeError(f"{name} of a recipe is {value!r}")

    @property
    def id(self) -> str:
        # What came later is left out where it is off: older recipes keep their names.
        later = ("observe", "extract")
        return content_id({name: value for name, value in asdict(self).items() if name not in later or value})

    @property
    def teachers(self) -> tuple[str, ...]:
        """Folders, in the same store, of the models that this one's loss or imposed weights refer to; each once."""
        named = [(self.loss or {}).get("parent"), (self.impose or {}).get("parent")]
        return tuple(dict.fromkeys(str(parent) for parent in named if parent is not None))

    @property
    def parents(self) -> tuple[str, ...]:
        """The same, with the model that chooses which words this one reads."""
        chooser = (self.extract or {}).get("parent")
        return tuple(dict.fromkeys((*self.teachers, *([] if chooser is None else [str(chooser)]))))
