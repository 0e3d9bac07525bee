"""Runs Ironic's own program so that its worker ends with it: `python -m slipway_ironic FOLDER`.

The folder has `ironic.conf` and the password of the only user, in the file `password`. It runs in Ironic's environment.
Ironic forks one worker, which holds the port. It would go on where the process that forked it is killed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

import bcrypt
from ironic.command import singleprocess

_PR_SET_PDEATHSIG = 1
USER = "slipway"


def tie_forks() -> None:
    """Have every process that this one forks killed when the one that forked it ends."""
    forking: list[int] = []

    def before() -> None:
        forking[:] = [os.getpid()]

    def after() -> None:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != forking[0]:
            os._exit(1)

    os.register_at_fork(before=before, after_in_child=after)


def write_users(file: Path, password: str) -> None:
    """Write the file of users; Ironic knows passwords as bcrypt alone, and looks into it at each request."""
    # The password is a random one, so nothing is won by a slow digest.
    digest = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(f"{USER}:{digest}\n")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_users(folder / "users", (folder / "password").read_text(encoding="utf-8").strip())
    tie_forks()
    sys.argv[1:] = ["--config-file", str(folder / "ironic.conf")]
    singleprocess.main()
