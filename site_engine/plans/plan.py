"""What an action would do, as everybody is told it: page, command, API, report, and the answer that creates it.

And how a site goes on from here: which action brings its newest revision about, and what it has to be told. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from design_rendering.changes import DocumentChange
from site_engine.kinds import Override
from site_engine.log_messages import Level, LogLine, by_reason, count, names
from site_engine.plans.differences import NodeDifference
from site_engine.plans.erasures import erased_first
from site_engine.plans.site_rehearsals import UPDATE, DryRun, SiteRehearsal
from strategy_lib.goals.update import Change, Deed, summary
from strategy_lib.phase import Phase, Verdict
from strategy_lib.reports.report import FailedStep

MOST_FIELDS = 20_000
"""Differing fields in one answer; of the documents after them only the names are given."""


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node with something to do.

    Attributes
    ----------
    groups : those that it is in, in processing order.
    documents : what differs between the design that it was done for and the wanted one; None where that is not said.
    deed : what the action does with it.
    kept : why it would not be submitted, though it has something to do.
    allowed_by : what lets an action do it; None where it is done, or nothing lets it.
    """

    difference: NodeDifference
    groups: tuple[str, ...] = ()
    documents: tuple[DocumentChange, ...] | None = None
    deed: Deed = Deed.WITHHOLD
    kept: str | None = None
    allowed_by: str | None = None

    @property
    def is_submitted(self) -> bool:
        """Whether the action does anything with it."""
        return self.deed not in (Deed.WITHHOLD, Deed.LEAVE)

    @property
    def withheld(self) -> str | None:
        """Why the action leaves it alone; None where it does not, or no group has it."""
        return self.difference.withheld or self.kept

    def to_data(self, fields: int) -> dict[str, Any]:
        """Return it as JSON has it, with so many differing fields at most."""
        each = self.difference
        return {
            "name": each.name,
            "change": each.change.value,
            "deed": self.deed.value,
            "reason": each.reason,
            "submitted": self.is_submitted,
            "withheld": self.withheld,
            "allowed_by": self.allowed_by,
            "groups": list(self.groups),
            "done": {"version": each.done_version, "revision": each.done_revision},
            "wanted": {"version": each.wanted_version, "revision": each.wanted_revision},
            "documents": None
            if self.documents is None
            else [
                {
                    "schema": document.schema,
                    "name": document.name,
                    "change": document.change.value,
                    "fields": [one.to_data() for one in document.fields[: max(0, fields)]],
                }
                for document in self.documents
            ],
        }


@dataclass(frozen=True, slots=True)
class GroupChanges:
    """What an action does in a group: with how many of its nodes it does what.

    `failing`: why the group would fail even if every submitted node succeeded; None where it would not.
    """

    name: str
    critical: bool
    depends_on: tuple[str, ...]
    total: int
    counts: Mapping[Deed, int]
    submitted: int
    failing: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of the order that is used: `later` waits for `earlier`; both are groups, or both are nodes."""

    kind: str
    later: str
    earlier: str


@dataclass(frozen=True, slots=True)
class SitePlan:
    """What an action would do.

    Attributes
    ----------
    revision : None before the first commit.
    listed_at : when the provisioner's list was read that it uses; None where none was, and nothing counts as
        deployed.
    nodes : those with something to do, by name.
    unchanged : those that are as wanted, by name: the version and the revision that each was done for.
    groups : in processing order.
    order : waves of nodes that would be submitted: each waits for those before.
    edges : by which edges groups and nodes with something to submit wait for each other, also through others.
    max_parallel_groups, waves : how many groups run side by side, and in which rounds.
    usual : how many seconds operations on the site took, by phase.
    rehearsal : what would be submitted.
    kind : of the action.
    listed : over which connection the list was read, and how many nodes it has.
    is_known : whether the site has a revision, a buffer or an action.
    """

    site: str
    revision: int | None
    listed_at: datetime | None
    nodes: Mapping[str, PlannedNode] = field(default_factory=dict)
    unchanged: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    groups: tuple[GroupChanges, ...] = ()
    order: tuple[tuple[str, ...], ...] = ()
    edges: tuple[Edge, ...] = ()
    max_parallel_groups: int = 1
    waves: tuple[tuple[str, ...], ...] = ()
    usual: Mapping[Phase, float] = field(default_factory=dict)
    rehearsal: SiteRehearsal = field(default_factory=SiteRehearsal)
    kind: str = UPDATE
    listed: tuple[str, int] = ("", 0)
    is_known: bool = True

    @property
    def counts(self) -> Mapping[Deed, int]:
        """With how many nodes it does what, each node once."""
        found = Counter(planned.deed for planned in self.nodes.values())
        found[Deed.LEAVE] += len(self.unchanged)
        return {deed: found[deed] for deed in Deed}

    @property
    def summary(self) -> str:
        """The line that it opens with."""
        return summary(self.counts)

    def nodes_to_data(self, *, with_unchanged: bool = False) -> list[dict[str, Any]]:
        """Return the nodes as JSON has them; `with_unchanged` also those that are as wanted."""
        left = MOST_FIELDS
        shown = []
        for planned in self.nodes.values():
            shown.append(planned.to_data(left))
            left -= sum(len(document["fields"]) for document in shown[-1]["documents"] or ())
        if with_unchanged:
            shown += [_unchanged(name, *done) for name, done in self.unchanged.items()]
            shown.sort(key=lambda node: str(node["name"]))
        return shown

    def names(self, *deeds: Deed) -> list[str]:
        """Return the nodes that it does this with, sorted."""
        return sorted(name for name, planned in self.nodes.items() if planned.deed in deeds)

    @property
    def touched(self) -> list[str]:
        """The deployed nodes that it would submit, sorted."""
        return [name for name in self.names(Deed.REDEPLOY, Deed.DEPLOY) if name in self.rehearsal.deployed]

    @property
    def refusal(self) -> str | None:
        """Why the whole action would be refused; None where it would not."""
        return next((str(each) for each in self.rehearsal.refusals if not each.is_overridden), None)

    @property
    def verdict(self) -> tuple[Verdict, str]:
        """What came of it if every node succeeded, and why, in a sentence."""
        if self.refusal is not None:
            return Verdict.FAILURE, self.refusal
        withheld = any(planned.withheld for planned in self.nodes.values())
        return dry_run_verdict(self.rehearsal.run, groups=bool(self.rehearsal.groups), withheld=withheld)

    def sentences(self) -> Iterator[LogLine]:
        """Say what is done with nodes, and why others are left alone; nothing where it only deploys empty nodes."""
        reasons = {
            name: planned.withheld
            for name, planned in sorted(self.nodes.items())
            if not planned.is_submitted and (planned.groups or planned.difference.change is Change.REMOVE)
        }
        known = {name: why for name, why in reasons.items() if why is not None}
        counts = self.counts
        if not known and not sum(counts.values()) - counts[Deed.DEPLOY] - counts[Deed.WITHHOLD] and not self.touched:
            return
        yield LogLine(f"{self.kind} {self.summary}")
        if anew := self.names(Deed.REDEPLOY, Deed.RELEASE):
            yield LogLine(erased_first(anew), Level.WARNING)
        if again := [name for name in self.touched if self.nodes[name].deed is Deed.DEPLOY]:
            said = f"{count(len(again), 'deployed node')} would be submitted as they are: {names(again)}"
            yield LogLine(said, Level.WARNING)
        if gone := self.names(Deed.REMOVE):
            yield LogLine(f"{count(len(gone), 'node')} would be destroyed: {names(gone)}", Level.WARNING)
        for why, some in by_reason(known).items():
            allowed = self.nodes[some[0]].allowed_by
            more = f" ({allowed} changes that)" if allowed else ""
            yield LogLine(f"{count(len(some), 'node')} withheld: {names(some)}: {why}{more}", Level.WARNING)
        if failing := self.rehearsal.run.judgement.critical:
            groups = "critical group" if len(failing) == 1 else "critical groups"
            said = f"{groups} {', '.join(failing)} would fail even if every submitted node succeeded"
            yield LogLine(said, Level.WARNING)


def _unchanged(name: str, version: int | None, revision: int | None) -> dict[str, Any]:
    since = f"version {version}" if version is not None else f"revision {revision}"
    same = NodeDifference(name, Change.NONE, f"as wanted since {since}", None, version, revision, version, revision)
    return PlannedNode(same, documents=(), deed=Deed.LEAVE).to_data(0)


def dry_run_verdict(
    rehearsal: DryRun, failed: Sequence[FailedStep] = (), *, planned: bool = True, groups: bool, withheld: bool
) -> tuple[Verdict, str]:
    """Return the verdict of a dry run, and why, in a sentence.

    Parameters
    ----------
    failed : steps before the groups that failed.
    planned : there is a plan, or the kind needs none.
    groups : the plan has groups.
    withheld : some nodes would not be submitted though they are not as wanted.
    """
    judged = rehearsal.judgement
    would_fail = groups and judged.verdict is Verdict.FAILURE
    verdict = Verdict.FAILURE if failed or not planned or would_fail else Verdict.SUCCESS
    text = "dry run: nothing was submitted"
    if failed:
        text = f"dry run: {', '.join(step.step for step in failed)} failed"
    elif not planned:
        text = "dry run: there is no plan"
    elif would_fail and judged.nothing:
        text = f"dry run: {judged.nothing}, so nothing would be deployed"
    elif would_fail:
        roots = [name for name in judged.critical if name not in judged.blocked]
        some = f"critical group{'s' if len(roots or judged.critical) > 1 else ''}"
        text = f"dry run: {some} {', '.join(roots or judged.critical)} would {'fail' if roots else 'be blocked'}"
    elif not any(submission.nodes for submission in rehearsal.submissions):
        text = "dry run: nothing would be submitted"
        text += "" if withheld else ", as every node is as wanted already"
    return verdict, text


FIRST = "deploy_site"


@dataclass(frozen=True, slots=True)
class NextStep:
    """An action that brings a site's newest revision about.

    Attributes
    ----------
    kind : which.
    overrides : without these it would leave nodes alone that it is for, or be refused.
    why : what would be so without them; "" where it needs none.
    """

    kind: str
    overrides: tuple[Override, ...] = ()
    why: str = ""

    @property
    def parameters(self) -> Mapping[str, bool]:
        """What a request for it has as parameters."""
        return {each.value: True for each in self.overrides}

    def command(self, site: str) -> str:
        """Return what a person types."""
        flags = "".join(f" --{each.value.replace('_', '-')}" for each in self.overrides)
        return f"slipway create action {self.kind} --site {site}{flags} --follow"

    def to_data(self) -> dict[str, Any]:
        return {"name": self.kind, "parameters": dict(self.parameters), "why": self.why}


def next_kind(revision: int, *, is_done: bool) -> str:
    """Return the kind of action that comes next.

    Parameters
    ----------
    revision : the newest.
    is_done : some of the site's nodes are done.
    """
    return FIRST if revision == 1 and not is_done else UPDATE


def next_step(plan: SitePlan) -> NextStep | None:
    """Return how a site goes on by the plan of an update; None where nothing was committed for it."""
    if plan.revision is None:
        return None
    stays = plan.rehearsal.stays
    is_done = bool(plan.unchanged) or any(each.difference.done_revision is not None for each in plan.nodes.values())
    overrides = tuple(
        override
        for override, is_needed in (
            (Override.ALLOW_REDEPLOY, bool(stays)),
            (Override.MANY_REDEPLOYS, plan.rehearsal.takes_many),
        )
        if is_needed
    )
    said = []
    if stays:
        some = "is" if len(stays) == 1 else "are"
        said.append(
            f"{count(len(stays), 'node')} {some} deployed otherwise than wanted, and left alone without "
            f"allow_redeploy, which erases and deploys anew: {names(stays)}"
        )
    if plan.rehearsal.takes_many:
        said.append("these are more than the settings of the site allow at once, without many_redeploys")
    return NextStep(next_kind(plan.revision, is_done=is_done), overrides, "; ".join(said))
