"""All metrics as they are now, from the store. It asks neither Airflow nor a provisioner (rule 36)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from site_engine.monitoring.metrics import (
    ACTION_OUTCOMES,
    ACTIONS_RUNNING,
    CALL_SECONDS,
    DRIFTS,
    DRIFTS_EVER,
    GROUP_OUTCOMES,
    GROUP_SECONDS,
    LEFT_ALONE,
    NODE_CRASHES,
    NODE_STATES,
    NODES,
    NODES_SERVING,
    NOTIFICATIONS_WAITING,
    OWNER_UNRESPONSIVE,
    PHASE_SECONDS,
    QUEUE_SECONDS,
    REPAIR_STOPPED,
    REPAIRS,
    SITE_LEADER,
    SITE_WATCHED,
    VIEW_AGE,
    VIEW_EPOCH,
    VIEW_VERSION,
    WATCHER_CHANGES,
    Distribution,
    Metric,
    Sample,
)
from site_engine.monitoring.owners import PROVISIONER, list_owners
from site_engine.trees.status_trees import site_trees
from site_store.nodes.repair_switches import ALL_SITES
from strategy_lib.node_states.generated import REPORTED, USER, NodeAvailability
from strategy_lib.status.entry import EntryKind
from strategy_lib.status.serves import Serves, Serving
from strategy_lib.status.words import Status

if TYPE_CHECKING:
    from site_store import SiteStore
    from site_store.status.metrics import Bucket


def read_samples(store: SiteStore) -> list[Sample]:
    """Return all samples, each set of labels once."""
    facts = store.metrics.read(GROUP_SECONDS.bounds)
    found = [Sample(ACTIONS_RUNNING, labels, count) for labels, count in facts.running.items()]
    found += [Sample(ACTION_OUTCOMES, labels, count) for labels, count in facts.ended.items()]
    found += [Sample(LEFT_ALONE, (site,), number) for site, number in facts.left_alone.items()]
    found += [
        Sample(GROUP_OUTCOMES, (site, state, reason, str(critical).lower()), count)
        for (site, state, reason, critical), count in facts.groups.items()
    ]
    found += _histograms(GROUP_SECONDS, facts.group_seconds)
    found += _histograms(PHASE_SECONDS, facts.phase_seconds)
    found += _histograms(QUEUE_SECONDS, facts.queue_seconds)
    stops = store.site_stops.of_sites()
    sites = list(stops)
    for site, tree in zip(sites, site_trees(store, sites, messages=False), strict=True):
        found += [Sample(NODES, (site, status.value), number) for status, number in tree.root.counts.items()]
        served = (tree.root.serving or Serving()).counts
        found += [Sample(NODES_SERVING, (site, word.value), served.get(word, 0)) for word in Serves]
        if stops[site]:
            continue
        watching = [child.status for child in tree.own.children if child.kind is EntryKind.WATCHING]
        found += [Sample(SITE_WATCHED, (site,), int(status is Status.SUCCESS)) for status in watching]
    found += _calls(store)
    found += [Sample(OWNER_UNRESPONSIVE, (owner.name,), 0 if owner.alive else 1) for owner in list_owners(store).owners]
    found += [Sample(NOTIFICATIONS_WAITING, (site,), number) for site, number in store.outbox.waiting().items()]
    for count in store.object_changes.counts():
        results = {"waiting": count.waiting, "told": count.told, "failed": count.failed}
        found += [Sample(WATCHER_CHANGES, (count.watcher, result), number) for result, number in results.items()]
    for site, (now, ever) in store.drifts.counts().items():
        found += [Sample(DRIFTS, (site,), now), Sample(DRIFTS_EVER, (site,), ever)]
    found += _states(store, stops)
    found += [Sample(REPAIRS, labels, number) for labels, number in store.repairs.counts().items()]
    switches = store.repair_switches.all()
    for site in sites:
        found.append(Sample(REPAIR_STOPPED, (site, "site"), int(site in switches)))
        found.append(Sample(REPAIR_STOPPED, (site, "all"), int(ALL_SITES in switches)))
    return found


def _states(store: SiteStore, stops: Mapping[str, str]) -> Iterator[Sample]:
    """Yield what is known of the states of nodes; every state of a kind has a number, so that none stays as it was."""
    for site, counts in store.state_counts.read().items():
        kinds = (("reported", REPORTED, counts.reported), ("user", USER, counts.user))
        for kind, states, numbers in (*kinds, ("generated", NodeAvailability, counts.generated)):
            for state in states:
                yield Sample(NODE_STATES, (site, kind, str(state)), numbers[state])
        yield Sample(NODE_CRASHES, (site,), counts.crashes)
        # A process's name has a random part, which would be a new series after each restart.
        host = "" if counts.leader is None else counts.leader.partition(":")[0]
        # A site that is stopped is to be led by nobody.
        if not stops.get(site):
            yield Sample(SITE_LEADER, (site, host), 0 if counts.leader is None else 1)
        if counts.version is not None and counts.age is not None:
            yield Sample(VIEW_EPOCH, (site,), counts.version.epoch)
            yield Sample(VIEW_VERSION, (site,), counts.version.number)
            yield Sample(VIEW_AGE, (site,), counts.age)


def _histograms(metric: Metric, buckets: Iterable[Bucket]) -> list[Sample]:
    counts: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * (len(metric.bounds) + 1))
    seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for bucket in buckets:
        counts[bucket.labels][bucket.bucket] += bucket.number
        seconds[bucket.labels] += bucket.seconds
    return [Sample(metric, labels, Distribution(tuple(each), seconds[labels])) for labels, each in counts.items()]


def _calls(store: SiteStore) -> list[Sample]:
    counts: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * (len(CALL_SECONDS.bounds) + 1))
    seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for (owner, key), count in store.owners.calls().items():
        labels = (owner.removeprefix(PROVISIONER), key.call, key.result)
        # A row of another version may have had more buckets.
        counts[labels][min(key.bucket, len(CALL_SECONDS.bounds))] += count.calls
        seconds[labels] += count.seconds
    return [Sample(CALL_SECONDS, labels, Distribution(tuple(each), seconds[labels])) for labels, each in counts.items()]
