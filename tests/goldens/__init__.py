"""Every number and text that heatcheck gives for a fixed set of small runs, to hold one commit against another.

    python -m tests.goldens record OLD.json          # from the repository's root, at the old commit
    python -m tests.goldens record NEW.json          # after the change, on the same machine
    python -m tests.goldens compare OLD.json NEW.json

Not a test and not collected by pytest: another processor differs in the last digits, so nothing recorded is kept in
the repository. About ten minutes of one core. Numbers agree when they differ by at most 1e-9 (of the larger one, above
1), texts when they are equal; `compare` groups what differs by the beginning of its path, and its exit code is 1 if
anything does.

    python -m tests.goldens parts                                      # what there is
    python -m tests.goldens record A.json --only demo,study:jain2019   # some of it
    python -m tests.goldens record A.json --src ../old/src             # this script, the code of another checkout

Each part runs in a process and an empty folder of its own, with one thread and without a GPU; one that fails is
recorded as `PART/error` and stops no other. Real corpora are looked for in HEATCHECK_DATA, else in ../shared/data;
without them studies run on what is generated.

A recording is flat: path -> number or text. Paths are canonical: when a class or a field moves, `results.py` alone is
changed, so that the same finding keeps the same path. What a command prints as JSON and what a page says are recorded
as they are: a change of format is a difference, and is to be explained.
"""
