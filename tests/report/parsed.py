"""A page taken apart: its text, its tags, what it would load, and the data its script gets."""

import json
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "img", "link"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.tags, self.texts, self.scripts, self.styles, self.stack = [], [], {}, "", []
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
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    @property
    def examples(self):
        return json.loads(self.scripts["example-data"])

    @property
    def specs(self):
        return json.loads(self.scripts["figure-specs"])
