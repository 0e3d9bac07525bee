"""Policies over a rendered design: they read and write it inside a commit, until none of them changes anything.

A policy sees all objects of the design by `<kind>/<name>`, each as its document, and returns those that it changes or
adds, as they shall be. It reads nothing else: no feedback, no clock (rule 41). It is called again after any policy has
changed anything, at most ten times (rule 42).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from design_rendering.design import used_strategies
from design_rendering.documents import Document
from design_rendering.drydock_nodes import nodes_from_documents
from design_rendering.objects import ObjectKey, kind_of
from design_rendering.rendering import RenderedDocument, Rendering
from strategy_lib.errors import Problem, StrategyLibError
from strategy_lib.goals.actors import NoEnd, apply_policies
from strategy_lib.selectors import resolve
from strategy_lib.strategy import STRATEGY_SCHEMA
from strategy_lib.strategy_parser import parse_strategy

Documents = Mapping[str, Document]
DesignPolicy = Callable[[Documents], Documents]
NO_POLICIES: Mapping[str, DesignPolicy] = {}


class PolicyError(StrategyLibError):
    """The policies of this Slipway cannot judge the design: change it, or mend the policy that is named."""


@dataclass(frozen=True, slots=True)
class PolicedRendering:
    """A rendered design after the policies, and for each object that they changed those that did."""

    rendering: Rendering
    by_policy: Mapping[ObjectKey, tuple[str, ...]] = field(default_factory=dict)


def police(rendering: Rendering, policies: Mapping[str, DesignPolicy]) -> PolicedRendering:
    """Have policies judge a rendered design.

    Raises `PolicyError`: they come to no end, one of them failed, or one returned what is no document of its name.
    """
    if not policies:
        return PolicedRendering(rendering)
    objects = {_name(one.document): one.document for one in rendering.documents}
    found = apply_policies(objects, {name: _guarded(name, policy) for name, policy in policies.items()})
    if isinstance(found, NoEnd):
        raise PolicyError([Problem("$", str(found))])
    if not found.by_policy:
        return PolicedRendering(rendering)
    changed = {name: document for name, document in found.objects.items() if isinstance(document, Document)}
    documents = [
        one if name not in found.by_policy else replace(one, document=changed[name], changed=True)
        for one in rendering.documents
        for name in (_name(one.document),)
    ]
    documents += [RenderedDocument(changed[name], changed=True) for name in found.by_policy if name not in objects]
    by_policy = {
        ObjectKey(kind_of(changed[name].schema), changed[name].name): who for name, who in found.by_policy.items()
    }
    return PolicedRendering(replace(rendering, documents=tuple(documents)), by_policy)


def _name(document: Document) -> str:
    return f"{kind_of(document.schema)}/{document.name}"


def _guarded(name: str, policy: DesignPolicy) -> Callable[[Mapping[str, object]], Mapping[str, object]]:
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
        return returned

    return run


def every_node_has_a_group(objects: Documents) -> Documents:
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
