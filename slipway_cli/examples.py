"""Examples at the end of a command's help, one a line."""


def examples(*lines: str) -> str:
    """Return the epilog of a command, which click is not to fold."""
    return "\b\nExample:\n  " + lines[0] if len(lines) == 1 else "\b\nExamples:\n  " + "\n  ".join(lines)
