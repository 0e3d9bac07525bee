"""A hint for names that do not exist: the ones that look most like them."""

from collections.abc import Collection
from difflib import get_close_matches


def suggestion(name: str, names: Collection[str]) -> str:
    """Return ` Did you mean a or b?` with the nearest names, or nothing when none is near."""
    near = get_close_matches(name, sorted(names), n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(near)}?" if near else ""
