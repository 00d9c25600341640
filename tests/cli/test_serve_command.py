"""`heatcheck serve` as a user meets it: one that starts, and one sentence for each that does not."""

import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

READER = "known:reader@planted_contrast"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere/at-all", "nowhere/at-all"),
        ("known:nobody@planted_contrast", "nobody"),
        ("known:reader@nothing", "nothing"),
    ],
)
def test_a_model_that_is_not_there_is_one_sentence(heatcheck, name, sentence):
    code, _, err = heatcheck("serve", name, "--port", "0")
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err


def test_a_port_that_cannot_be_had_is_one_sentence(heatcheck):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, err = heatcheck("serve", READER, "--port", port)
    assert code == 2
    assert f"port {port} cannot be used (Address already in use): choose another with --port." in err
    assert "http://" not in out
    assert heatcheck("serve", READER, "--port", 70000)[0] == 2


def test_it_says_where_it_is_and_ends_when_interrupted():
    command = [sys.executable, "-m", "heatcheck", "serve", READER, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout.readline() == "loading 1 model …\n"
            address = server.stdout.readline().split()[2]
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(f"{address}api/models", timeout=20) as answer:
                assert READER.encode() in answer.read()
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=20) in (0, 130, -signal.SIGINT)
            assert "Traceback" not in server.stderr.read()
        finally:
            server.kill()
