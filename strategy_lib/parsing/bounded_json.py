"""JSON from outside, with a bound on its depth: whatever is wrong with it is one kind of error.

Its size has a bound where it is received: answers of provisioners and node agents, bodies and parameters of requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

DEEPEST: Final = 64
"""Objects and lists within each other: far more than anybody means, and far less than what Python can take in."""


def read_json(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return what a JSON text says.

    Parameters
    ----------
    parse_constant : as of `json.loads`.

    Raises
    ------
    ValueError : it is no JSON, or is nested deeper than `DEEPEST`.
    """
    try:
        data = json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level = [data]
    for _ in range(DEEPEST):
        level = [
            part
            for one in level
            if isinstance(one, (dict, list))
            for part in (one.values() if isinstance(one, dict) else one)
            if isinstance(part, (dict, list))
        ]
        if not level:
            return data
    raise ValueError(_TOO_DEEP)


_TOO_DEEP = f"the JSON is nested deeper than {DEEPEST}"
