"""Policies over a rendered design: they read and write it inside a commit, until none of them changes anything.

A policy sees all objects of the design by `<kind>/<name>`, each as its document, and returns those that it changes or
adds, as they shall be. It reads nothing else: no feedback, no clock (rule 41). It is called again after something that
it looks at has changed, at most ten times (rule 42). What was judged before and is the same is not judged (rule 43).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from design_rendering.design import used_strategies
from design_rendering.kinds.nodes import NODE_MAKERS, nodes_from_documents
from design_rendering.kinds.objects import DigestKey, ObjectKey, keyed, kind_of
from design_rendering.reading.documents import Document
from design_rendering.rendering import RenderedDocument, Rendering
from strategy_lib.actors import NoEnd, ScopedPolicy, apply_policies
from strategy_lib.errors import Problem, StrategyLibError
from strategy_lib.parsing.configuration import CONFIGURATION_SCHEMA
from strategy_lib.parsing.strategy_parser import parse_strategy
from strategy_lib.selectors import resolve
from strategy_lib.strategy import STRATEGY_SCHEMA

Documents = Mapping[str, Document]
DesignPolicy = Callable[[Documents], Documents]
"""A policy that may look at all objects, or a `PolicyOfKinds`."""
NO_POLICIES: Mapping[str, DesignPolicy] = {}


class PolicyError(StrategyLibError):
    """The policies of this Slipway cannot judge the design: change it, or mend the policy that is named."""


@dataclass(frozen=True, slots=True)
class PolicyOfKinds:
    """A policy that looks at objects of some kinds only: it runs where one of those has changed (rule 43).

    Attributes
    ----------
    judge : is given objects of these kinds alone, and may return no others.
    kinds : such as `node` and `host_profile`.
    each : it judges each object by itself, and is given one at a time.
    """

    judge: DesignPolicy
    kinds: frozenset[str]
    each: bool = False

    def __call__(self, objects: Documents) -> Documents:
        """Judge these objects."""
        return self.judge(objects)


@dataclass(frozen=True, slots=True)
class PolicedRendering:
    """A rendered design after the policies, and for each object that they changed those that did.

    `judged` has the digest of each object, as these policies leave it as it is: see `police`.
    """

    rendering: Rendering
    by_policy: Mapping[ObjectKey, tuple[str, ...]] = field(default_factory=dict)
    judged: Mapping[ObjectKey, str] = field(default_factory=dict)


def police(
    rendering: Rendering,
    policies: Mapping[str, DesignPolicy],
    before: Mapping[ObjectKey, str] | None = None,
    key: DigestKey | None = None,
) -> PolicedRendering:
    """Have policies judge a rendered design.

    Parameters
    ----------
    policies : by name.
    before : the `judged` of a design before, where these very policies left that as it was: then only what differs from
        it is judged, with what follows from that, and the end is the same. None: all is judged.
    key : of the store that has `before`, and is to have `judged`; None: these digests are not to be stored (rule 62).

    Raises
    ------
    PolicyError : they come to no end, one of them failed, or one returned what it must not.
    """
    if not policies:
        return PolicedRendering(rendering)
    objects = {_name(one.document): one.document for one in rendering.documents}
    digests = {_name(one.document): _digest(one.document, key) for one in rendering.documents}
    changed: set[str] | None = None
    if before is not None:
        known = {str(key): digest for key, digest in before.items()}
        changed = {name for name in known.keys() | digests.keys() if known.get(name) != digests.get(name)}
    kinds = {name: kind_of(document.schema) for name, document in objects.items()}
    kinds |= {str(key): key.kind for key in before or ()}
    found = apply_policies(objects, {name: _scoped(name, policy, kinds) for name, policy in policies.items()}, changed)
    if isinstance(found, NoEnd):
        raise PolicyError([Problem("$", str(found))])
    after = {name: document for name, document in found.objects.items() if isinstance(document, Document)}
    digests |= {name: _digest(after[name], key) for name in found.by_policy}
    judged = {_key(document): digests[name] for name, document in after.items()}
    if not found.by_policy:
        return PolicedRendering(rendering, judged=judged)
    documents = [
        one if name not in found.by_policy else replace(one, document=after[name], changed=True)
        for one in rendering.documents
        for name in (_name(one.document),)
    ]
    documents += [RenderedDocument(after[name], changed=True) for name in found.by_policy if name not in objects]
    by_policy = {_key(after[name]): who for name, who in found.by_policy.items()}
    return PolicedRendering(replace(rendering, documents=tuple(documents)), by_policy, judged)


def _key(document: Document) -> ObjectKey:
    return ObjectKey(kind_of(document.schema), document.name)


def _digest(document: Document, key: DigestKey | None) -> str:
    """Return the digest of all that a policy may read, also of metadata, which `DesignObject.digest` leaves out."""
    parts = [document.schema, document.name, document.layer, document.metadata, document.data]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=repr)
    plain = hashlib.sha256(text.encode()).hexdigest()[:32]
    return plain if key is None else keyed(key, plain)[:32]


def _scoped(name: str, policy: DesignPolicy, kinds: dict[str, str]) -> ScopedPolicy:
    """Return the policy with what it looks at; `kinds` has the kind of each object, and learns those that are added."""
    guarded = _guarded(name, policy, kinds)
    if not isinstance(policy, PolicyOfKinds):
        return ScopedPolicy(guarded)
    seen, each = policy.kinds, policy.each

    def judge(objects: Mapping[str, object]) -> Mapping[str, object]:
        found = guarded(objects)
        for key in found:
            if kinds[key] not in seen or (each and key not in objects):
                message = f"policy {name} returned {key}, which it does not look at: add its kind to its `kinds`"
                raise PolicyError([Problem("$", message)])
        return found

    return ScopedPolicy(judge, lambda key: kinds.get(key) in seen, each)


def _name(document: Document) -> str:
    return f"{kind_of(document.schema)}/{document.name}"


def _guarded(
    name: str, policy: DesignPolicy, kinds: dict[str, str]
) -> Callable[[Mapping[str, object]], Mapping[str, object]]:
    """Return the policy with its failures in words; what it returns must be documents under their own names."""

    def run(objects: Mapping[str, object]) -> Mapping[str, object]:
        documents = {key: value for key, value in objects.items() if isinstance(value, Document)}
        try:
            returned = dict(policy(documents))
        except Exception as error:
            raise PolicyError([Problem("$", f"policy {name} failed: {type(error).__name__}: {error}")]) from error
        for key, value in returned.items():
            if not isinstance(value, Document) or _name(value) != key:
                raise PolicyError([Problem("$", f"policy {name} returned for {key} what is no document of this name")])
            kinds[key] = kind_of(value.schema)
        return returned

    return run


def _every_node_has_a_group(objects: Documents) -> Documents:
    """Put nodes that are in no group into the strategy's `default_group`, by their names; without one do nothing."""
    documents = list(objects.values())
    used = used_strategies(documents)
    strategies = [one for one in documents if one.schema == STRATEGY_SCHEMA and one.name in (used or ())]
    data = strategies[0].data if strategies else None
    default = data.get("default_group") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or default is None:
        return {}
    try:
        members = resolve(parse_strategy(data), nodes := nodes_from_documents(documents))
    except StrategyLibError:
        # What is wrong with them is said where they are validated.
        return {}
    left = sorted({node.name for node in nodes}.difference(*members.values()))
    if not left:
        return {}
    groups = [
        {**group, "selectors": [*group["selectors"], {"node_names": left}]} if group["name"] == default else group
        for group in data["groups"]
    ]
    changed = replace(strategies[0], data={**data, "groups": groups}, marks=None)
    return {_name(changed): changed}


every_node_has_a_group = PolicyOfKinds(
    _every_node_has_a_group,
    frozenset(map(kind_of, (*NODE_MAKERS, STRATEGY_SCHEMA, CONFIGURATION_SCHEMA))),
)
