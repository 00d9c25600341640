"""`heatcheck tasks`."""

from collections.abc import Mapping

from heatcheck.cli.options import AsJson, DataDir


def tasks(json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the tasks: size, labels, licence, and whether each is ready here.

    A file of your own (CSV, TSV, JSONL or Parquet with the columns text and label) is a task too.
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
                }
                for task, missing in found
            ]
        )
        return
    rows = [
        [
            task.name,
            f"{task.about}\n"
            f"{sizes(task.sizes)}; {', '.join(task.labels) or 'a text to be written'}; "
            f"licence: {task.licence}; {'ready' if missing is None else f'not here: {missing}'}",
        ]
        for task, missing in found
    ]
    show.table(["task", "what it is, and whether it is ready here"], rows)


def sizes(of_task: Mapping[str, int]) -> str:
    """How many examples there are, or that it depends."""
    if not of_task:
        return "as many as your copy has"
    return f"{'/'.join(map(str, of_task.values()))} train/dev/test"
