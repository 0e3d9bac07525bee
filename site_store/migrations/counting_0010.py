"""How PostgreSQL counts changed tasks and nodes since schema 0010: those alone that move, each looked up once.

Before, the old and the new state of each row were looked up for the whole and for the groups: four times. Old and new
rows are joined as wholes, and the groups of each row that moved are looked up by an index, however many there are.
"""
# ruff: noqa: S608 - made of constants

from __future__ import annotations

from collections.abc import Iterator

from site_store.migrations import counting_0005

_GROUPS = (
    "LEFT JOIN LATERAL (SELECT array_agg(m.group_name::text) AS names FROM {members} m "
    "WHERE m.{scope} = o.{scope} AND m.node = o.{node}) g ON true"
)
#: The whole and each of the groups.
_PLACES = "CROSS JOIN LATERAL unnest(array_prepend('', g.names)) place(name)"


def statements(dialect: str, more: tuple[str, ...]) -> Iterator[str]:
    """Return what changes the functions, in order, each of it one statement; SQLite has none.

    Parameters
    ----------
    more : columns of `node` whose changes touch their site, beside those of schema 0005.
    """
    if dialect != "sqlite":
        yield _function("task", _count_tasks(), counting_0005._touch_actions("new_rows"))
        yield _function("node", _count_nodes(), _touch_sites((*counting_0005._SHOWN, *more)))


def _function(table: str, count: str, touch: str) -> str:
    return (
        f"CREATE OR REPLACE FUNCTION slipway_count_{table}_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NOT EXISTS (SELECT 1 FROM new_rows) THEN RETURN NULL; END IF; "
        f"EXECUTE $q${count}$q$; {touch}; RETURN NULL; END $$"
    )


def _count_tasks() -> str:
    groups = _GROUPS.format(members="group_node", scope="action_id", node="node")
    return _added(
        "SELECT o.action_id AS action_id, a.site AS site, place.name AS group_name, o.phase AS phase, "
        "t.owner AS owner, t.status AS status, true AS fresh, t.n AS n FROM old_rows o "
        "JOIN new_rows n ON n.action_id = o.action_id AND n.node = o.node AND n.phase = o.phase "
        f"AND (n.status, n.owner) IS DISTINCT FROM (o.status, o.owner) JOIN action a ON a.id = o.action_id {groups} "
        "CROSS JOIN LATERAL (VALUES (coalesce(o.owner, ''), o.status, -1), (coalesce(n.owner, ''), n.status, 1)) "
        f"t(owner, status, n) {_PLACES}"
    )


_TOLD = ("standing", "owner", "status", "wanted_digest", "done_digest")


def _count_nodes() -> str:
    groups = _GROUPS.format(members="site_group_node", scope="site", node="name")
    old, new = (", ".join(f"{row}.{column}" for column in _TOLD) for row in ("o", "n"))
    return _added(
        "SELECT '' AS action_id, o.site AS site, place.name AS group_name, CASE WHEN place.name <> '' THEN 'grouped' "
        "WHEN t.wanted_digest IS NULL THEN 'to be removed' WHEN g.names IS NOT NULL THEN 'grouped' ELSE 'no group' END "
        "AS phase, coalesce(t.owner, '') AS owner, t.standing AS status, "
        f"{counting_0005._FRESH.format(t='t')} AS fresh, t.n AS n FROM old_rows o "
        f"JOIN new_rows n ON n.site = o.site AND n.name = o.name AND ({new}) IS DISTINCT FROM ({old}) {groups} "
        f"CROSS JOIN LATERAL (VALUES ({old}, -1), ({new}, 1)) t({', '.join(_TOLD)}, n) {_PLACES} "
        f"WHERE {counting_0005._COUNTED.format(t='t')}"
    )


def _added(cells: str) -> str:
    return counting_0005._postgresql_add(cells)


def _touch_sites(columns: tuple[str, ...]) -> str:
    """Return what touches the sites of which a row that is shown has changed; planned for the rows of each statement.

    All are compared, and not as many as it takes to find one: where none has changed, PostgreSQL would otherwise
    compare each with each.
    """
    old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("o", "n"))
    sites = (
        "SELECT o.site FROM old_rows o JOIN new_rows n ON n.site = o.site AND n.name = o.name "
        f"AND ({old}) IS DISTINCT FROM ({new}) GROUP BY o.site"
    )
    return f"EXECUTE $q$SELECT slipway_touch('', its.site) FROM ({sites}) its$q$"
