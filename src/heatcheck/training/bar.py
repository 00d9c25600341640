"""Shows progress on standard error: a bar on a terminal, an occasional line in a log."""

import time
from types import TracebackType

from heatcheck.training.settings import TrainingSettings

LINES = 30.0  # seconds between two lines in a log


class Bar:
    """Epoch, loss so far and time left; a no-op where it is not shown."""

    def __init__(self, settings: TrainingSettings, examples: int, *, shown: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._examples = examples
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:.3f}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not (shown and console.is_terminal),  # a log file wants no bar
        )
        self._lines = shown and not console.is_terminal
        self._last_line = time.monotonic()
        self._epochs = settings.epochs
        self._task = self._progress.add_task("training", total=settings.epochs * examples, loss=float("nan"))

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def watch(self, epoch: int, seen: int, loss: float) -> None:
        self._progress.update(
            self._task,
            description=f"epoch {epoch + 1}/{self._epochs}",
            completed=epoch * self._examples + seen,
            loss=loss,
        )
        if self._lines and time.monotonic() >= self._last_line + LINES:
            self._last_line = time.monotonic()
            share = (epoch * self._examples + seen) / (self._epochs * self._examples)
            line = f"heatcheck: training, epoch {epoch + 1}/{self._epochs}, {share:.0%} done, loss {loss:.3f}"
            self._progress.console.print(line, soft_wrap=True, highlight=False)
