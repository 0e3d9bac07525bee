"""The command `slipway`."""

import contextlib
import importlib.resources
import sys
from collections.abc import Iterator

INTERRUPTED_EXIT = 130
"""The exit status of a command that Ctrl-C has ended: a shell's own for it."""


class SlipwayCliError(Exception):
    """The command cannot do what was asked; the message says why and what to do. The root of this package's errors."""


_HEADING = """\
# The versions of all packages that this version of Slipway was tested with, as constraints for pip. To use them:
#   slipway constraints > constraints.txt
#   pip install -c constraints.txt "$(ls slipway-*.whl)[celery,fab,postgres,redis]"
"""


def constraints_text() -> str:
    """Return the versions that fit together, as constraints for pip; it needs no package besides Slipway."""
    text = (importlib.resources.files("slipway_cli") / "data" / "constraints.txt").read_text(encoding="utf-8")
    # What the file begins with is about how it was made.
    return _HEADING + "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """End with status 130 and one line on Ctrl-C, where nobody nearer to it has said what became of the work."""
    try:
        yield
    except KeyboardInterrupt:
        # A terminal has written ^C where the cursor stood.
        print("\ninterrupted" if sys.stderr.isatty() else "interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED_EXIT) from None
