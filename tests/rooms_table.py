"""Which rooms a room may import: the table of tests/test_layers.py, drawn into CONTRIBUTING by docs/rooms.py."""

MODELS = {"data", "engine", "errors", "models", "stats", "version"}

# Every room, left to right, with all that it may import: another name here is a decision, not an accident.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "axes": set(),
    "version": set(),
    "stats": {"errors"},
    "engine": {"errors"},
    "results": {"engine", "errors", "stats"},
    "data": {"engine", "errors", "stats"},
    "models": {"data", "engine", "errors", "stats"},
    "training": {"data", "engine", "errors", "models", "stats"},
    "heads": {"data", "engine", "errors", "models", "stats", "training"},
    "explainers": {"data", "engine", "errors", "heads", "models", "stats", "training"},
    "checks": {"data", "engine", "errors", "explainers", "heads", "models", "results", "stats", "training"},
    "auditing": MODELS | {"checks", "explainers", "results", "training"},
    "studies": {"auditing", "checks", "data", "engine", "errors", "heads", "models", "results", "stats", "training"},
    "report": {"engine", "errors", "results", "stats"},
    "serve": MODELS | {"explainers", "results", "training"},
    "cli": MODELS - {"stats"}
    | {"auditing", "checks", "explainers", "heads", "report", "results", "serve", "studies", "training"},
}
