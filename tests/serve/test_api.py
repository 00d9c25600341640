"""The server behind the page: what it answers, what it refuses, and that nobody disturbs anybody."""

import http.client
import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from kept_audits import FAILS, POINTS, keep
from serving import send, serving

from heatcheck.errors import BadInput
from heatcheck.models.known_answers import Reader
from heatcheck.results import AUDIT, headline_of
from heatcheck.serve import app as of_app
from heatcheck.serve import serve, shown_text
from heatcheck.serve.running import _listen
from heatcheck.serve.schema import (
    MAX_CHARACTERS,
    MAX_WORDS,
    Asked,
    AskedAdversary,
    AskedExplanation,
    AskedHead,
    AskedWeights,
)
from subjects import SINGLE, classifier
from tiny_transformers import tiny

TEXT = "the plot is a bit thin but acting is very good"
SECRET = "Xylophonist"
LSTM, BERT = classifier(SINGLE), tiny("bert")


class Moody(Reader):
    """Reads as a reader does, until a word upsets it."""

    name = "moody"
    begun, go_on = threading.Semaphore(0), threading.Event()

    def encode(self, examples):
        text = examples[0].text
        if "provoke" in text:
            raise KeyError(text)  # as code with a mistake in it might: with what it was given
        if "dawdle" in text:
            self.begun.release()
            self.go_on.wait(30)  # and does not look at the clock
        return super().encode(examples)


MOODY = Moody("planted_contrast")
MODELS = {"lstm": LSTM, "bert": BERT, "moody": MOODY}


@pytest.fixture
def dawdling():
    """It stands still at a word, until the end of the test or until it may go on."""
    MOODY.begun, MOODY.go_on = threading.Semaphore(0), threading.Event()
    yield MOODY
    MOODY.go_on.set()


@pytest.fixture(scope="module")
def page():
    with serving(MODELS) as address:
        yield address


def look(address, text=TEXT, model="lstm", **others):
    return send(address, "/api/look", {"model": model, "text": text, **others})


# What is served -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css"), ("/report.css", "text/css")],
)
def test_the_page_is_served(page, path, kind):
    found = send(page, path)
    assert found.status == 200
    assert found.headers["content-type"] == f"{kind}; charset=utf-8"
    assert len(found.body) > 500


def test_models_are_those_named_at_the_start(page):
    found = send(page, "/api/models").json
    assert [model["name"] for model in found["models"]] == list(MODELS)
    assert found["bounds"]["words"] == MAX_WORDS
    assert found["models"][1]["layers"] == 3


def audits_of(address):
    return {model["name"]: model["audit"] for model in send(address, "/api/models").json["models"]}


def test_the_headline_is_the_newest_audits():
    keep(LSTM, "2026-03-01", POINTS, n=40)
    audit, _ = keep(LSTM, "2026-03-02", FAILS)
    keep(LSTM, "2026-02-28", POINTS, n=41)
    with serving({"lstm": LSTM, "bert": BERT}) as address:
        found = audits_of(address)
        assert found["bert"] is None
        headline = headline_of(audit.card)._asdict()
        assert {name: found["lstm"][name] for name in headline} == json.loads(json.dumps(headline))
        assert headline["instead"]
        assert found["lstm"]["command"] == audit.card["points"].instead.command
        assert [found["lstm"][name] for name in ("date", "n", "task")] == ["2026-03-02", 500, "rotten_tomatoes"]

        # An audit that is kept while the page is open.
        keep(BERT, "2026-03-04", POINTS)
        found = audits_of(address)
        assert [found[name]["date"] for name in ("lstm", "bert")] == ["2026-03-02", "2026-03-04"]
        assert found["bert"]["instead"] == found["bert"]["command"] == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda facts: {**facts, "format": facts["format"] - 1},
        lambda facts: {**facts, "headline": {**facts["headline"], "answer": None}},
        lambda facts: {**facts, "headline": {**facts["headline"], "answer": "\ud800"}},
        lambda facts: {**facts, "headline": {"answer": "Yes."}},
        lambda facts: {
            **facts,
            "headline": {key: facts["headline"][key] for key in facts["headline"] if key != "command"},
        },
        lambda facts: {**facts, "n": "many"},
        lambda facts: {**facts, "about": {}},
        lambda facts: [facts],
        lambda _: None,
    ],
)
def test_an_audit_that_cannot_be_read_counts_as_none(damage):
    keep(LSTM, "2026-03-01", POINTS, n=40)
    _, newest = keep(LSTM, "2026-03-02")
    with serving({"lstm": LSTM}) as address:
        assert audits_of(address)["lstm"]["n"] == 500
        (newest / AUDIT).write_text(json.dumps(damage(json.loads((newest / AUDIT).read_text()))))
        assert audits_of(address)["lstm"]["n"] == 40
        (newest / AUDIT).write_bytes(b"{\xff")
        assert audits_of(address)["lstm"]["n"] == 40


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/api", "/page.html", "/../app.py", "/%2e%2e/app.py"])
def test_nothing_else_is_served(page, path):
    found = send(page, path)
    assert found.status == 404
    assert found.error


def test_every_answer_carries_its_headers(page):
    answers = [
        send(page, "/"),
        send(page, "/api/models"),
        look(page),
        look(page, model="nobody"),
        look(page, "provoke", model="moody"),
        send(page, "/api/look", b"x" * 300_000),
        send(page, "/", headers={"Host": "evil.example"}),
        send(page, "/nowhere"),
    ]
    assert [found.status for found in answers] == [200, 200, 200, 404, 500, 413, 400, 404]
    for found in answers:
        assert "default-src 'none'" in found.headers["content-security-policy"]
        assert "connect-src 'self'" in found.headers["content-security-policy"]
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in found.headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "192.168.0.1:80"])
def test_a_foreign_name_for_this_machine_is_refused(page, host):
    for path, body in [("/", None), ("/api/models", None), ("/api/look", {"model": "lstm", "text": TEXT})]:
        assert send(page, path, body, headers={"Host": host}).status == 400
    assert send(page, "/", headers={"Host": "localhost:8765"}).status == 200


# What is asked ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["", "../../etc", "/etc/passwd", "hf:bert-base-uncased", "known:reader@planted_contrast", "LSTM", "🦊"],
)
def test_no_model_but_those_named_at_the_start(page, name):
    found = look(page, model=name)
    assert found.status == 404
    assert found.error.startswith("no model ")
    assert "/api/models" in found.error


@pytest.mark.parametrize("name", ["file:/etc/passwd", "../attention", "nobody"])
def test_no_explainer_but_those_there_are(page, name):
    found = send(page, "/api/explain", {"model": "lstm", "text": TEXT, "by": [name]})
    assert found.status == 422
    assert found.error.startswith("no explainer ")
    assert "root:" not in found.error


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"text": "good " * MAX_WORDS}, f"has {MAX_WORDS + 1} words; the page takes at most {MAX_WORDS}. Shorten it."),
        ({"text": "g" * (MAX_CHARACTERS + 1)}, f"text: String should have at most {MAX_CHARACTERS} characters."),
        ({"text": ""}, "text: String should have at least 1 character."),
        ({"text": "  "}, "the text is empty: type at least one word."),
        ({"text": None}, "text: Input should be a valid string."),
        ({"text_pair": "g" * (MAX_CHARACTERS + 1)}, f"text_pair: String should have at most {MAX_CHARACTERS}"),
        ({"text_pair": "a film"}, "this model reads one text per example"),
        ({"erased": [-1]}, "erased.0: Input should be greater than or equal to 0."),
        ({"erased": [11]}, "no word 11: the text has 11 words"),
        ({"erased": [MAX_WORDS]}, f"erased.0: Input should be less than {MAX_WORDS}."),
        ({"erased": list(range(11))}, "every word of the text is erased: restore at least one."),
        ({"path": "/etc/passwd"}, "path: Extra inputs are not permitted."),
    ],
)
def test_a_mistake_is_one_sentence(page, asked, sentence):
    found = look(page, **asked)
    assert found.status == 422
    assert sentence in found.error
    assert len(found.error) < 1000


@pytest.mark.parametrize(
    ("path", "asked", "status"),
    [
        ("/api/impose", {"kind": "given", "weights": [float("nan")] * 11}, 422),
        ("/api/impose", {"kind": "given", "weights": [float("inf")] * 11}, 422),
        ("/api/impose", {"kind": "given", "weights": [-0.1] * 11}, 422),
        ("/api/impose", {"kind": "given", "weights": [0] * 11}, 422),
        ("/api/impose", {"kind": "given", "weights": [1e-300] * 11}, 422),
        ("/api/impose", {"kind": "given", "weights": [0, 1]}, 422),
        ("/api/impose", {"kind": "upside down"}, 422),
        ("/api/impose", {"kind": "uniform", "layer": 0}, 422),
        ("/api/impose", {"kind": "permuted", "seed": 2**31}, 422),
        ("/api/adversary", {"epsilon": 0}, 422),
        ("/api/adversary", {"epsilon": 1}, 422),
        ("/api/adversary", {"epsilon": float("nan")}, 422),
        ("/api/explain", {"by": []}, 422),
        ("/api/explain", {"by": ["attention"] * 9}, 422),
        ("/api/layers", {}, 422),
        ("/api/head", {"layer": 0}, 422),
    ],
)
def test_what_cannot_be_asked_of_this_model(page, path, asked, status):
    found = send(page, path, {"model": "lstm", "text": TEXT, **asked})
    assert found.status == status
    assert found.error


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[]", 422),
        (b"null", 422),
        (b'"text"', 422),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),  # deeper than Python goes
        (b'{"model": "lstm", "text": "a film", "erased": [' + b"9" * 5000 + b"]}", 400),
        (b'{"model": "lstm", "text": "half an emoji \\ud83d"}', 422),
        (b'{"model": "half an emoji \\ud83d", "text": "a film"}', 422),
        (b'{"model": "lstm", "text": "a film", "\\ud83d": 1}', 422),
    ],
)
def test_a_body_that_cannot_be_read(page, body, status):
    found = send(page, "/api/look", body)
    assert found.status == status
    assert found.error


def test_a_form_of_another_page_is_not_read(page):
    body = json.dumps({"model": "lstm", "text": TEXT}).encode()
    assert send(page, "/api/look", body, headers={"Content-Type": "text/plain"}).status == 422


def test_too_large_a_body_is_refused_with_and_without_its_length(page):
    large = json.dumps({"model": "lstm", "text": "a " * 150_000}).encode()
    assert len(large) > of_app.BODY
    parts = [large[start : start + 10_000] for start in range(0, len(large), 10_000)]
    for body in (large, parts):
        found = send(page, "/api/look", body)
        assert found.status == 413
        assert found.error == "the request is larger than 256 KB: shorten it."
    small = [b'{"model": "lstm", ', b'"text": "a good film"}']
    assert send(page, "/api/look", small).status == 200


def test_an_answer_on_a_kept_connection_does_not_wait_for_the_other_side(page):
    """Head and body of an answer are sent apart; with Nagle's algorithm the second waits 40 ms."""
    connection = http.client.HTTPConnection(urlsplit(page).netloc, timeout=30)
    took = []
    for _ in range(12):
        start = time.perf_counter()
        connection.request("GET", "/api/models")
        assert connection.getresponse().read()
        took.append(time.perf_counter() - start)
    connection.close()
    assert min(took[2:]) < 0.03


def test_other_methods_are_refused(page):
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        found = send(page, "/api/look", method=method)
        assert found.status == 405
        assert found.headers["allow"] == "POST"
    assert send(page, "/api/models", {}).status == 405


@pytest.mark.parametrize(
    "text",
    ["a 🦊 film 👨‍👩‍👧‍👦", "فيلم جيد جدا", "a\u0000film", "ﬁlm\u00a0noir", "a\tgood\nfilm", "‮mlif a", "good" * 4000],
)
@pytest.mark.parametrize("model", ["lstm", "bert"])
def test_any_text_comes_back_as_it_went(page, text, model):
    found = look(page, text, model)
    assert found.status == 200
    assert found.json["words"] == text.replace("\t", " ").replace("\n", " ").split(" ")
    assert sum(found.json["probabilities"]) == pytest.approx(1)


# Nobody disturbs anybody --------------------------------------------------------------------------------------------

KINDS = [
    ("look", shown_text.look, Asked, {}),
    ("look", shown_text.look, Asked, {"erased": [1, 2]}),
    ("impose", shown_text.impose, AskedWeights, {"kind": "uniform"}),
    ("impose", shown_text.impose, AskedWeights, {"kind": "permuted", "seed": 5}),
    ("impose", shown_text.impose, AskedWeights, {"kind": "given", "weights": [0.1, 0.5] + [0.01] * 9, "rest": 0.1}),
    ("explain", shown_text.explain, AskedExplanation, {"by": ["attention", "gradient", "leave_one_out"]}),
    ("explain", shown_text.explain, AskedExplanation, {"by": ["lime", "rollout", "random"]}),
    ("adversary", shown_text.adversary, AskedAdversary, {"epsilon": 0.1}),
]
OF_LAYERS = [
    ("layers", shown_text.layers, Asked, {}),
    ("head", shown_text.head, AskedHead, {"layer": 1, "head": 2}),
    ("impose", shown_text.impose, AskedWeights, {"kind": "uniform", "layer": 0, "head": 1}),
]


def requests():
    """Every kind of question to both models: path, body, and what the library answers."""
    for model, kinds in (("lstm", KINDS), ("bert", KINDS + OF_LAYERS)):
        for name, work, kind, more in kinds:
            body = {"model": model, "text": TEXT, **more}
            yield (
                f"/api/{name}",
                body,
                lambda work=work, kind=kind, body=body: work(MODELS[body["model"]], kind(**body)),
            )


def test_answers_are_the_librarys_alone_and_all_at_once(page):
    asked = list(requests())
    expected = [answer().model_dump(mode="json") for _, _, answer in asked]
    assert [send(page, path, body).json for path, body, _ in asked] == expected
    bad = [("/api/look", {"model": "moody", "text": "provoke"}, 500), ("/api/look", b"{", 400)]
    with ThreadPoolExecutor(16) as clients:
        many = [clients.submit(send, page, path, body) for path, body, _ in asked * 2]
        for path, body, status in bad * 5:
            assert clients.submit(send, page, path, body).result().status == status
        assert [found.result().json for found in many] == expected * 2


def test_a_mistake_of_ours_is_one_sentence_without_the_text(page):
    found = look(page, f"provoke {SECRET}", "moody")
    assert found.status == 500
    assert found.error == "heatcheck failed at this request (KeyError): this is a bug in heatcheck."
    assert look(page, "but dull film", "moody").status == 200


def test_what_takes_too_long_is_told_in_time_and_what_waits_is_not_begun(dawdling):
    with serving({"moody": MOODY}, seconds=3.0) as address, ThreadPoolExecutor(20) as clients:
        many = list(clients.map(lambda _: look(address, "but dull dawdle", "moody"), range(20)))
        assert [found.status for found in many] == [503] * 20
        assert {found.error for found in many} == {"this took too long and was stopped: try a shorter text."}
        dawdling.go_on.set()
        assert look(address, "but dull film", "moody").status == 200
        assert dawdling.begun._value == min(20, os.cpu_count())


def test_the_schema_knows_every_refusal(page):
    paths = send(page, "/openapi.json").json["paths"]
    for path in set(paths) - {"/api/models"}:
        assert set(map(str, of_app.PROBLEMS)) < set(paths[path]["post"]["responses"])
    assert {400, 404, 408, 413, 422, 500, 503} == set(of_app.PROBLEMS)


def test_a_body_that_never_arrives_is_not_waited_for():
    with serving({"moody": MOODY}, seconds=1.0) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"POST /api/look HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            assert connection.recv(100).startswith(b"HTTP/1.1 408")
        assert look(address, "but dull film", "moody").status == 200


def test_too_many_at_once_are_told_to_come_back(page, monkeypatch, dawdling):
    monkeypatch.setattr(of_app, "WAITING", 1)
    with ThreadPoolExecutor(1) as clients:
        first = clients.submit(look, page, "but dull dawdle", "moody")
        assert dawdling.begun.acquire(timeout=20)
        second = look(page)
        dawdling.go_on.set()
        assert (second.status, second.error) == (503, "too many requests at once: try again in a moment.")
        assert first.result().status == 200
    assert look(page).status == 200


def test_whoever_hangs_up_leaves_the_others_alone(page, capfd, dawdling):
    host, port = page.removeprefix("http://").split(":")
    body = json.dumps({"model": "moody", "text": "but dull dawdle"}).encode()
    head = b"POST /api/look HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for sent in (body[:5], b"", body):
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + sent)
            assert sent != body or dawdling.begun.acquire(timeout=20)
    dawdling.go_on.set()
    assert look(page).status == 200
    assert capfd.readouterr() == ("", "")


def test_no_text_is_written_down(capfd, caplog, tmp_path, dawdling):
    caplog.set_level("DEBUG")
    with serving({"moody": MOODY}, seconds=1.5) as address:
        for text, model, status in [
            (f"a good {SECRET}", "moody", 200),
            (f"a good {SECRET}", SECRET, 404),
            (f"provoke {SECRET}", "moody", 500),
            (f"dawdle {SECRET}", "moody", 503),
            (f"a good {SECRET} " * 300, "moody", 422),
        ]:
            assert look(address, text, model).status == status
        for body in (
            f'{{"text": "{SECRET}"',
            f'{{"model": "moody", "text": "{SECRET}", "{SECRET}": 1}}',
            f'"{SECRET}"',
        ):
            assert send(address, "/api/look", body.encode()).status in (400, 422)
        assert send(address, f"/{SECRET}?text={SECRET}").status == 404
        dawdling.go_on.set()  # what was too slow goes on, with whatever it has to say
        assert look(address, f"a good {SECRET}", "moody").status == 200
    out, err = capfd.readouterr()
    assert SECRET not in out + err + caplog.text
    assert err == ""
    assert list(tmp_path.iterdir()) == []


# Where it listens ---------------------------------------------------------------------------------------------------


def test_it_listens_on_this_machine_only():
    with _listen(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("listens", [True, False])
def test_a_port_that_is_taken_is_one_sentence(listens):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if listens:
            taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=rf"port {port} cannot be used \(Address already in use\): choose another"):
            serve({"lstm": LSTM}, port=port)


def test_two_pages_that_start_at_once_do_not_share_a_port():
    with _listen(0) as first, pytest.raises(BadInput, match="cannot be used"):
        _listen(first.getsockname()[1])


@pytest.mark.parametrize("port", [-1, 65536, 10**9])
def test_a_port_that_is_none_is_one_sentence(port):
    with pytest.raises(BadInput, match="--port must be between 0 and 65535"):
        serve({"lstm": LSTM}, port=port)


def test_no_model_is_one_sentence():
    with pytest.raises(BadInput, match="needs at least one model"):
        serve({})


def test_a_text_is_not_kept(page):
    assert look(page, "a zanzibar of a film").status == 200
    kept = MODELS["lstm"].vocabulary.__dict__.get("_look_up")
    assert kept is None or kept.cache_info().currsize == 0
