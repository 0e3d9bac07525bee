"""How PostgreSQL counts changed tasks and nodes since schema 0013: rows that moved alike are put together first.

Before, each row that moved was made one for the whole and one for each of its groups, in the old and in the new state.
Now the groups of each row are looked up, and those that went the same way between the same groups become one with their
number. Where something moved the view of its site is another one, and nothing else need be compared.
"""
# ruff: noqa: S608 - made of constants

from __future__ import annotations

from collections.abc import Iterator

from site_store.migrations import counting_0005

_GROUPS = "ARRAY(SELECT m.group_name FROM {members} m WHERE m.{scope} = o.{scope} AND m.node = o.{node}) AS names"
#: The whole and each of the groups.
_PLACES = "CROSS JOIN LATERAL unnest(array_prepend('', k.names::text[])) place(name)"


def statements(dialect: str, more: tuple[str, ...]) -> Iterator[str]:
    """Return what changes the functions, in order, each of it one statement; SQLite has none.

    Parameters
    ----------
    more : columns of `node` whose changes touch their site, beside those of schema 0005.
    """
    if dialect != "sqlite":
        touched = f"{counting_0005._touch_actions('new_rows')};"
        yield _function("task", "", f"EXECUTE $q${_count_tasks()}$q$; {touched}")
        yield _function("node", "DECLARE moved bigint; ", _count_and_touch((*counting_0005._SHOWN, *more)))


def _function(table: str, declared: str, work: str) -> str:
    return (
        f"CREATE OR REPLACE FUNCTION slipway_count_{table}_update() RETURNS trigger LANGUAGE plpgsql AS $$ {declared}"
        f"BEGIN IF NOT EXISTS (SELECT 1 FROM new_rows) THEN RETURN NULL; END IF; {work} RETURN NULL; END $$"
    )


def _count_and_touch(columns: tuple[str, ...]) -> str:
    """Return what counts nodes, and touches their sites where a column of these differs; of those all, if one moved."""
    old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("o", "n"))
    differ = f"({old}) IS DISTINCT FROM ({new})"
    changed = f"SELECT o.site FROM old_rows o JOIN new_rows n ON n.site = o.site AND n.name = o.name AND {differ}"
    compared = f"EXECUTE $q$SELECT slipway_touch('', its.site) FROM ({changed} GROUP BY o.site) its$q$;"
    every = "PERFORM slipway_touch('', its.site) FROM (SELECT DISTINCT site FROM new_rows) its;"
    count = f"EXECUTE $q${_count_nodes()}$q$; GET DIAGNOSTICS moved = ROW_COUNT;"
    return f"{count} IF moved > 0 THEN {every} ELSE {compared} END IF;"


def _count_tasks() -> str:
    names = _GROUPS.format(members="group_node", scope="action_id", node="node")
    alike = (
        f"SELECT o.action_id, o.phase, o.owner AS owner_was, o.status AS status_was, n.owner, n.status, {names}, "
        "count(*) AS n FROM old_rows o JOIN new_rows n ON n.action_id = o.action_id AND n.node = o.node "
        "AND n.phase = o.phase AND (n.status, n.owner) IS DISTINCT FROM (o.status, o.owner) "
        "GROUP BY 1, 2, 3, 4, 5, 6, 7"
    )
    return counting_0005._postgresql_add(
        "SELECT k.action_id AS action_id, a.site AS site, place.name AS group_name, k.phase AS phase, "
        "coalesce(t.owner, '') AS owner, t.status AS status, true AS fresh, t.n AS n "
        f"FROM ({alike}) k JOIN action a ON a.id = k.action_id "
        "CROSS JOIN LATERAL (VALUES (k.owner_was, k.status_was, -k.n), (k.owner, k.status, k.n)) t(owner, status, n) "
        f"{_PLACES}"
    )


_TOLD = ("standing", "owner", "status", "wanted_digest", "done_digest")


def _facts(row: str) -> str:
    """Return what the count of a row of `node` follows from."""
    counted, fresh = (each.format(t=row) for each in (counting_0005._COUNTED, counting_0005._FRESH))
    return f"{row}.standing, {row}.owner, {row}.wanted_digest IS NULL, {fresh}, {counted}"


def _count_nodes() -> str:
    names = _GROUPS.format(members="site_group_node", scope="site", node="name")
    old, new = (", ".join(f"{row}.{column}" for column in _TOLD) for row in ("o", "n"))
    alike = (
        f"SELECT o.site, {_facts('o')}, {_facts('n')}, {names}, count(*) FROM old_rows o "
        f"JOIN new_rows n ON n.site = o.site AND n.name = o.name AND ({new}) IS DISTINCT FROM ({old}) "
        "GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"
    )
    was, now = (
        ", ".join(f"k.{fact}_{state}" for fact in ("standing", "owner", "gone", "fresh", "counted"))
        for state in ("was", "is")
    )
    columns = ", ".join(f"{each.removeprefix('k.')}" for each in f"{was}, {now}".split(", "))
    return counting_0005._postgresql_add(
        "SELECT '' AS action_id, k.site AS site, place.name AS group_name, CASE WHEN place.name <> '' THEN 'grouped' "
        "WHEN t.gone THEN 'to be removed' WHEN cardinality(k.names) > 0 THEN 'grouped' ELSE 'no group' END AS phase, "
        "coalesce(t.owner, '') AS owner, t.standing AS status, t.fresh AS fresh, t.n AS n "
        f"FROM ({alike}) k(site, {columns}, names, n) "
        f"CROSS JOIN LATERAL (VALUES ({was}, -k.n), ({now}, k.n)) t(standing, owner, gone, fresh, counted, n) "
        f"{_PLACES} WHERE t.counted"
    )
