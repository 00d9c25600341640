"""Requests made up from the API's own schema, valid and not: each gets an answer that the schema foresees."""

from collections import Counter

import schemathesis
from observed_model import observed_model
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, StopReason, events, from_schema
from serving import send, serving

from subjects import SINGLE, classifier
from tiny_transformers import tiny

MODELS = {"lstm": classifier(SINGLE), "bert": tiny("bert")}
BY = ["attention", "gradient", "rollout", "random", "relevance"]
EACH = 3  # requests made up for each operation, besides those at the bounds of each field
ASKED = ("Asked", "AskedExplanation", "AskedWeights", "AskedAdversary", "AskedHead")


def fuzz(schema, address):
    """How often each status was given, by operation, and which of schemathesis's checks failed, all of which are on."""
    config = SchemathesisConfig.from_dict(
        {
            "base-url": address,
            "seed": 8,
            "generation": {"max-examples": EACH, "deterministic": True, "database": "none"},
            # What fits the schema may still not fit the text (a 7th word of three): that is 422, and a sentence.
            "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", 422]}},
            "phases": {"stateful": {"enabled": False}},  # no request depends on another
        }
    )
    statuses, failed = Counter(), []
    for event in from_schema(schemathesis.openapi.from_dict(schema, config=config)).execute():
        assert not isinstance(event, events.FatalError | events.NonFatalError), event
        if isinstance(event, events.EngineFinished):
            assert event.stop_reason == StopReason.COMPLETED
        if isinstance(event, events.ScenarioFinished):
            for interaction in event.recorder.interactions.values():
                statuses[event.recorder.label, interaction.response.status_code] += 1
            for checks in event.recorder.checks.values():
                failed += [(event.recorder.label, one) for one in checks if one.status != Status.SUCCESS]
    return statuses, failed


def test_every_request_gets_an_answer_that_the_schema_foresees(tmp_path):
    observed = {"observed": observed_model(tmp_path)}
    with serving(MODELS | observed, folders={"observed": tmp_path}) as page:
        schema = send(page, "/openapi.json").json
        operations = {f"{m.upper()} {path}" for path, methods in schema["paths"].items() for m in methods}
        # Of models and explainers that there are, or no request would come far.
        for name in ASKED:
            schema["components"]["schemas"][name]["properties"]["model"]["enum"] = list(MODELS)
        schema["components"]["schemas"]["AskedExplanation"]["properties"]["by"]["items"]["enum"] = BY
        # A transformer's adversary is a search, a third of a second each, and test_api.py asks for it.
        schema["components"]["schemas"]["AskedAdversary"]["properties"]["model"]["enum"] = ["lstm"]
        for name in ("AskedModel", "AskedObserved"):
            schema["components"]["schemas"][name]["properties"]["model"]["enum"] = list(observed)
        texts = send(page, "/api/training", {"model": "observed"}).json["texts"]
        schema["components"]["schemas"]["AskedObserved"]["properties"]["id"]["enum"] = [text["id"] for text in texts]
        statuses, failed = fuzz(schema, page)
    assert not failed
    assert len(operations) == 9
    for operation in operations:
        assert statuses[operation, 200] >= 1
        assert statuses[operation, 405] >= 1
        assert operation == "GET /api/models" or statuses[operation, 422] >= 10
    assert statuses.total() > 300
