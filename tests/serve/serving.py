"""A real server on this machine, in a thread, and a way to ask it."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import uvicorn

from heatcheck.serve import make_app
from heatcheck.serve.running import _listen


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        found = self.json
        assert list(found) == ["error"]
        return found["error"]


@contextmanager
def serving(subjects, **options) -> Iterator[str]:
    """The address of a page over these subjects; it is gone afterwards."""
    with _listen(0) as listening:
        server = uvicorn.Server(uvicorn.Config(make_app(subjects, **options), log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def send(address, path, body=None, *, method=None, headers=()) -> Answer:
    """One request on a connection of its own. A body in parts goes without its length; what is no bytes, as JSON."""
    if body is not None and not isinstance(body, bytes | list):
        body = json.dumps(body).encode()
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        sent = {"Content-Type": "application/json", **dict(headers)} if body is not None else dict(headers)
        method = method or ("GET" if body is None else "POST")
        if isinstance(body, list):
            sent["Transfer-Encoding"] = "chunked"
        connection.request(method, path, body=body, headers=sent, encode_chunked=isinstance(body, list))
        found = connection.getresponse()
        return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
    finally:
        connection.close()
