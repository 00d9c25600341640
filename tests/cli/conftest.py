"""A command line, run here."""

import sys

import pytest

from heatcheck.cli import main


@pytest.fixture
def heatcheck(monkeypatch, capsys):
    """Runs a command line here and gives (exit code, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["heatcheck", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run
