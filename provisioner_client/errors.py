"""What can go wrong between Slipway and a provisioner, by what the caller can do about it.

It holds no translation of answers into errors (that is `http_errors`); no text here ever carries a credential.
"""

from __future__ import annotations


class ProvisionerError(Exception):
    """The provisioner could not do what was asked. Read the detail; the provisioner's own log has more.

    Parameters
    ----------
    detail : what happened, in a plain sentence. The first sentence of the class's docstring stands before it.
    status : the HTTP status, where there was an answer.
    said : the server's own words alone, without the request; "": it said nothing.
    """

    said = ""
    answered = False

    def __init__(self, detail: str = "", *, status: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status

    @property
    def may_be_done(self) -> bool:
        """Whether what was asked for may have been done all the same, as far as this tells."""
        return True

    @property
    def is_of_all(self) -> bool:
        """Whether it says nothing of what was asked for: the provisioner is not reached, or refuses the credentials."""
        return False

    def __str__(self) -> str:
        lines = [line.strip() for line in (type(self).__doc__ or "").strip().splitlines()]
        base = lines[0] if lines else type(self).__name__
        if not self.detail:
            return base
        return f"{base.split('. ')[0].rstrip('.')}: {self.detail}"


class ProvisionerUnavailable(ProvisionerError):
    """The provisioner did not give a usable answer. Try again later: nothing is known to be wrong with the request.

    Parameters
    ----------
    detail, status : as for `ProvisionerError`.
    retry_after : seconds that the provisioner asked to wait.
    reached : False when no connection was made, so that the request certainly had no effect.
    timed_out : True when the answer did not come in time: the provisioner may still be working on the request.
    answered : True when the provisioner itself said so, as for `ProvisionerRefused`.
    """

    def __init__(
        self,
        detail: str = "",
        *,
        status: int | None = None,
        retry_after: float | None = None,
        reached: bool = True,
        timed_out: bool = False,
        answered: bool = False,
    ) -> None:
        super().__init__(detail, status=status)
        self.answered = answered
        self.retry_after = retry_after
        self.reached = reached
        self.timed_out = timed_out

    @property
    def may_be_done(self) -> bool:
        return self.reached

    @property
    def is_of_all(self) -> bool:
        return not self.reached

    def __str__(self) -> str:
        if self.reached or not self.detail:
            return super().__str__()
        return f"The provisioner cannot be reached: {self.detail}"


class SubmissionUncertain(ProvisionerUnavailable):
    """It is not known whether the provisioner took the task. Submit again with the same reference."""


class DesignUnreadable(ProvisionerUnavailable):
    """The provisioner cannot read the design at its address, and may remember that. Does it reach Slipway's URL?"""


class ProvisionerRefused(ProvisionerError):
    """The provisioner refuses the request. Repeating it will not help: correct what the detail names.

    Parameters
    ----------
    detail, status : as for `ProvisionerError`.
    answered : True when the provisioner itself said so, as the shape of the answer shows; a proxy may say as much of a
        request that it has passed on.
    """

    def __init__(self, detail: str = "", *, status: int | None = None, answered: bool = False) -> None:
        super().__init__(detail, status=status)
        self.answered = answered

    @property
    def may_be_done(self) -> bool:
        return not self.answered


class SubmissionRefused(ProvisionerRefused):
    """The provisioner did not take the task, and never will. Correct what the detail names, then start again."""


class DesignEmpty(ProvisionerRefused):
    """The provisioner sees no node in the design. How does it read designs, and what did it get at the address?"""


class AuthenticationFailed(ProvisionerRefused):
    """The provisioner does not accept the credentials. Check token, user, project and role of its connection."""

    @property
    def may_be_done(self) -> bool:
        return False

    @property
    def is_of_all(self) -> bool:
        return self.status == 401


class TaskNotFound(ProvisionerRefused):
    """The provisioner does not know this task. It was purged or lost: look at the nodes, then start a new action."""


class NoTaskListed(ProvisionerUnavailable):
    """The provisioner lists no task at all. Unless it is new, check that it can read its database."""


class ProvisionerProtocolError(ProvisionerError):
    """The provisioner's answer cannot be understood. Check that the URL is its own and that no proxy answers for it."""
