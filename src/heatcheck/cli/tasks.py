"""`heatcheck tasks`: list the built-in data sets."""

from collections.abc import Mapping

from heatcheck.cli.options import AsJson, DataDir
from heatcheck.cli.packages import source, source_facts


def tasks(json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the datasets: size, labels, licence and availability.

    Your own file works as a task too: CSV, TSV, JSONL or Parquet with the columns text and label.
    """
    from heatcheck.cli import show
    from heatcheck.data import TASKS, data_folder

    folder = data_folder(data_dir)
    found = [(task, task.missing(folder)) for task in TASKS.values()]
    if json:
        show.as_json(
            [
                {
                    "name": task.name,
                    "about": task.about,
                    "labels": task.labels,
                    "sizes": dict(task.sizes),
                    "licence": task.licence,
                    "ready": missing is None,
                    "to_do": missing,
                    **source_facts(TASKS, task.name),
                }
                for task, missing in found
            ]
        )
        return
    rows = []
    for task, missing in found:
        told = (
            task.about,
            f"{sizes(task.sizes)}; labels: {', '.join(task.labels) or 'none (the model generates text)'}",
            f"licence: {task.licence}",
            source(TASKS, task.name),
            "ready" if missing is None else f"not available: {missing}",
        )
        rows.append([task.name, "\n".join(filter(None, told)) + "\n"])
    show.table(["task", "content, size, licence, availability"], rows)


def sizes(of_task: Mapping[str, int]) -> str:
    """The number of examples per split, or that it depends on the user's copy."""
    if not of_task:
        return "size depends on your copy"
    return ", ".join(f"{split} {count:,}" for split, count in of_task.items())
