"""A page taken apart: its text, its tags, what it would load, and the data its script gets."""

import json
import re
from html import unescape
from html.parser import HTMLParser

from heatcheck.report.packed import ALPHABET, LOWEST

VOID = {"meta", "input", "br", "img", "link"}


def plain(source):
    """Markup as the words that are seen, and what stands between them as one space."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", re.sub(r"(?<=>)\s+|</(?:td|th|p|dt|dd)>", " ", source))).split())


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.tags, self.texts, self.scripts, self.styles, self.stack = [], [], {}, "", []
        self.inside, self.glossed = None, False  # the element whose text was last read, and whether in a link
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.close()
        assert self.stack == [], "every tag is closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack.pop()[0] == tag

    def handle_data(self, data):
        tag, attrs = self.stack[-1] if self.stack else ("", {})
        if tag == "script":
            key = attrs.get("id", f"script {len(self.scripts)}")
            self.scripts[key] = self.scripts.get(key, "") + data
        elif tag == "style":
            self.styles += data
        else:
            # A link to the glossary parts no sentence: what stands before, in and after it is one text.
            inside = self.stack[-2:-1] if attrs.get("class") == "term" else self.stack[-1:]
            if inside and inside[0] is self.inside and (self.glossed or attrs.get("class") == "term"):
                self.texts[-1] += data
            else:
                self.texts.append(data)
            self.inside, self.glossed = (inside or [None])[0], attrs.get("class") == "term"

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def section(self, name):
        """The source of a section."""
        return self.source[self.source.index(f'<section id="{name}"') :].partition("</section>")[0]

    def line(self, short):
        """The source of a line of the card: the row that is seen, and what is folded beneath it."""
        whole = self.source[self.source.index(f'<details class="line bulk" id="line-{short}">') :]
        return whole.partition("</details>")[0].split("</summary>")

    @property
    def examples(self):
        return json.loads(self.scripts["example-data"])

    @property
    def specs(self):
        return json.loads(self.scripts["figure-specs"])


def read(text, digits):
    """What the page's script makes of it, written a second time."""
    found = []
    for start in range(0, len(text), digits):
        code = 0
        for character in text[start : start + digits]:
            code = 64 * code + ALPHABET.index(character)
        if code < 2:
            found.append(0.0 if code else None)
            continue
        first, rest = 10 ** (digits - 1), (code - 2) // 2
        sign = "-" if code % 2 else ""
        found.append(float(f"{sign}{first + rest % (9 * first)}e{LOWEST + rest // (9 * first) - digits + 1}"))
    return found
