"""The hint behind a name that does not exist: the known names that look most like it."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

# Looking for what is alike takes long among many long names.
_LONGEST = 64
# Looking for what is alike takes long among many names: about as many comparisons as take one second.
_MOST_COMPARED = 50_000


def nearest(name: str, known: Collection[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the known names that look most like one, the best first; of 0 to 1, `cutoff` is how alike at least."""
    same = [one for one in sorted(known) if one.casefold() == name.casefold()]
    return same[:most] or get_close_matches(name[:_LONGEST], known, most, cutoff)


def did_you_mean(
    name: str,
    known: Collection[str],
    otherwise: str | None = None,
    *,
    most: int = 1,
    cutoff: float = 0.6,
    quoted: bool = True,
) -> str:
    """Return what to write instead of a name that does not exist: "did you mean 'deploy_site'?".

    Parameters
    ----------
    otherwise : what is said where nothing is near; None: all that is known.
    most : how many names are offered at most.
    cutoff : how alike they are at least, from 0 to 1.
    quoted : whether names stand in quotes; the fields of documents do not.
    """
    near = nearest(name, known, most, cutoff)
    if near:
        return f"did you mean {' or '.join(map(repr, near) if quoted else near)}?"
    return f"known are {', '.join(known)}" if otherwise is None else otherwise


def suggestion(name: str, known: Collection[str], *, most: int = 3, cutoff: float = 0.5) -> str:
    """Return the same as a sentence of its own, to be put behind another: " Did you mean a or b?"; "" without any."""
    hint = did_you_mean(name, known, "", most=most, cutoff=cutoff, quoted=False)
    return f" {hint[0].upper()}{hint[1:]}" if hint else ""


class Hints:
    """Hints for many names that do not exist, of one design: no more than can be looked for in a second."""

    def __init__(self, cutoff: float = 0.7) -> None:
        """Of 0 to 1, `cutoff` is how alike at least."""
        self._cutoff = cutoff
        self._left = _MOST_COMPARED

    def of(self, name: str, known: Collection[str]) -> str:
        """Return what is put behind a sentence: "; did you mean 'oam'?"; "" where nothing is near."""
        self._left -= len(known)
        hint = did_you_mean(name, known, "", cutoff=self._cutoff) if self._left >= 0 else ""
        return f"; {hint}" if hint else ""
