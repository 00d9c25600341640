"""What shared/voice.md asks of sentences that users see, as far as a program can tell.

    python tests/voice.py                       # everything that breaks a rule, file by file
    python tests/voice.py src/heatcheck/data    # of some files or folders
    python tests/voice.py --long docs           # of pages and docstrings too: sentences over 25 words

Phrases are banned that are wrong in every context; single words such as "texts" or "looks" are not. Sentences of at
most 25 words, and none that begins with "Of", "That", "What is" or "Where", are asked of what the program says: every
text in the source that is a sentence, docstrings of commands (they are the help), templates, and pages of the docs.
Other docstrings are held to the banned phrases.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "heatcheck"
LONGEST = 25  # words of a sentence
FEWEST = 4  # words that make a text of the source a sentence: fewer are names, keys and labels

THINGS = "word|text|model|seed|label|line|step|row|task|example|token|control|check|direction|head|layer|page|class|fit"
# A pattern, and what to write instead.
BANNED = {
    r"commonest label|commonest one": "majority class",
    rf"\b(?:a|one) \w+ a (?:{THINGS})\b": "one … per …",  # "a row a model", "one importance a word"
    rf"\b(?:once|twice|texts|examples|draws|shuffles|seconds) a (?:{THINGS})\b": "per …",
    r"\b(?:have|has|with) no sign\b|unsigned rival|\bhave not a sign\b": "methods that rank words without a sign",
    r"\b(?:made|fitted|trained) again\b|other fits\b": "retrained; retrained models",
    r"\bput in(?:to)?\b(?! (?:order|quotes|one|a |an |your|front))": "imposed; replaced",
    r"\bmoot\b": "cannot be asked here",
    r"\bheld fixed\b|\bholds fixed\b": "what stays the same",
    r"\bread against\b": "baseline; compared with",
    r"\bwrites? texts?\b|\bmodels that write\b": "sequence-to-sequence models; generates",
    r"\b(?:is|are|was|were) not looked at\b": "does not use; was not audited",
    r"\bwhat was found\b": "results",
    r"\bnobody knows how it was made\b": "it has no training recipe",
    r"\blies? across\b": "straddles; includes",
    r"\bnot surely\b": "not significantly",
    r"\bis behind the answer\b": "the answer is computed from",
    r"\ba text of its own\b|\bthe texts that are here\b": "name them",
    r"\bgo(?:es)? on where it (?:was|stopped)\b": "Run the same command again to resume.",
    r"\bhas not one label\b|\bhave not one label\b": "does not have exactly one label",
    r"\bdecides more than once\b": "makes several decisions per text",
    r"\bwhen the watching ends\b": "right-censoring",
    r"\bnot the reason for the answer\b": "other weights mostly give the same answer",
    r"\bwhich no heatmap has\b": "which no attention heatmap has",
}
STARTS = r"^(?:Of|That|What is|Where)\b"


class Fault(NamedTuple):
    """Where a sentence breaks a rule."""

    place: str
    rule: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}\n    {self.words}"


def faults_of(text: str, place: str, *, every_rule: bool) -> Iterator[Fault]:
    """What breaks a rule in one text; `every_rule`: also how long sentences are and how they begin."""
    for pattern, instead in BANNED.items():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            start, end = max(0, found.start() - 40), found.end() + 40
            yield Fault(place, f"say “{instead}”, not “{found[0]}”", " ".join(text[start:end].split()))
    if not every_rule:
        return
    for sentence in sentences(text):
        words = re.findall(r"[\w’'%.…-]*\w[\w’'%.…-]*", sentence)
        if len(words) > LONGEST:
            yield Fault(place, f"{len(words)} words in a sentence", sentence)
        if len(words) >= FEWEST and re.search(STARTS, sentence):
            yield Fault(place, "begins with Of, That, What is or Where", sentence)


def sentences(text: str) -> list[str]:
    """The sentences of a text: an empty line ends one, and so does a stop before a space."""
    parts = re.split(r"(?<=[.!?])[”’)\]\"']*\s+|\n\s*\n", text)
    return [part for part in (" ".join(part.split()) for part in parts) if part]


def texts_of(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Each text of a file, its place, and whether every rule holds for it."""
    name = str(path.relative_to(ROOT))
    if path.suffix == ".py":
        for line, text, said in _of_python(path):
            yield text, f"{name}:{line}", said
    elif path.suffix in (".jinja", ".html"):
        yield from ((text, f"{name}:{line}", True) for line, text in _of_template(path.read_text()))
    elif path.suffix == ".js":
        yield from ((text, f"{name}:{line}", True) for line, text in _of_script(path.read_text()))
    elif path.suffix == ".md":
        yield from ((text, f"{name}:{line}", False) for line, text in _of_page(path.read_text()))


def _of_python(path: Path) -> Iterator[tuple[int, str, bool]]:
    tree = ast.parse(path.read_text())
    docstrings = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings[first.value] = node
    inside = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else "X" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside - docstrings.keys():
            text = node.value
        else:
            continue
        owner = docstrings.get(node)
        if owner is not None:
            yield node.lineno, _without_code(text), _is_command(path, owner)
        elif len(re.findall(r"[A-Za-z’]{2,}", text)) >= FEWEST and " " in text.strip():
            yield node.lineno, text, True


def _is_command(path: Path, owner: ast.AST) -> bool:
    """Whether a docstring is the help of a command."""
    if "cli" not in path.parts or not isinstance(owner, ast.FunctionDef) or owner.name.startswith("_"):
        return False
    return any("typer" in ast.unparse(one) for one in (*owner.args.args, *owner.decorator_list) if one) or any(
        argument.annotation is not None and "Annotated" in ast.unparse(argument.annotation)
        for argument in owner.args.args
    )


def _without_code(text: str) -> str:
    """A docstring without its examples."""
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith((">>>", "...", "$")))


def _of_template(text: str) -> Iterator[tuple[int, str]]:
    """What stands between tags; what is filled in counts as one word."""
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|<(script|style)\b.*?</\1>", _blank, text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", lambda found: "X" + "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    inline = r"</?(?:b|i|em|strong|small|span|a|kbd|code|abbr)\b[^>]*>"
    text = re.sub(inline, "", text)
    line = 1
    for part in re.split(r"(<[^>]*>)", text):
        if not part.startswith("<") and len(re.findall(r"[A-Za-z’]{2,}", part)) >= FEWEST:
            yield line, part
        line += part.count("\n")


def _of_script(text: str) -> Iterator[tuple[int, str]]:
    for found in re.finditer(r"\"([^\"\n]+)\"|'([^'\n]+)'|`([^`]+)`", text):
        said = re.sub(r"\$\{[^}]*\}", "X", next(filter(None, found.groups())))
        if len(re.findall(r"[A-Za-z’]{2,}", said)) >= FEWEST and " " in said.strip() and not re.search(r"[<{=]", said):
            yield text.count("\n", 0, found.start()) + 1, said


def _of_page(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables, without what stands between fences."""
    text = re.sub(r"^```.*?^```", _blank, text, flags=re.DOTALL | re.MULTILINE)
    line = 1
    for part in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.) ?))", text):
        if part.lstrip().startswith("|"):
            yield from ((line, cell) for cell in part.split("|") if cell.strip())
        elif part.strip():
            yield line, part
        line += part.count("\n")


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def files(places: list[Path]) -> Iterator[Path]:
    """The files in these places whose words users see."""
    for place in places:
        found = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in found:
            if path.suffix in (".py", ".jinja", ".html", ".js", ".md") and "_build" not in path.parts:
                yield path


def faults(places: list[Path], *, long: bool = False) -> list[Fault]:
    """Everything that breaks a rule; `long`: every rule for pages too."""
    return [
        fault
        for path in files(places)
        for text, place, said in texts_of(path)
        for fault in faults_of(text, place, every_rule=said or long)
    ]


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    everywhere = [SOURCE, ROOT / "docs", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = faults([Path(one).resolve() for one in given] or everywhere, long="--long" in sys.argv)
    sys.stdout.write("\n".join([*map(str, found), f"\n{len(found)} in all\n"]))
    sys.exit(bool(found))
