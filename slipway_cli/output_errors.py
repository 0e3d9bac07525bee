"""Output that cannot be written (a full disk, say) told in one line. It knows streams, not what is written to them."""

import contextlib
import errno
import os
import sys
from typing import Any

from slipway_cli.lazy import LazyGroup

FAILURE_EXIT = 1
# What writing to an open file can end in. A reader that has gone away (EPIPE) is not among them: click ends silently.
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EROFS}


class CandidGroup(LazyGroup):
    """A group of commands that ends with status 1 and a sentence when output cannot be written."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command as click does."""
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            _tell(error)
            sys.exit(FAILURE_EXIT)


def _tell(error: OSError) -> None:
    _discard(sys.stdout)
    try:
        print(f"Error: {error.filename or 'the output'} cannot be written: {error.strerror}.", file=sys.stderr)
    except OSError:
        _discard(sys.stderr)


def _discard(stream: Any) -> None:
    """Let what is still in the stream's buffer go nowhere: Python would try it again at its end, and complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
