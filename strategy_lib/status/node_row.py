"""A node of a site: what is wanted of it, what was last done to it, and when its error is history (rule 46)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from strategy_lib.status.words import Status

DRIFTED = "drifted: "
"""The error of a drift begins so."""


def is_superseded(
    version: int | None, wanted_version: int | None, *, revision: int | None = None, wanted_revision: int | None = None
) -> bool:
    """Tell whether an error is about an older version than the one that is wanted (rule 46).

    Parameters
    ----------
    version, wanted_version : the wanted version that it is about, and the one of today; None: not known.
    revision, wanted_revision : the same of revisions, which decide for errors from before versions were counted.
    """
    if version is not None and wanted_version is not None:
        return version < wanted_version
    return revision is not None and wanted_revision is not None and revision < wanted_revision


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node of a site: what is wanted of it, what was last done to it, and how the two stand.

    Attributes
    ----------
    wanted_version : grows with each wanted digest, and each time a person asks for the node again.
    op : the newest operation that touched it.
    done_revision, done_digest, done_version, done_at : empty from the moment a node is claimed until the same
        operation's deploy has succeeded; a node that was found deployed keeps them until it is claimed to be destroyed.
        Versions are those that were handed out with the operation.
    condition : what the provisioner last said of it. `doubt` : why what is recorded as done is not believed.
    owner : who is expected to work on it.
    status, error, fixed : how its newest operation left it. `error_revision`, `error_action`, `error_version` : what
        the error was about; that of a drift names no action.
    provisioner_status, power : the provisioner's own words in the list that was read at `listed_at`.
    standing : how it stands in its site, one of the seven words. `serves` : what it serves meanwhile.
    touched, touched_by : the wanted version at which a person asked for it again, and who.
    failures : tries since the last success, new version or touch; `next_try` is when the next one is due.
    version : of the record itself.
    groups : those of the committed strategy that it is in, where they were read.
    """

    site: str
    name: str
    wanted_revision: int | None = None
    wanted_digest: str | None = None
    op: int | None = None
    done_revision: int | None = None
    done_digest: str | None = None
    done_at: datetime | None = None
    condition: str | None = None
    doubt: str | None = None
    owner: str | None = None
    status: str | None = None
    error: str | None = None
    error_revision: int | None = None
    error_action: str | None = None
    fixed: str | None = None
    first_updated: datetime | None = None
    last_updated: datetime | None = None
    rack: str | None = None
    provisioner_status: str | None = None
    power: str | None = None
    listed_at: datetime | None = None
    standing: str = "pending"
    serves: str = "nothing"
    wanted_version: int | None = None
    touched: int | None = None
    touched_by: str | None = None
    done_version: int | None = None
    error_version: int | None = None
    failures: int = 0
    next_try: datetime | None = None
    version: int = 1
    groups: tuple[str, ...] = ()

    @property
    def is_asked_for_again(self) -> bool:
        """Whether a person asked for it again since it was last done (`touch`)."""
        return self.touched is not None and (self.done_version is None or self.done_version < self.touched)

    @property
    def is_up_to_date(self) -> bool:
        """Whether what was done is what is wanted, beyond doubt, and nobody asked for it again since."""
        same = self.wanted_digest is not None and self.wanted_digest == self.done_digest and self.doubt is None
        return same and not self.is_asked_for_again

    @property
    def drift(self) -> str | None:
        """What is no longer as it was left, and since when, whatever is wanted by now (rule 56); None: nothing."""
        if self.status not in (Status.PROCESSING, Status.ERROR) or self.error is None or self.error_action is not None:
            return None
        return self.error.removeprefix(DRIFTED)

    @property
    def has_failed(self) -> bool:
        """Whether it has drifted (rule 56), or has failed in no older version than the one that is wanted (rule 46)."""
        if self.status != Status.ERROR:
            return False
        return self.drift is not None or not is_superseded(
            self.error_version,
            self.wanted_version,
            revision=self.error_revision,
            wanted_revision=self.wanted_revision,
        )
