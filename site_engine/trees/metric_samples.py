"""All metrics as they are now, from the store. It asks neither Airflow nor a provisioner (rule 36)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from site_engine.monitoring import metrics
from site_engine.monitoring.metrics import Distribution, Metric, Sample
from site_engine.monitoring.owners import PROVISIONER, list_owners
from site_engine.trees.status_trees import site_trees
from site_store import SiteStore
from site_store.nodes.repair_switches import ALL_SITES
from site_store.status.metrics import Bucket
from strategy_lib.node_states.generated import REPORTED, USER, NodeAvailability
from strategy_lib.status.entry import EntryKind
from strategy_lib.status.serves import Serves, Serving
from strategy_lib.status.words import Status


def read_samples(store: SiteStore) -> list[Sample]:
    """Return all samples, each set of labels once."""
    facts = store.metrics.read(metrics.GROUP_SECONDS.bounds)
    found = [Sample(metrics.ACTIONS_RUNNING, labels, count) for labels, count in facts.running.items()]
    found += [Sample(metrics.ACTION_OUTCOMES, labels, count) for labels, count in facts.ended.items()]
    found += [Sample(metrics.LEFT_ALONE, (site,), number) for site, number in facts.left_alone.items()]
    found += [
        Sample(metrics.GROUP_OUTCOMES, (site, state, reason, str(critical).lower()), count)
        for (site, state, reason, critical), count in facts.groups.items()
    ]
    found += _histograms(metrics.GROUP_SECONDS, facts.group_seconds)
    found += _histograms(metrics.PHASE_SECONDS, facts.phase_seconds)
    found += _histograms(metrics.QUEUE_SECONDS, facts.queue_seconds)
    stops = store.site_stops.of_sites()
    sites = list(stops)
    for site, tree in zip(sites, site_trees(store, sites, messages=False), strict=True):
        found += [Sample(metrics.NODES, (site, status.value), number) for status, number in tree.root.counts.items()]
        served = (tree.root.serving or Serving()).counts
        found += [Sample(metrics.NODES_SERVING, (site, word.value), served.get(word, 0)) for word in Serves]
        if stops[site]:
            continue
        watching = [child.status for child in tree.own.children if child.kind is EntryKind.WATCHING]
        found += [Sample(metrics.SITE_WATCHED, (site,), int(status is Status.SUCCESS)) for status in watching]
    found += _calls(store)
    found += [
        Sample(metrics.OWNER_UNRESPONSIVE, (owner.name,), 0 if owner.alive else 1)
        for owner in list_owners(store).owners
    ]
    found += [Sample(metrics.NOTIFICATIONS_WAITING, (site,), number) for site, number in store.outbox.waiting().items()]
    for count in store.object_changes.counts():
        results = {"waiting": count.waiting, "told": count.told, "failed": count.failed}
        found += [
            Sample(metrics.WATCHER_CHANGES, (count.watcher, result), number) for result, number in results.items()
        ]
    for site, (now, ever) in store.drifts.counts().items():
        found += [Sample(metrics.DRIFTS, (site,), now), Sample(metrics.DRIFTS_EVER, (site,), ever)]
    found += _states(store, stops)
    found += [Sample(metrics.REPAIRS, labels, number) for labels, number in store.repairs.counts().items()]
    switches = store.repair_switches.all()
    for site in sites:
        found.append(Sample(metrics.REPAIR_STOPPED, (site, "site"), int(site in switches)))
        found.append(Sample(metrics.REPAIR_STOPPED, (site, "all"), int(ALL_SITES in switches)))
    return found


def _states(store: SiteStore, stops: Mapping[str, str]) -> Iterator[Sample]:
    """Yield what is known of the states of nodes; every state of a kind has a number, so that none stays as it was."""
    for site, counts in store.state_counts.read().items():
        kinds = (("reported", REPORTED, counts.reported), ("user", USER, counts.user))
        for kind, states, numbers in (*kinds, ("generated", NodeAvailability, counts.generated)):
            for state in states:
                yield Sample(metrics.NODE_STATES, (site, kind, str(state)), numbers[state])
        yield Sample(metrics.NODE_CRASHES, (site,), counts.crashes)
        # A process's name has a random part, which would be a new series after each restart.
        host = "" if counts.leader is None else counts.leader.partition(":")[0]
        # A site that is stopped is to be led by nobody.
        if not stops.get(site):
            yield Sample(metrics.SITE_LEADER, (site, host), 0 if counts.leader is None else 1)
        if counts.version is not None and counts.age is not None:
            yield Sample(metrics.VIEW_EPOCH, (site,), counts.version.epoch)
            yield Sample(metrics.VIEW_VERSION, (site,), counts.version.number)
            yield Sample(metrics.VIEW_AGE, (site,), counts.age)


def _histograms(metric: Metric, buckets: Iterable[Bucket]) -> list[Sample]:
    return _distributions(metric, ((one.labels, one.bucket, one.number, one.seconds) for one in buckets))


def _calls(store: SiteStore) -> list[Sample]:
    calls = store.owners.calls().items()
    return _distributions(
        metrics.CALL_SECONDS,
        (
            ((owner.removeprefix(PROVISIONER), key.call, key.result), key.bucket, count.calls, count.seconds)
            for (owner, key), count in calls
        ),
    )


def _distributions(metric: Metric, found: Iterable[tuple[tuple[str, ...], int, int, float]]) -> list[Sample]:
    """Return a histogram of what was found: labels, bucket, how many, and their seconds."""
    counts: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * (len(metric.bounds) + 1))
    seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for labels, bucket, number, took in found:
        # A row of another version may have had more buckets.
        counts[labels][min(bucket, len(metric.bounds))] += number
        seconds[labels] += took
    return [Sample(metric, labels, Distribution(tuple(each), seconds[labels])) for labels, each in counts.items()]
