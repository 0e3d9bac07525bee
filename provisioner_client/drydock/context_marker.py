"""The marker that ties Drydock's log to ours. Drydock takes a UUID of version 4 and ignores everything else."""

from __future__ import annotations

import hashlib
import uuid


def marker_of(text: str | None) -> str:
    """Give this text if it is such a UUID, one that is made of it if it is not, a random one for None."""
    if text is None:
        return str(uuid.uuid4())
    try:
        given = uuid.UUID(text)
    except ValueError:
        given = None
    if given is not None and given.version == 4:
        return str(given)
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))
