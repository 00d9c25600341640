"""The API of the local page (`heatcheck serve`): requests are validated, limited in size and time, then answered."""

import asyncio
import contextvars
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heatcheck.data import Vocabulary
from heatcheck.engine import check_time, within
from heatcheck.errors import HeatcheckError, TookTooLong
from heatcheck.models import Subject
from heatcheck.models.classifiers.hierarchical import sentence_of_each
from heatcheck.serve import shown_text
from heatcheck.serve.heads_over_training import AskedHeadRun, HeadRuns, HeadsOverTraining, HeadsSeen
from heatcheck.serve.newest_audit import KEPT, newest_audits
from heatcheck.serve.schema import (
    Adversary,
    Asked,
    AskedAdversary,
    AskedExplanation,
    AskedHead,
    AskedModel,
    AskedObserved,
    AskedWeights,
    Bounds,
    Explained,
    Head,
    Imposed,
    Layers,
    Looked,
    Models,
    ObservedText,
    Problem,
    Training,
)
from heatcheck.serve.shown_models import offer
from heatcheck.serve.training_record import follow
from heatcheck.version import __version__

BODY = 256 * 1024  # bytes of a request
SECONDS = 20.0  # from a request to its answer
WAITING = 200  # requests at once; more are refused

A = TypeVar("A", bound=AskedModel)
Found = TypeVar("Found")

PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is not valid JSON."},
    404: {"model": Problem, "description": "Unknown model or path."},
    408: {"model": Problem, "description": "The request did not arrive in time."},
    413: {"model": Problem, "description": "The request is too large."},
    422: {"model": Problem, "description": "The request cannot be answered; `error` says why."},
    500: {"model": Problem, "description": "A bug in heatcheck."},
    503: {"model": Problem, "description": "Too many requests at once, or the request took too long."},
}
# The page may run only its own script and connect only to this server.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
PAGE = {
    "/": ("heatcheck.serve", "page.html", "text/html"),
    "/page.js": ("heatcheck.serve", "page.js", "text/javascript"),
    "/asking.js": ("heatcheck.serve", "asking.js", "text/javascript"),
    "/drawing.js": ("heatcheck.serve", "drawing.js", "text/javascript"),
    "/training.js": ("heatcheck.serve", "training.js", "text/javascript"),
    "/page.css": ("heatcheck.serve", "page.css", "text/css"),
    "/report.css": ("heatcheck.report", "page.css", "text/css"),
}
HEADS_PAGE = {
    "/heads": ("heatcheck.serve", "heads.html", "text/html"),
    "/heads.js": ("heatcheck.serve", "heads.js", "text/javascript"),
    "/heads.css": ("heatcheck.serve", "heads.css", "text/css"),
}


class Sentence(JSONResponse):
    """JSON in which half an emoji, which is not UTF-8, becomes a question mark."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def make_app(
    subjects: Mapping[str, Subject],
    *,
    folders: Mapping[str, Path | str] | None = None,
    heads: HeadsOverTraining | None = None,
    seconds: float = SECONDS,
) -> FastAPI:
    """The FastAPI app of the page. It gives access to these models, their records and headlines, and nothing else.

    Args:
        subjects: models by the name that the page shows.
        folders: model folders, for models whose name is not their folder.
        heads: how heads formed in the runs of a study, for a page of its own at /heads.
        seconds: time limit per request.
    """
    folder_of = {name: (folders or {}).get(name, name) for name in subjects}
    trainings = {name: follow(subject, folder_of[name]) for name, subject in subjects.items()}
    facts = [offer(name, subject, trainings[name].why_not, folder_of[name]) for name, subject in subjects.items()]
    kept = KEPT.absolute()
    app = FastAPI(title="heatcheck", version=__version__, docs_url=None, redoc_url=None)
    # As many threads as cores, so that memory does not grow with the number of clients.
    threads = ThreadPoolExecutor(max_workers=_side_by_side(subjects), thread_name_prefix="heatcheck")
    waiting = 0

    async def answer(work: Callable[[Subject, A], Found], asked: A) -> Found:
        nonlocal waiting
        if asked.model not in subjects:
            raise HTTPException(404, f"no model {asked.model!r}: GET /api/models lists the models.")
        if waiting >= WAITING:
            raise HTTPException(503, "too many requests at once: try again in a moment.")
        waiting += 1
        end = time.monotonic() + seconds
        job = partial(contextvars.copy_context().run, _in_time, end, work, subjects[asked.model], asked)
        try:
            # The client gets an answer in time even if the work ignores the clock or has not begun.
            return await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(threads, job), seconds)
        except TimeoutError:
            raise TookTooLong("this took too long and was stopped: try a shorter text.") from None
        finally:
            waiting -= 1

    @app.get("/api/models")
    def models() -> Models:
        """The models, what the page can show of each, and the headline of each model's newest audit."""
        audits = newest_audits(kept)  # each time, so that the page shows a new audit when it is loaded again
        return Models(models=[one.model_copy(update={"audit": audits.get(one.id)}) for one in facts], bounds=Bounds())

    @app.post("/api/look", responses=PROBLEMS)
    async def look(asked: Asked) -> Looked:
        """The model's probabilities and its heatmap."""
        return await answer(shown_text.look, asked)

    @app.post("/api/explain", responses=PROBLEMS)
    async def explain(asked: AskedExplanation) -> Explained:
        """Scores per word by the named explainers."""
        return await answer(shown_text.explain, asked)

    @app.post("/api/impose", responses=PROBLEMS)
    async def impose(asked: AskedWeights) -> Imposed:
        """The probabilities under replaced attention weights."""
        return await answer(shown_text.impose, asked)

    @app.post("/api/adversary", responses=PROBLEMS)
    async def adversary(asked: AskedAdversary) -> Adversary:
        """The most different weights that move the probabilities by at most ε."""
        return await answer(shown_text.adversary, asked)

    @app.post("/api/layers", responses=PROBLEMS)
    async def layers(asked: Asked) -> Layers:
        """The weights of every layer and head, in the row that the prediction is read from."""
        return await answer(shown_text.layers, asked)

    @app.post("/api/head", responses=PROBLEMS)
    async def head(asked: AskedHead) -> Head:
        """The weights between all pairs of words in one head."""
        return await answer(shown_text.head, asked)

    @app.post("/api/training", responses=PROBLEMS)
    async def training(asked: AskedModel) -> Training:
        """The record of the model's training: steps, texts, and means over the texts."""
        return await answer(lambda _, asked: trainings[asked.model].overview(), asked)

    @app.post("/api/observed", responses=PROBLEMS)
    async def observed(asked: AskedObserved) -> ObservedText:
        """One recorded text at every step: weights, relevances and the prediction."""
        return await answer(lambda _, asked: trainings[asked.model].one(asked.id), asked)

    if heads is not None:

        @app.get("/api/head-runs")
        def head_runs() -> HeadRuns:
            """The runs of the study whose heads can be watched."""
            return heads.overview()

        @app.post("/api/head-run", responses=PROBLEMS)
        def head_run(asked: AskedHeadRun) -> HeadsSeen:
            """One run: numbers at each look, and maps of its best head."""
            return heads.one(asked)

    shown = PAGE if heads is None else PAGE | HEADS_PAGE
    if not subjects:
        shown = shown | {"/": HEADS_PAGE["/heads"]}
    for path, (room, name, kind) in shown.items():
        app.add_api_route(path, _file(room, name, kind), include_in_schema=False)

    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HeatcheckError, _of_library)
    app.add_middleware(_Bounded, seconds=seconds)
    # Guards against DNS rebinding: another site's name that points at this machine is refused.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    app.add_middleware(_Guarded)
    return app


def _side_by_side(subjects: Mapping[str, Subject]) -> int:
    """The number of requests handled at once: one on a GPU, where torch's switches apply to all threads."""
    elsewhere = any(str(getattr(subject, "device", "cpu")) != "cpu" for subject in subjects.values())
    return 1 if elsewhere else os.cpu_count() or 1


def _in_time(end: float, work: Callable[[Subject, A], Found], subject: Subject, asked: A) -> Found:
    with within(end - time.monotonic()):
        check_time()
        try:
            return work(subject, asked)
        finally:
            _forget_texts(subject)


def _forget_texts(subject: Subject) -> None:
    """Empty the caches of tokenised texts, so that nothing a user typed is kept."""
    vocabulary = getattr(subject, "vocabulary", None)
    if isinstance(vocabulary, Vocabulary):
        vocabulary.forget()
    sentence_of_each.cache_clear()


def _file(room: str, name: str, kind: str) -> Callable[[], Awaitable[Response]]:
    body = files(room).joinpath(name).read_bytes()

    async def give() -> Response:
        return Response(body, media_type=f"{kind}; charset=utf-8")

    return give


async def _of_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Sentence({"error": str(error.detail)}, status_code=error.status_code, headers=error.headers)


async def _of_validation(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    status = 400 if first["type"] == "json_invalid" else 422
    return Sentence({"error": f"{where or 'the request'}: {first['msg']}."[:500]}, status_code=status)


async def _of_library(_: Request, error: Exception) -> Response:
    return Sentence({"error": str(error)[:1000]}, status_code=503 if isinstance(error, TookTooLong) else 422)


class _Guarded:
    """Adds HEADERS to every answer, and turns an unexpected exception into one sentence.

    The sentence names the kind of exception but not the text that caused it; re-raising it would log the text.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self.app(scope, receive, with_headers)
        except Exception as error:
            if scope["type"] != "http" or begun:
                raise
            found = Sentence(
                {"error": f"heatcheck failed at this request ({type(error).__name__}): this is a bug in heatcheck."},
                500,
            )
            await found(scope, receive, with_headers)


class _Bounded:
    """Refuses a body that is too large, before reading all of it, and one that does not arrive in time."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app, self.seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(_body(receive), self.seconds)
        except TimeoutError:
            await Sentence({"error": "the request did not arrive in time: send it again."}, 408)(scope, receive, send)
            return
        except _TooLarge:
            refusal = Sentence({"error": f"the request is larger than {BODY // 1024} KB: shorten it."}, 413)
            await refusal(scope, receive, send)
            return
        if body is None:
            return
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, again, send)


class _TooLarge(Exception):
    """A body of more than BODY bytes."""


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None if the client has disconnected."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > BODY:
            raise _TooLarge
    return bytes(body)
