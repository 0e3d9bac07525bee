"""Names from documents made safe to show: nothing in them can steer a terminal or break an XML file."""

from collections.abc import Collection

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """Return the text on one line with every control character replaced by one that can be seen."""
    return "".join(c if c.isprintable() else " " if c == "\n" else REPLACEMENT for c in text)


def listed(names: Collection[str], limit: int = 12) -> str:
    """Return names in a sentence: `a, b and 3 more`; all of them when there are at most `limit`."""
    shown = [printable(name) for name in list(names)[:limit]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def counted(number: int, noun: str) -> str:
    """Return `1 node`, `2 nodes`, `2 strategies`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("gy") else f"{number} {noun}s"
