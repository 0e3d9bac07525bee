"""Whether an action may be made: the kind, its revision, target nodes, secrets, and the critical groups.

Each function looks at one thing and returns all that is against it, as values. The REST API and the operators only
translate these: a problem has one sentence, however the action is started.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from design_rendering.design import Design
from site_engine.kinds import KINDS, ActionKind, Override
from site_engine.log_messages import count
from site_engine.parameters import TARGET_NODES, ActionParameters
from site_store import ActionRecord, Version
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.groups.rolling import refuse_many_redeploys, shortfalls
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.user_state import UserState, not_serving
from strategy_lib.parsing.site_settings import SiteSettings

_MOST_DETAILS = 200
_DETAILS_IN_A_SENTENCE = 5
# Looking for a similar name takes long among many.
_HINTS = 3
_LISTED = 20


class Ground(StrEnum):
    """What speaks against an action."""

    NO_KIND = "body"
    KIND = "name"
    TARGETS = "target_nodes"
    REVISION = "revision"
    SITE = "SiteBusy"
    INTERMEDIATE_COMMITS = "IntermediateCommits"
    SECRETS = "Secrets"
    CRITICAL_GROUPS = "CriticalGroups"
    REDEPLOYS = "ManyRedeploys"
    OUT_OF_USE = "OutOfUse"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that speaks against an action.

    Attributes
    ----------
    ground : which one.
    text : what is wrong and what helps, in a sentence.
    details : a sentence for each node or group that it concerns.
    is_overridden : the action's parameters set it aside: it is a warning.
    """

    ground: Ground
    text: str
    details: tuple[str, ...] = ()
    is_overridden: bool = False

    def __str__(self) -> str:
        shown = self.details[:_DETAILS_IN_A_SENTENCE]
        more = len(self.details) - len(shown)
        parts = (*shown, *((f"and {more} more",) if more else ()), self.text)
        return "; ".join(parts).replace("?;", "?")


def requested_kind(name: object) -> ActionKind | Refusal:
    """Return the kind of action that a request names, or why there is none."""
    supported = ", ".join(tuple(KINDS))
    if not isinstance(name, str) or not name:
        return Refusal(Ground.NO_KIND, f"the body needs a name: the kind of action, one of {supported}")
    known = KINDS.get(name)
    if known is not None:
        return known
    hint = did_you_mean(name, tuple(KINDS), f"supported are {supported}")
    return Refusal(Ground.KIND, f"there is no kind of action {name[:64]!r}; {hint}")


def busy_site(other: ActionRecord) -> Refusal:
    """Return that a site is taken by another action, which is named."""
    # A run that was started in Airflow has an id of its own.
    run = "" if other.run_id is None or other.run_id.endswith(other.id) else f", run {other.run_id!r}"
    text = (
        f"site {other.site} is busy: action {other.id} ({other.kind}, by {other.user}, {other.state}{run}) "
        f"is on it since {other.created:%Y-%m-%d %H:%M:%S} UTC; wait for it to end, or stop it"
    )
    return Refusal(Ground.SITE, text)


def judge_revision(
    kind: ActionKind, parameters: ActionParameters, site: str, versions: Mapping[Version, int | None]
) -> tuple[int, list[Refusal]]:
    """Return the revision that an action is to bring about (0 if there is none), and what speaks against it.

    Parameters
    ----------
    versions : the site's versions.
    """
    newest = versions[Version.COMMITTED]
    if newest is None:
        return 0, [
            Refusal(Ground.REVISION, f"site {site} has no committed revision: commit its documents first"),
        ]
    revision = parameters.revision or newest
    if revision > newest:
        return 0, [Refusal(Ground.REVISION, f"site {site} has no revision {revision}; its newest is {newest}")]
    skipped = _skipped_by(kind, parameters, versions, revision)
    if not skipped or kind.passes_over or parameters.allow_intermediate:
        return revision, []
    text = _would_pass_over(site, versions[Version.LAST_SITE_ACTION], skipped, revision)
    return revision, [Refusal(Ground.INTERMEDIATE_COMMITS, text)]


def passed_over(
    kind: ActionKind, parameters: ActionParameters, site: str, versions: Mapping[Version, int | None], revision: int
) -> str | None:
    """Return the sentence that names the revisions that an action passes over, None where there are none."""
    skipped = _skipped_by(kind, parameters, versions, revision)
    if not skipped:
        return None
    return (
        f"revision {revision} passes over {_listed(skipped)} of site {site}, committed since the last action on the "
        "whole site: what was changed there comes with it, unless it was changed again"
    )


def _skipped_by(
    kind: ActionKind, parameters: ActionParameters, versions: Mapping[Version, int | None], revision: int
) -> range:
    last = versions[Version.LAST_SITE_ACTION]
    return skipped_commits(last, revision) if parameters.is_whole_site(kind) else range(0)


def skipped_commits(newest_site_action: int | None, revision: int) -> range:
    """Return the revisions that were committed since the last site action and would never be deployed by themselves.

    Revisions are numbered from 1 without gaps.
    """
    return range((newest_site_action or 0) + 1, revision)


def judge_parameters(kind: ActionKind, parameters: ActionParameters) -> list[Refusal]:
    """Return what is wrong with the parameters whatever the design is."""
    if kind.targeted and parameters.target_nodes is None:
        return [Refusal(Ground.TARGETS, f"{kind.name} needs the parameter {TARGET_NODES}: name the nodes")]
    if parameters.target_nodes is not None and kind.prunes and parameters.allows(Override.PRUNE):
        text = f"{Override.PRUNE} concerns the whole site: leave out {TARGET_NODES}, or {Override.PRUNE}"
        return [Refusal(Ground.TARGETS, text)]
    if parameters.target_nodes == ():
        return [Refusal(Ground.TARGETS, f"{TARGET_NODES} names no node: name at least one, or leave it out")]
    return []


def judge_design(
    parameters: ActionParameters, site: str, revision: int, design: Design | None, exposed: Sequence[str]
) -> list[Refusal]:
    """Return what speaks against an action by its design: secrets that would be seen, and nodes that are not in it.

    Parameters
    ----------
    design : None where it cannot be read.
    exposed : a sentence for each secret in groups and settings, which everybody may see.
    """
    found = []
    if exposed:
        text = f"revision {revision} of site {site} shows secrets: mend it, commit, and start a new action"
        found.append(Refusal(Ground.SECRETS, f"{text}; force does not help here", tuple(exposed[:_MOST_DETAILS])))
    if parameters.target_nodes is None:
        return found
    if design is None:
        text = f"the nodes of revision {revision} cannot be read, so {TARGET_NODES} cannot be checked"
        return [*found, Refusal(Ground.TARGETS, text)]
    known = [node.name for node in design.nodes]
    missing = sorted(set(parameters.target_nodes).difference(known))
    if missing:
        nodes = "1 node" if len(missing) == 1 else f"{len(missing)} nodes"
        text = f"{TARGET_NODES} names {nodes} that revision {revision} of site {site} does not have"
        named = enumerate(missing[:_MOST_DETAILS])
        details = tuple(_not_there(name, known if place < _HINTS else ()) for place, name in named)
        found.append(Refusal(Ground.TARGETS, text, details))
    return found


def judge_named_nodes(
    kind: ActionKind,
    parameters: ActionParameters,
    site: str,
    out_of_use: Mapping[str, str],
    theirs: Mapping[str, str],
) -> list[Refusal]:
    """Return that an action names nodes that are not to be touched: nothing is then done to the others either.

    Parameters
    ----------
    out_of_use : nodes that an administrator has taken out of use (rule 51), each with the reason
        (`UserStates.left_out`).
    theirs : nodes that somebody else has at the provisioner (rule 56), each with what is said of it.
    """
    found, targets = [], frozenset(parameters.target_nodes or ())
    if named := sorted(out_of_use.keys() & targets):
        text = (
            f"{kind.name} names {count(len(named), 'node')} out of use, and no override helps: set what is to be used "
            f"again up, or name other nodes: {set_up_command(named, site)}"
        )
        details = tuple(f"{name} is {out_of_use[name]}" for name in named[:_MOST_DETAILS])
        found.append(Refusal(Ground.OUT_OF_USE, text, details))
    if named := sorted(theirs.keys() & targets):
        text = f"{kind.name} names {count(len(named), 'node')} of somebody else, and no override helps: name others"
        found.append(Refusal(Ground.OUT_OF_USE, text, tuple(f"{name}: {theirs[name]}" for name in named)))
    return found


def set_up_command(nodes: Sequence[str], site: str) -> str:
    """Return the command that takes nodes into use again; of many it names the first ones."""
    shown = " ".join(nodes[:_DETAILS_IN_A_SENTENCE]) + (" …" if len(nodes) > _DETAILS_IN_A_SENTENCE else "")
    return f"`slipway set node-state {shown} up --site {site}`"


def judge_critical_groups(
    kind: ActionKind,
    parameters: ActionParameters,
    design: Design,
    conditions: Mapping[str, NodeCondition],
    users: Mapping[str, UserState],
) -> list[Refusal]:
    """Return which critical groups an action would take below their criteria (rule 25).

    Parameters
    ----------
    conditions : what the provisioner says of its nodes now.
    users : what is set for nodes: those in maintenance and down serve nobody, though they are deployed.
    """
    if not kind.is_destructive:
        return []
    deployed = frozenset(name for name, said in conditions.items() if said is NodeCondition.DEPLOYED)
    serving = deployed - not_serving(users)
    short = shortfalls(design.strategy, design.nodes, serving, parameters.target_nodes or ())
    if not short:
        return []
    overridden = parameters.allows(Override.BELOW_CRITERIA)
    text = f"{kind.name} would take critical groups below their criteria" + _unless_allowed(
        Override.BELOW_CRITERIA, overridden, ": name fewer nodes"
    )
    return [Refusal(Ground.CRITICAL_GROUPS, text, tuple(map(str, short)), overridden)]


def judge_redeploys(
    kind: ActionKind,
    parameters: ActionParameters,
    settings: SiteSettings,
    redeploy: Collection[str],
    deployed: Collection[str],
    remove: Collection[str] = (),
) -> list[Refusal]:
    """Return that an action would take down more of a site's nodes than its settings allow (rule 37).

    Parameters
    ----------
    redeploy : the nodes that it would redeploy, a batch after the other.
    deployed : nodes of the site that the provisioner lists as deployed.
    remove : nodes that left the design, and that it would destroy.
    """
    serving = {*deployed, *remove}
    why = refuse_many_redeploys(redeploy, serving, settings.redeploy_percent, settings.redeploy_nodes, remove=remove)
    if why is None:
        return []
    overridden = parameters.allows(Override.MANY_REDEPLOYS)
    text = f"{kind.name}: {why}" + _unless_allowed(
        Override.MANY_REDEPLOYS,
        overridden,
        ". Mend the design, name some of them as target nodes, change the settings of the site",
    )
    return [Refusal(Ground.REDEPLOYS, text, is_overridden=overridden)]


def _unless_allowed(override: Override, allowed: bool, advice: str) -> str:
    """Return how a sentence ends that says what an action would do: what helps, or that it was asked for."""
    if allowed:
        return f". This action allows that ({override})"
    return f"{advice}, or repeat this with {override}=true (--{override.replace('_', '-')})"


def _not_there(name: str, known: Collection[str]) -> str:
    hint = did_you_mean(name, known, "")
    return f"there is no node {name[:64]!r}" + (f"; {hint}" if hint else "")


def _would_pass_over(site: str, newest_site_action: int | None, skipped: range, revision: int) -> str:
    them = "it" if len(skipped) == 1 else "them"
    were = f"{_listed(skipped)} {'was' if len(skipped) == 1 else 'were'}"
    if newest_site_action is None:
        why = f"there was no action on all of site {site} yet, so {were} never deployed"
    else:
        last = f"the last action on all of site {site} was for revision {newest_site_action}"
        why = f"{last}; {were} committed since then and never deployed"
    return (
        f"{why}, and revision {revision} would pass {them} over. If that is meant, repeat this with "
        "allow-intermediate-commits=true (on the command line --allow-intermediate-commits), or use update_site"
    )


def _listed(revisions: range) -> str:
    if len(revisions) > _LISTED:
        return f"revisions {revisions[0]} to {revisions[-1]}"
    word = "revision" if len(revisions) == 1 else "revisions"
    return f"{word} {', '.join(map(str, revisions))}"
