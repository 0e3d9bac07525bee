"""Keys that stand twice in a mapping: warned about with the rendering, and never shown as they are written."""

from __future__ import annotations

import yaml

from design_rendering import design_text, load_documents, redacted_text, render
from design_rendering.validation import validate

TEXT = """\
---
# a comment
schema: armada/Chart/v1
metadata: {name: plain, storagePolicy: cleartext, layeringDefinition: {layer: site}}
data: {a: 1, b: 2}
---
schema: armada/Chart/v1
metadata: {name: twice, storagePolicy: cleartext, layeringDefinition: {layer: site}}
data:
  auth: {password: hunter2hunter2}
  auth: {user: u}
"""


def test_each_is_a_warning_of_the_design() -> None:
    documents = load_documents(TEXT, "s.yaml")
    for found in (render(documents).warnings, validate(documents, draft=True), validate(documents)):
        assert [str(one) for one in found if "already there" in one.message] == [
            "s.yaml:11: $.data.auth: the key 'auth' is already there on line 10; this one is taken"
        ]


def test_what_is_not_taken_is_neither_given_away_nor_given_on() -> None:
    documents = load_documents(TEXT, "s.yaml")
    for text in (redacted_text(TEXT, documents), design_text(render(documents))):
        assert "hunter2" not in text
        assert "# a comment" in redacted_text(TEXT, documents)
        assert [one["data"] for one in yaml.safe_load_all(text)] == [{"a": 1, "b": 2}, {"auth": {"user": "u"}}]
