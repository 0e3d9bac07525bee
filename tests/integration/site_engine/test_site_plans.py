"""The plan of a site from the store: which nodes it names, with what differs, and that the action's own plan agrees."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import yaml
from sqlalchemy import update

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from provisioner_client.protocol import ListedNode
from site_engine.actions.finalization import finalize_dry_run
from site_engine.kinds import KINDS
from site_engine.node_lists import keep_list, last_list
from site_engine.parameters import ActionParameters
from site_engine.plans.erasures import releases_of
from site_engine.plans.plan import SitePlan, next_step
from site_engine.plans.planning import plan_action
from site_engine.plans.site_plans import plan_of_run, plan_request, plan_site
from site_engine.plans.site_rehearsals import simulate_plan
from site_store import ActionState, AskedState, PlannedGroup, SiteStore
from site_store.tables import node as node_table
from strategy_lib.goals.update import Deed
from strategy_lib.node import NodeState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.generated import NodeAvailability
from tests.support.driving import Begin, Driving
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site

GROUPS = [group("one", ["a", "b"]), group("two", ["b", "c"], after=["one"], critical=False)]
NAMES = ("a", "b", "c", "d")


def design(image: str = "jammy", role: str = "compute", *, without: str = "", strategy: Any = None) -> str:
    """Return a site of which a and b are made from the profile `rack`; d is in no group."""
    profiles = {"a": "rack", "b": "rack"}
    nodes = [node(name, profile=profiles.get(name, "compute")) for name in NAMES if name not in without]
    rack = document("drydock/HostProfile/v1", "rack", {"platform": {"image": image}})
    rack["data"]["metadata"] = {"owner_data": {"role": role}}
    return site(nodes, strategy or GROUPS) + yaml.safe_dump_all([rack], explicit_start=True)


def show(store: SiteStore, **conditions: NodeCondition) -> None:
    """Have the provisioner's list say this; nodes that are not named are deployed."""
    said = {**dict.fromkeys(NAMES, NodeCondition.DEPLOYED), **conditions}
    keep_list(store, "alpha", "drydock", {name: ListedNode(name, how, str(how), "on") for name, how in said.items()})


@pytest.fixture
def done(begin: Begin) -> Driving:
    """Deploy the site in its first revision; d, in no group, stays new."""
    driving = begin(design())
    for name in ("one", "two"):
        driving.group(name)
    driving.store.actions.close(driving.action.id, ActionState.SUCCESS, "done")
    show(driving.store, d=NodeCondition.READY)
    return driving


def changes(plan: SitePlan) -> dict[str, tuple[str, bool]]:
    """Return of each node what has to be done to it, and whether it would be submitted."""
    return {name: (each.difference.change.value, each.is_submitted) for name, each in plan.nodes.items()}


def agrees(store: SiteStore, plan: SitePlan, text: str) -> None:
    """Make sure that the plan of an action says the same of each node."""
    found = read_design(load_documents(text, "site.yaml")).keyed(store.secret_texts.digest_key())
    records = store.nodes.of_site("alpha")
    listed = store.provisioner_lists.get("alpha")
    assert listed is not None
    said = {name: NodeCondition(one["condition"]) for name, one in yaml.safe_load(listed.nodes).items()}
    action = plan_action(KINDS["update_site"], ActionParameters(), found, found.strategy, records, said)
    ours = {name: each.difference for name, each in plan.nodes.items()}
    assert {name: each for name, each in action.differences.items() if each.change != "none"} == ours
    assert {name for name, each in action.differences.items() if each.change == "none"} == plan.unchanged.keys()


def test_a_site_that_is_as_wanted_has_nothing_to_do_but_what_is_in_no_group(done: Driving) -> None:
    plan = plan_site(done.store, "alpha")
    assert changes(plan) == {"d": ("add", False)}
    assert plan.unchanged == dict.fromkeys("abc", (1, 1))
    assert [(one.name, one.total, one.counts[Deed.LEAVE], one.submitted) for one in plan.groups] == [
        ("one", 2, 2, 0),
        ("two", 2, 2, 0),
    ]
    assert (plan.counts[Deed.LEAVE], plan.counts[Deed.WITHHOLD]) == (3, 1)
    agrees(done.store, plan, design())


def test_rule_37_a_changed_profile_is_a_change_of_its_nodes_with_the_fields_that_differ(done: Driving) -> None:
    commit_design(done.store, "alpha", design("noble"))
    show(done.store, a=NodeCondition.READY)
    plan = plan_site(done.store, "alpha")
    assert changes(plan) == {"a": ("change", True), "b": ("change", False), "d": ("add", False)}
    for name in "ab":
        (changed,) = plan.nodes[name].documents or ()
        assert (changed.schema, changed.name) == ("drydock/HostProfile/v1", "rack")
        assert [(one.path, one.before, one.after) for one in changed.fields] == [
            ("$.data.platform.image", "jammy", "noble")
        ]
        data = plan.nodes[name].to_data(1)
        assert (data["done"], data["wanted"]) == ({"version": 1, "revision": 1}, {"version": 2, "revision": 2})
    assert (plan.nodes["b"].groups, data["allowed_by"]) == (("one", "two"), "--allow-redeploy")
    assert [(one.name, one.counts[Deed.WITHHOLD], one.counts[Deed.LEAVE], one.submitted) for one in plan.groups] == [
        ("one", 1, 0, 1),
        ("two", 1, 1, 0),
    ]
    assert plan.edges == ()
    assert plan.order == (("a",),), "b is withheld, and d in no group"
    agrees(done.store, plan, design("noble"))


def ordered(grouped: str, **kernels: str) -> str:
    """Return a site where a waits for b, b for d, and d for c; with these kernels."""
    waits = {"a": ["b"], "b": ["d"], "d": ["c"]}
    nodes = [node(name) for name in NAMES]
    for one in nodes:
        name = one["metadata"]["name"]
        one["metadata"]["depends_on_nodes"] = waits.get(name, [])
        one["data"]["kernel"] = kernels.get(name, "old")
    return site(nodes, [group("all", grouped)])


def test_rule_39_the_order_leads_through_nodes_with_nothing_to_do(begin: Begin) -> None:
    driving = begin(ordered("abcd"))
    driving.group("all")
    driving.store.actions.close(driving.action.id, ActionState.SUCCESS, "done")
    text = ordered("abc", a="new", c="new")
    commit_design(driving.store, "alpha", text)
    show(driving.store, a=NodeCondition.READY, c=NodeCondition.READY)
    plan = plan_site(driving.store, "alpha")
    assert plan.order == (("c",), ("a",)), "b has nothing to do, and d is in no group"
    assert [(edge.later, edge.earlier) for edge in plan.edges] == [("a", "b"), ("b", "c")]
    found = read_design(load_documents(text, "site.yaml")).keyed(driving.store.secret_texts.digest_key())
    said = {
        "a": NodeCondition.READY,
        "b": NodeCondition.DEPLOYED,
        "c": NodeCondition.READY,
        "d": NodeCondition.DEPLOYED,
    }
    records = driving.store.nodes.of_site("alpha")
    action = plan_action(KINDS["update_site"], ActionParameters(), found, found.strategy, records, said)
    rehearsed = simulate_plan(action.groups, dict.fromkeys(action.done, NodeState.SUCCESS), withheld=action.withheld)
    sent = [(one.phase, "".join(one.nodes)) for one in rehearsed.submissions]
    assert sent == [("prepare", "ac"), ("deploy", "c"), ("deploy", "a")]


def test_rule_37_a_group_without_room_submits_nothing_and_says_so(done: Driving) -> None:
    strict = {**group("one", ["a", "b"], percent_successful_nodes=100), "allow_redeploy": True}
    commit_design(done.store, "alpha", design("noble", strategy=[strict]))
    plan = plan_site(done.store, "alpha")
    assert changes(plan) == {"a": ("change", False), "b": ("change", False), "d": ("add", False)}
    assert [(one.name, one.submitted) for one in plan.groups] == [("one", 0)]
    assert (plan.order, plan.refusal) == ((), None)
    assert str(plan.nodes["a"].withheld).startswith("its criteria leave no room: 2 of 2 nodes serve")


def test_rule_37_too_many_redeploys_are_refused_in_the_plan(done: Driving) -> None:
    rolling = {**group("one", ["a", "b"]), "allow_redeploy": True}
    few = document("slipway/SiteSettings/v1", "settings", {"updates": {"redeploy_percent": 0, "redeploy_nodes": 1}})
    text = design("noble", strategy=[rolling])
    commit_design(done.store, "alpha", text)
    assert changes(plan_site(done.store, "alpha"))["a"] == ("change", True)
    commit_design(done.store, "alpha", text + yaml.safe_dump_all([few], explicit_start=True))
    plan = plan_site(done.store, "alpha")
    assert str(plan.refusal).startswith("update_site: it would redeploy 2 of 3 deployed nodes, more than 0 %: a, b.")
    assert changes(plan)["a"] == ("change", False)
    assert (plan.groups[0].submitted, plan.nodes["a"].withheld) == (0, "the whole update is refused")
    agrees(done.store, plan, text)


def test_a_group_with_nothing_to_do_passes_order_and_failure_on(done: Driving) -> None:
    groups = [
        group("first", ["a"], percent_successful_nodes=100),
        group("idle", ["b"], after=["first"]),
        group("last", ["c"], after=["idle"], critical=False),
    ]
    commit_design(done.store, "alpha", design(strategy=groups))
    show(done.store, a=NodeCondition.READY, c=NodeCondition.READY, d=NodeCondition.READY)
    plan = plan_site(done.store, "alpha")
    assert [(edge.later, edge.earlier) for edge in plan.edges] == [("idle", "first"), ("last", "idle")]
    strict = [group("first", ["b"], minimum_successful_nodes=2), group("last", ["c"], after=["first"])]
    commit_design(done.store, "alpha", design(strategy=strict))
    blocked = plan_site(done.store, "alpha")
    assert changes(blocked)["c"] == ("redo", False)
    assert blocked.nodes["c"].withheld == "group last would fail (dependency)"


def test_a_dry_run_of_airflow_says_it_of_each_node_too(done: Driving, begin: Begin) -> None:
    dry = begin(design("noble"), "run-2", update={})
    report = finalize_dry_run(dry.store, dry.action, {}, logging.getLogger("test"))
    assert report.changes is not None
    assert report.changes.summary == (
        "erases 0 (0 redeployed, 0 released first, 0 removed), deploys 0, labels 0, leaves 1, withholds 3"
    )
    changed, added = report.changes.rows
    assert (changed.nodes, changed.change, changed.allowed_by) == (("a", "b"), "change", None)
    assert changed.why.startswith("design changed, needs redeploy")
    fields = [(one["path"], one["from"], one["to"]) for each in changed.documents or () for one in each["fields"]]
    assert fields == [("$.data.platform.image", "jammy", "noble")]
    assert (added.change, added.deed, added.nodes) == ("add", Deed.WITHHOLD, ("d",))


def test_rule_11_a_dry_run_names_nodes_that_cannot_be_prepared_as_they_are(begin: Begin) -> None:
    kept = [{**group("one", ["a", "b"]), "release_failed": False}]
    dry = begin(design(strategy=kept), update={})
    listed = {"a": ListedNode("a", NodeCondition.FAILED_DEPLOYMENT, "Failed deployment", "on")}
    keep_list(dry.store, "alpha", "drydock", listed)
    facts = dry.store.reports.facts(dry.action.id)
    planned = [PlannedGroup(one.definition, one.nodes, one.plan) for one in facts.groups]
    releases = releases_of(dry.store, "alpha", planned, listed)
    rehearsal = simulate_plan(planned, {}, releases=releases)
    refused = rehearsal.refused
    found = plan_of_run(dry.store, dry.action, planned, rehearsal, refused)
    said = {name: (one.deed, one.withheld) for name, one in found.nodes.items()}
    nothing = (Deed.WITHHOLD, None)
    assert said == {"a": (Deed.WITHHOLD, refused["a"]), "b": (Deed.DEPLOY, None), "c": nothing, "d": nothing}
    assert "release_failed: false" in refused["a"]


def test_rule_37_right_after_a_deploy_it_goes_by_what_that_left_and_not_by_the_list_before_it(begin: Begin) -> None:
    driving = begin(design())
    show(driving.store, **dict.fromkeys(NAMES, NodeCondition.READY))
    for name in ("one", "two"):
        driving.group(name)
    driving.store.actions.close(driving.action.id, ActionState.SUCCESS, "done")
    assert changes(plan_site(driving.store, "alpha")) == {"d": ("add", False)}, "the others were just deployed"
    show(driving.store, b=NodeCondition.READY, d=NodeCondition.READY)
    plan = plan_site(driving.store, "alpha")
    assert changes(plan) == {"b": ("redo", True), "d": ("add", False)}, "a newer list says so"
    assert plan.nodes["b"].difference.reason == "not as it was left: ready"


def test_rule_37_of_three_commits_while_nothing_ran_the_last_is_done(
    done: Driving, begin: Begin, fake: FakeProvisioner
) -> None:
    commit_design(done.store, "alpha", design("noble", role="storage"))
    commit_design(done.store, "alpha", design("oracular", without="c", strategy=[group("all", ["a", "b", "d"])]))
    show(done.store, a=NodeCondition.READY)
    last, before = begin(design("plucky"), "run-2", update={"allow_redeploy": True}), len(fake.submissions())
    plan = plan_site(done.store, "alpha")
    assert [(one.path, one.before, one.after) for one in (plan.nodes["a"].documents or ())[0].fields] == [
        ("$.data.platform.image", "jammy", "plucky")
    ]
    for name in ("one", "two"):
        last.group(name)
    records = {record.name: record for record in done.store.nodes.of_site("alpha")}
    assert [(records[name].done_revision, records[name].done_version) for name in "ab"] == [(4, 4), (4, 4)]
    assert (records["c"].done_revision, records["c"].done_version, records["c"].is_up_to_date) == (1, 1, True)
    # The journal: each node is done once, in the last design; what only the commits in between wanted is not done.
    sent = fake.submissions()[before:]
    for name in NAMES:
        once = [f"{step}_nodes" for step in ("destroy", "prepare", "deploy")] if name in "ab" else []
        assert [action for action, nodes in sent if name in nodes] == once, name
    assert {one.design_ref for one in done.store.operations.of_action(last.action.id)} == {last.design_ref}
    assert set(plan_site(done.store, "alpha").nodes) == {"d"}, "nothing is left but what is in no group"


def test_rule_56_a_node_that_a_stranger_redeployed_is_left_alone_and_the_plan_says_so(done: Driving) -> None:
    listed = {name: ListedNode(name, NodeCondition.DEPLOYED, "Deployed", "on") for name in "acd"}
    listed["b"] = ListedNode("b", NodeCondition.OTHER, "Deployed, owned by alice", "on")
    keep_list(done.store, "alpha", "drydock", listed)
    plan = plan_site(done.store, "alpha")
    assert changes(plan)["b"] == ("redo", False)
    said = "the node list says Deployed, owned by alice: it is left alone until alice releases it"
    assert plan.nodes["b"].withheld == said
    assert [one.submitted for one in plan.groups] == [0, 0]
    agrees(done.store, plan, design())


def test_a_node_without_power_is_not_offered_to_be_erased(done: Driving) -> None:
    off = {"status": "error", "error": "drifted: power is off, since noon", "error_action": None}
    done.store._database.write(lambda tx: tx.execute(update(node_table).where(node_table.c.name == "a").values(off)))
    plan = plan_site(done.store, "alpha")
    planned, step = plan.nodes["a"], next_step(plan)
    assert (planned.deed, planned.allowed_by, plan.rehearsal.stays) == (Deed.WITHHOLD, None, frozenset())
    assert str(planned.withheld).endswith("as wanted once it is powered on, and a redeploy would erase it")
    assert step is not None
    assert step.parameters == {}


def test_rule_25_labels_are_named_as_such(done: Driving) -> None:
    text = design(role="storage")
    commit_design(done.store, "alpha", text)
    plan = plan_site(done.store, "alpha")
    assert changes(plan)["a"] == ("relabel", True)
    (changed,) = plan.nodes["a"].documents or ()
    assert [one.path for one in changed.fields] == ["$.data.metadata.owner_data.role"]
    agrees(done.store, plan, text)


def test_new_labels_of_a_node_in_no_group_are_not_given_also_where_nothing_else_is_to_be_done(done: Driving) -> None:
    commit_design(done.store, "alpha", design(role="storage", without="d", strategy=[group("one", ["c"])]))
    plan = plan_site(done.store, "alpha")
    assert plan.rehearsal.groups == (), "nothing is to be submitted"
    assert {name: each.deed for name, each in plan.nodes.items()} == dict.fromkeys("ab", Deed.WITHHOLD)


@pytest.mark.parametrize("kind", ["redeploy_server", "destroy_nodes", "relabel_nodes"])
def test_rule_56_what_a_stranger_has_is_left_alone_also_where_it_is_named(done: Driving, kind: str) -> None:
    listed = {name: ListedNode(name, NodeCondition.DEPLOYED, "Deployed", "on") for name in "ac"}
    listed["b"] = ListedNode("b", NodeCondition.OTHER, "Deployed, owned by alice", "on")
    keep_list(done.store, "alpha", "drydock", listed)
    asked = ActionParameters(target_nodes=("a", "b"))
    found = read_design(load_documents(design(), "site.yaml")).keyed(done.store.secret_texts.digest_key())
    seen = last_list(done.store, "alpha")
    assert seen is not None
    plan = plan_request(done.store, KINDS[kind], asked, found, "alpha", 1, seen)
    assert plan.names(Deed.WITHHOLD) == ["b"]
    assert (
        plan.nodes["b"].withheld
        == "the node list says Deployed, owned by alice: it is left alone until alice releases it"
    )
    assert len(plan.nodes) == sum(plan.counts.values()) == 2


@pytest.mark.parametrize(
    ("asked", "waves"),
    [
        (ActionParameters(), [["one", "two"]]),
        (ActionParameters(max_parallel_groups=1), [["one"], ["two"]]),
        (ActionParameters(target_nodes=("a", "b")), [["target-group"]]),
    ],
)
def test_groups_side_by_side_are_as_many_as_the_request_says_or_else_the_site(
    done: Driving, asked: ActionParameters, waves: list[list[str]]
) -> None:
    beside = document("slipway/SiteSettings/v1", "settings", {"max_parallel_groups": 2})
    text = design(strategy=[group("one", ["a"]), group("two", ["b"])])
    documents = load_documents(text + yaml.safe_dump_all([beside], explicit_start=True), "site.yaml")
    found = read_design(documents).keyed(done.store.secret_texts.digest_key())
    show(done.store, a=NodeCondition.READY, b=NodeCondition.READY)
    seen = last_list(done.store, "alpha")
    assert seen is not None
    plan = plan_request(done.store, KINDS["update_site"], asked, found, "alpha", 1, seen)
    assert [list(wave) for wave in plan.waves] == waves
    assert plan.max_parallel_groups == len(waves[0])


def test_a_rollback_before_any_run_means_nothing_to_do(done: Driving) -> None:
    before = changes(plan_site(done.store, "alpha"))
    commit_design(done.store, "alpha", design("noble"))
    commit_design(done.store, "alpha", design())
    assert changes(plan_site(done.store, "alpha")) == before


def test_nodes_that_left_the_design_are_named_and_wiped_ones_are_done_again(done: Driving) -> None:
    text = design(without="c", strategy=[group("one", ["a", "b"])])
    commit_design(done.store, "alpha", text)
    show(done.store, a=NodeCondition.READY, d=NodeCondition.READY)
    plan = plan_site(done.store, "alpha")
    assert changes(plan) == {"a": ("redo", True), "c": ("remove", False), "d": ("add", False)}
    assert plan.nodes["a"].difference.reason == "not as it was left: ready"
    assert plan.nodes["c"].difference.withheld == "it stays as it is (prune destroys it)"
    agrees(done.store, plan, text)


def test_secrets_of_both_revisions_are_hidden(done: Driving) -> None:
    secret = document("deckhand/Passphrase/v1", "word", "opensesame")
    commit_design(done.store, "alpha", design("opensesame") + yaml.safe_dump_all([secret], explicit_start=True))
    (changed,) = plan_site(done.store, "alpha").nodes["a"].documents or ()
    assert [(one.path, one.before, one.after) for one in changed.fields] == [
        ("$.data.platform.image", "[redacted]", "[redacted]")
    ]


def test_a_site_without_a_list_or_a_commit_has_a_plan_too(store: SiteStore) -> None:
    empty = plan_site(store, "alpha")
    assert (empty.revision, empty.listed_at, dict(empty.nodes), empty.groups) == (None, None, {}, ())
    commit_design(store, "alpha", design())
    assert changes(plan_site(store, "alpha")) == {
        "a": ("add", True),
        "b": ("add", True),
        "c": ("add", True),
        "d": ("add", False),
    }


def test_rule_51_nodes_out_of_use_are_named_beforehand_and_what_fails_by_them_is_foretold(done: Driving) -> None:
    store = done.store
    strict = [group("one", ["a", "b"], percent_successful_nodes=100), group("two", ["c"], percent_successful_nodes=100)]
    commit_design(store, "alpha", design("noble", strategy=strict))
    show(store, a=NodeCondition.READY, b=NodeCondition.READY)
    for name, state in (("a", NodeAvailability.MAINTENANCE), ("c", NodeAvailability.RETIRED)):
        assert store.user_states.change(
            "alpha", [name], AskedState(state, "new disk", force=True), "ann"
        ).change.modified
    plan = plan_site(store, "alpha")
    assert changes(plan) == {"a": ("change", False), "b": ("change", True), "d": ("add", False)}
    assert plan.nodes["a"].withheld == "set to maintenance by ann: new disk"
    assert "c" in plan.unchanged, "it is as wanted, and counts so (rule 15)"
    assert {one.name: one.failing for one in plan.groups} == {"one": "prepare_criteria", "two": None}
    assert store.user_states.change(
        "alpha", ["a"], AskedState(NodeAvailability.UP, "", force=True), "ann"
    ).change.modified
    again = plan_site(store, "alpha")
    assert (changes(again)["a"], again.groups[0].failing) == (("change", True), None)
