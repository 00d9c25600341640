"""What the page is answered: every kind of question, asked of the application itself, without a server."""

import asyncio
import json
from pathlib import Path
from typing import Any

from .flat import Flat, flatten

TEXT = "the film was not very good but so fine"
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "look": ("look", {"text": TEXT}),
    "look, erased": ("look", {"text": TEXT, "erased": [0, 5]}),
    "explain": ("explain", {"text": TEXT, "by": ["attention", "gradient", "leave_one_out", "counterfactual"]}),
    "impose uniform": ("impose", {"text": TEXT, "kind": "uniform"}),
    "impose permuted": ("impose", {"text": TEXT, "kind": "permuted", "seed": 3}),
    "impose given": ("impose", {"text": TEXT, "kind": "given", "weights": [0.2, 0.8, *[0.0] * 7]}),
    "adversary": ("adversary", {"text": TEXT, "epsilon": 0.05}),
    "layers": ("layers", {"text": TEXT}),
    "head": ("head", {"text": TEXT, "layer": 1, "head": 0}),
    "no text": ("look", {"text": ""}),
    "no such explainer": ("explain", {"text": TEXT, "by": ["atention"]}),
}


def answers() -> Flat:
    """A trained model whose training was observed, a transformer, and a model whose answer is known."""
    import heatcheck as hc
    from heatcheck.serve import make_app

    from .subjects import write_bert, write_reviews

    data = write_reviews(Path("mine.jsonl"), 300)
    shape: dict[str, Any] = {"encoder": "gru", "hidden": 8, "embedding": 8, "embedding_scale": 1.0}
    folder = hc.train(data, out="mine", progress=False, device="cpu", epochs=2, observe=4, **shape).folder
    names = {"mine": str(folder), "bert": write_bert(Path("bert")), "reader": "known:reader@planted_contrast"}
    app = make_app({name: hc.load(source) for name, source in names.items()}, folders={"mine": folder})
    found = flatten(asyncio.run(_ask(app, "/api/models", None)), "models")
    for model in names:
        for name, (path, asked) in QUESTIONS.items():
            answer = asyncio.run(_ask(app, f"/api/{path}", {"model": model, **asked}))
            found |= flatten(answer, f"{model}/{name}")
        training = asyncio.run(_ask(app, "/api/training", {"model": model}))
        found |= flatten(training, f"{model}/training")
        for text in training["said"].get("texts", [])[:2]:
            asked = {"model": model, "id": text["id"]}
            found |= flatten(asyncio.run(_ask(app, "/api/observed", asked)), f"{model}/observed {text['id']}")
    return found


async def _ask(app: Any, path: str, asked: dict[str, Any] | None) -> dict[str, Any]:
    """One request by ASGI: the status of the answer, and what it says."""
    body = b"" if asked is None else json.dumps(asked).encode()
    told = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return told.pop() if told else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET" if asked is None else "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
    said = b"".join(message.get("body", b"") for message in sent)
    return {"status": sent[0]["status"], "said": json.loads(said)}
