"""Writes each command's `--help` into its page, or with --check fails where a page is out of step."""

import re
import subprocess
import sys
from pathlib import Path

import typer

from heatcheck.cli import COMMANDS

PAGES = Path(__file__).parent / "commands"
BLOCK = re.compile(r"(<!-- help -->\n```text\n).*?(```\n<!-- /help -->)", re.DOTALL)


def help_of(command: str) -> str:
    """Its help, and that of each command of a group."""
    group = COMMANDS[command]
    below = [str(one.name) for one in group.registered_commands] if isinstance(group, typer.Typer) else []
    return "\n".join(shown_for(words) for words in ([command], *([command, name] for name in below)))


def shown_for(words: list[str]) -> str:
    environment = {"COLUMNS": "100", "TERM": "dumb", "PATH": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-m", "heatcheck", *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines()).replace("python -m ", "") + "\n"


def main() -> int:
    wrong = []
    for command in COMMANDS:
        page = PAGES / f"{command}.md"
        text = page.read_text()
        found = BLOCK.search(text)
        if not found:
            sys.exit(f"{page} has no <!-- help --> block.")
        made = text[: found.start()] + found[1] + help_of(command) + found[2] + text[found.end() :]
        if made != text:
            wrong.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(made)
    if wrong and "--check" in sys.argv:
        print(f"out of step with --help: {', '.join(wrong)}; run `make format`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
