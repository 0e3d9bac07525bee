"""Runs a program that ends when its parent does, as another user if asked: `… PARENT-PID SIGNAL UID:GID PROGRAM …`."""

from __future__ import annotations

import os
import sys

from slipway_cli.embedded.lifeline import die_with_parent

SAME_USER = "-"
"""In place of UID:GID: the user stays the same."""


def launch_command(number: int, user: tuple[int, int] | None, program: str, *arguments: str) -> list[str]:
    """How to run a program so that it gets signal `number` when this process dies.

    Parameters
    ----------
    user : user id and group id to run it as (only root may), without any further group; None: as the caller.
    """
    ids = SAME_USER if user is None else f"{user[0]}:{user[1]}"
    launcher = [sys.executable, "-P", "-m", "slipway_cli.embedded.program_launcher"]
    return [*launcher, str(os.getpid()), str(number), ids, program, *arguments]


def main() -> None:
    """Become the program; ends at once if the parent is gone already."""
    parent, number, ids, program, *arguments = sys.argv[1:]
    if ids != SAME_USER:
        uid, gid = (int(part) for part in ids.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # After the change of the user, which forgets it.
    if not die_with_parent(int(parent), int(number)):
        sys.exit("the parent is gone")
    os.execv(program, [program, *arguments])  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    main()
