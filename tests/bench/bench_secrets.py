"""What a task spends on the secrets of its design, in seconds of its processor.

Run it as `python -m tests.bench.bench_secrets`: a revision of 2,000 nodes with 10,000 secrets is committed as the API
does; then everything about secrets is done that a task does. Prints a table; exits 1 when the target is missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from design_rendering.reading.documents import load_documents
from design_rendering.redaction import Redactor
from design_rendering.rendering import design_text, render, secret_texts
from site_store import NewRevision, RevisionSecrets, SiteStore
from tests.bench.harness import Table, new_store
from tests.support.large_sites import large_site, secret_documents, secret_of

NODES, SECRETS = 2000, 10_000
TARGET = 1.0
_Result = TypeVar("_Result")


def main() -> int:
    """Measure, print, judge."""
    table = Table(f"{SECRETS:,} secrets, seconds of the processor")
    spent: list[float] = []

    def measured(label: str, work: Callable[[], _Result]) -> _Result:
        began = time.process_time()
        result = work()
        spent.append(time.process_time() - began)
        table.row(label, spent[-1], unit="s")
        return result

    text = large_site(NODES) + secret_documents(SECRETS)
    documents = load_documents(text, "design")
    rendering = render(documents)
    found = measured("at the commit, once: what is secret", lambda: secret_texts(documents, rendering))
    # As much as a provisioner says about every node of the site, in eight messages of the length at which it cuts them.
    words = [f"node-{number % NODES:05}: Error: cannot log in as admin, {'and so on ' * 9}" for number in range(16_000)]
    words[::100] = [f"{word[:40]}{secret_of(number)}" for number, word in enumerate(words[::100])]
    with new_store() as url, SiteStore.open(url) as store:
        members = [("design", document) for document in documents]
        rendered = design_text(rendering)
        store.revisions.commit(
            NewRevision("large", {"design": text}, members, rendered, "bench", hidden=RevisionSecrets(found))
        )
        secrets = measured("in a task: read the secrets", lambda: store.revisions.secrets("large", 1))
    assert secrets is not None
    redactor = measured("in a task: prepare", lambda: Redactor(secrets.texts))
    shown = measured("in a task: look through 16,000 messages", lambda: [redactor.redact(word) for word in words])
    assert sum("***" in word for word in shown) == len(words) // 100
    table.row("in a task, altogether", sum(spent[1:]), TARGET, "s")
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
