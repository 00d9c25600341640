"""Starts the local page (`heatcheck serve`), reachable from this machine only."""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from heatcheck.errors import BadInput, MissingPackage
from heatcheck.models import Subject

PORT = 8765
HOST = "127.0.0.1"  # and no other: texts may be private, and there is no password


def serve(
    subjects: Mapping[str, Subject],
    *,
    folders: Mapping[str, Path | str] | None = None,
    study: Path | str | None = None,
    port: int = PORT,
    started: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the page for these models until interrupted.

    Args:
        subjects: models by the name that the page shows.
        folders: model folders, for models whose name is not their folder.
        study: folder of a study whose heads were watched during training (olsson2022), for the page at /heads.
        port: 0 picks a free one.
        started: called with the address once the page can be opened.
    """
    try:
        import fastapi  # noqa: F401 - only to say by name what is missing
        import uvicorn
    except ImportError as error:
        raise MissingPackage(error.name or "fastapi") from None
    import torch

    from heatcheck.serve.app import make_app
    from heatcheck.serve.heads_over_training import read_heads

    if not subjects and study is None:
        raise BadInput("the page needs at least one model.")
    heads = None if study is None else read_heads(study)
    with _listen(port) as listening:
        torch.set_num_threads(1)  # requests run in parallel, one per core
        app = make_app(subjects, folders=folders, heads=heads)
        # No access log: the page promises to store no text.
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        started(f"http://{HOST}:{listening.getsockname()[1]}/")
        server.run(sockets=[listening])


def _listen(port: int) -> socket.socket:
    # asyncio sends at once only where a socket says that it is TCP; else the body of an answer waits 40 ms.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(128)  # now, because two servers can bind the same port until one listens
    except OverflowError:
        found.close()
        raise BadInput(f"--port must be between 0 and 65535, not {port}.") from None
    except OSError as error:
        found.close()
        raise BadInput(f"port {port} cannot be used ({error.strerror}): choose another with --port.") from None
    return found
