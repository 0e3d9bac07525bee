"""The triggers of schema 0005: they keep the roll-up (`status_count`) in the transaction of each change.

They stand in the database, so that no writer can forget them. A record of an action is a row of `task`, counted once
for the whole (group "") and once for each group of its node. A record of a site is a row of `node`, counted the same
way. A row of the phase `~touch` counts changes of a scope.

SQLite has one writer at a time, and counts row by row in part 0. PostgreSQL counts once for each statement, in a part
for each transaction: no two ever wait for each other there.
"""
# ruff: noqa: S608 - made of constants

from __future__ import annotations

from collections.abc import Iterator

TOUCH = "~touch"
WHOLE = "''"
#: Of `node`: what a page of the site shows. A change of anything else touches nothing.
_SHOWN = (
    "standing",
    "status",
    "error",
    "error_revision",
    "error_action",
    "fixed",
    "last_updated",
    "wanted_revision",
    "wanted_digest",
    "done_revision",
    "done_digest",
    "doubt",
    "rack",
    "provisioner_status",
    "power",
    "owner",
)
#: Tables whose rows are of an action, and which of their columns are shown; None: all of them.
_OF_ACTIONS: dict[str, tuple[str, ...] | None] = {
    "action_step": None,
    "action_report": None,
    "approval": None,
    "group_run": None,
    "operation": ("provisioner_task", "running_since", "ended", "over", "status", "result"),
}
_COLUMNS = "action_id, site, group_name, phase, owner, status, fresh, part, records"
_KEY = "action_id, site, group_name, phase, owner, status, fresh, part"
_ADD = f"ON CONFLICT ({_KEY}) DO UPDATE SET records = status_count.records + excluded.records"


def statements(dialect: str) -> Iterator[str]:
    """Return what makes the triggers, in order, each of it one statement."""
    yield from _sqlite() if dialect == "sqlite" else _postgresql()


def first_counts() -> Iterator[str]:
    """Return what counts all that is there already; the same in both databases."""
    for query in (_all_tasks(), _all_nodes()):
        yield f"INSERT INTO status_count ({_COLUMNS}) {query}"


def node_touches(more: tuple[str, ...]) -> Iterator[str]:
    """Return what has changes of more columns of `node` touch their site in SQLite; for later schemas."""
    yield "DROP TRIGGER IF EXISTS touch_node_update"
    yield _sqlite_node_touch("UPDATE", (*_SHOWN, *more))


def _all_tasks() -> str:
    whole = _task_cells("task", WHOLE, "1")
    grouped = _task_cells(
        "task", "g.group_name", "1", "JOIN group_node g ON g.action_id = t.action_id AND g.node = t.node"
    )
    return _summed(f"{whole} UNION ALL {grouped}", "0", filtered=False)


def _all_nodes() -> str:
    whole = _node_cells("node", WHOLE, "1")
    grouped = _node_cells("node", "g.group_name", "1", "JOIN site_group_node g ON g.site = t.site AND g.node = t.name")
    return _summed(f"{whole} UNION ALL {grouped}", "0", filtered=False)


def _task_cells(rows: str, group: str, number: str, join: str = "") -> str:
    """Return the query of the cells of these rows of `task`; no rows of an action that is just being deleted."""
    return (
        f"SELECT t.action_id AS action_id, a.site AS site, {group} AS group_name, t.phase AS phase, "
        f"coalesce(t.owner, '') AS owner, t.status AS status, true AS fresh, {number} AS n "
        f"FROM {rows} t JOIN action a ON a.id = t.action_id {join}"
    )


_GROUPED = "EXISTS (SELECT 1 FROM site_group_node m WHERE m.site = {t}.site AND m.node = {t}.name)"
_FRESH = "({t}.done_digest IS NULL OR {t}.wanted_digest IS NULL OR {t}.done_digest = {t}.wanted_digest)"
#: A node that was never wanted for long enough to be worked on is not shown: it leaves no trace anywhere.
_COUNTED = "({t}.wanted_digest IS NOT NULL OR {t}.done_digest IS NOT NULL OR {t}.status IS NOT NULL)"
_PART = (
    "CASE WHEN {t}.wanted_digest IS NULL THEN 'to be removed' WHEN " + _GROUPED + " THEN 'grouped' ELSE 'no group' END"
)


def _node_cells(rows: str, group: str, number: str, join: str = "", part: str = "") -> str:
    """Return the query of the cells of these rows of `node`."""
    part = part or (_PART.format(t="t") if group == WHOLE else "'grouped'")
    return (
        f"SELECT '' AS action_id, t.site AS site, {group} AS group_name, {part} AS phase, "
        f"coalesce(t.owner, '') AS owner, t.standing AS status, {_FRESH.format(t='t')} AS fresh, {number} AS n "
        f"FROM {rows} t {join} WHERE {_COUNTED.format(t='t')}"
    )


def _summed(cells: str, part: str, *, filtered: bool = True) -> str:
    keys = "action_id, site, group_name, phase, owner, status, fresh"
    having = " HAVING sum(n) <> 0" if filtered else ""
    return f"SELECT {keys}, {part}, sum(n) FROM ({cells}) cells GROUP BY {keys}{having}"


def _sqlite() -> Iterator[str]:
    for number, row, moments in (("1", "NEW", ("INSERT", "UPDATE")), ("-1", "OLD", ("DELETE", "UPDATE"))):
        for moment in moments:
            yield _sqlite_task(moment, row, number)
            yield _sqlite_node(moment, row, number)
    for moment, row in (("INSERT", "NEW"), ("DELETE", "OLD")):
        yield _sqlite_membership(moment, row)
        yield _sqlite_site_membership(moment, row)
    yield from _sqlite_touches()


def _sqlite_trigger(name: str, moment: str, table: str, work: list[str], when: str = "", of: str = "") -> str:
    columns = f" OF {of}" if of and moment == "UPDATE" else ""
    condition = f" WHEN {when}" if when else ""
    body = "; ".join(work)
    return f"CREATE TRIGGER {name} AFTER {moment}{columns} ON {table}{condition} BEGIN {body}; END"


def _sqlite_add(query: str) -> str:
    return f"INSERT INTO status_count ({_COLUMNS}) {query} {_ADD}"


def _sqlite_task(moment: str, row: str, number: str) -> str:
    """Return the trigger that counts the new, or takes the old state of a row of `task` out."""
    cells = (
        f"SELECT {row}.action_id, a.site, g.name, {row}.phase, coalesce({row}.owner, ''), {row}.status, 1, 0, {number} "
        f"FROM action a JOIN (SELECT '' AS name UNION ALL SELECT group_name FROM group_node "
        f"WHERE action_id = {row}.action_id AND node = {row}.node) g WHERE a.id = {row}.action_id"
    )
    changed = "OLD.status IS NOT NEW.status OR OLD.owner IS NOT NEW.owner" if moment == "UPDATE" else ""
    name = f"count_task_{moment.lower()}_{row.lower()}"
    return _sqlite_trigger(name, moment, "task", [_sqlite_add(cells)], changed, "status, owner")


def _sqlite_node(moment: str, row: str, number: str) -> str:
    """Return the trigger that counts the new, or takes the old state of a row of `node` out."""
    part = _PART.format(t=row)
    cells = (
        f"SELECT '', {row}.site, g.name, CASE WHEN g.name = '' THEN {part} ELSE 'grouped' END, "
        f"coalesce({row}.owner, ''), {row}.standing, {_FRESH.format(t=row)}, 0, {number} "
        f"FROM (SELECT '' AS name UNION ALL SELECT group_name FROM site_group_node "
        f"WHERE site = {row}.site AND node = {row}.name) g WHERE {_COUNTED.format(t=row)}"
    )
    told = ("standing", "owner", "status", "wanted_digest", "done_digest")
    changed = " OR ".join(f"OLD.{column} IS NOT NEW.{column}" for column in told) if moment == "UPDATE" else ""
    name = f"count_node_{moment.lower()}_{row.lower()}"
    return _sqlite_trigger(name, moment, "node", [_sqlite_add(cells)], changed)


def _sqlite_membership(moment: str, row: str) -> str:
    """Return the trigger that counts the tasks of a node for a group that it comes into or leaves."""
    number = "1" if moment == "INSERT" else "-1"
    cells = (
        f"SELECT t.action_id, a.site, {row}.group_name, t.phase, coalesce(t.owner, ''), t.status, 1, 0, {number} "
        f"FROM task t JOIN action a ON a.id = t.action_id "
        f"WHERE t.action_id = {row}.action_id AND t.node = {row}.node"
    )
    return _sqlite_trigger(f"count_group_node_{moment.lower()}", moment, "group_node", [_sqlite_add(cells)])


def _sqlite_site_membership(moment: str, row: str) -> str:
    """Return the trigger that counts a node for a group that it comes into or leaves, and whether it has a group."""
    sign, others = ("", 1) if moment == "INSERT" else ("-", 0)
    only = f"(SELECT count(*) FROM site_group_node m WHERE m.site = {row}.site AND m.node = {row}.node) = {others}"
    facts = f"coalesce(t.owner, ''), t.standing, {_FRESH.format(t='t')}, 0"
    this = f"FROM node t WHERE t.site = {row}.site AND t.name = {row}.node AND {_COUNTED.format(t='t')}"
    moved = f"{this} AND t.wanted_digest IS NOT NULL AND {only}"
    work = [
        _sqlite_add(f"SELECT '', t.site, {row}.group_name, 'grouped', {facts}, {sign}1 {this}"),
        _sqlite_add(f"SELECT '', t.site, '', 'grouped', {facts}, {sign}1 {moved}"),
        _sqlite_add(f"SELECT '', t.site, '', 'no group', {facts}, {'' if sign else '-'}1 {moved}"),
    ]
    return _sqlite_trigger(f"count_site_group_node_{moment.lower()}", moment, "site_group_node", work)


def _sqlite_touch(query: str) -> str:
    return _sqlite_add(f"SELECT {query}")


_ONE_TOUCH = f"'', '{TOUCH}', '', '', 1, 0, 1"


def _sqlite_node_touch(moment: str, columns: tuple[str, ...]) -> str:
    row = "OLD" if moment == "DELETE" else "NEW"
    shown = " OR ".join(f"OLD.{column} IS NOT NEW.{column}" for column in columns) if moment == "UPDATE" else ""
    work = [_sqlite_touch(f"'', {row}.site, {_ONE_TOUCH} WHERE true")]
    return _sqlite_trigger(f"touch_node_{moment.lower()}", moment, "node", work, shown)


def _sqlite_touches() -> Iterator[str]:
    touch = _ONE_TOUCH
    for moment in ("INSERT", "UPDATE", "DELETE"):
        row = "OLD" if moment == "DELETE" else "NEW"
        after = moment.lower()
        its_action = f"{row}.action_id, a.site, {touch} FROM action a WHERE a.id = {row}.action_id"
        its_site = f"'', a.site, {touch} FROM action a WHERE a.id = {row}.action_id"
        of_task = "status, owner, op, error, fixed, started, ended"
        yield _sqlite_trigger(f"touch_task_{after}", moment, "task", [_sqlite_touch(its_action)], of=of_task)
        yield _sqlite_node_touch(moment, _SHOWN)
        both = [_sqlite_touch(its_action), _sqlite_touch(its_site)]
        for table, columns in _OF_ACTIONS.items():
            yield _sqlite_trigger(f"touch_{table}_{after}", moment, table, both, of=", ".join(columns or ()))
        work = [
            _sqlite_touch(f"{row}.action_id, {row}.site, {touch} WHERE {row}.action_id <> ''"),
            _sqlite_touch(f"'', {row}.site, {touch} WHERE true"),
        ]
        yield _sqlite_trigger(f"touch_reported_{after}", moment, "reported", work)
        work = [
            f"DELETE FROM status_count WHERE action_id = {row}.id"
            if moment == "DELETE"
            else _sqlite_touch(f"{row}.id, {row}.site, {touch} WHERE true"),
            _sqlite_touch(f"'', {row}.site, {touch} WHERE true"),
        ]
        yield _sqlite_trigger(f"touch_action_{after}", moment, "action", work)
    work = [_sqlite_touch(f"'', NEW.site, {touch} WHERE true")]
    yield _sqlite_trigger("touch_revision_insert", "INSERT", "revision", work)


_THIS_PART = "pg_current_xact_id()::text::bigint"
_CHANGES = {
    "INSERT": "SELECT *, 1 AS n FROM new_rows",
    "DELETE": "SELECT *, -1 AS n FROM old_rows",
    "UPDATE": "SELECT *, 1 AS n FROM new_rows UNION ALL SELECT *, -1 AS n FROM old_rows",
}
_TRANSITIONS = {
    "INSERT": "NEW TABLE AS new_rows",
    "DELETE": "OLD TABLE AS old_rows",
    "UPDATE": "OLD TABLE AS old_rows NEW TABLE AS new_rows",
}


def counting_functions(moment: str, more: tuple[str, ...]) -> Iterator[str]:
    """Return what makes PostgreSQL's functions that count changed tasks and nodes; for later schemas.

    Parameters
    ----------
    more : columns of `node` whose changes touch their site, beside those of this schema.
    """
    rows = "old_rows" if moment == "DELETE" else "new_rows"
    yield next(_by_statement("task", moment, [*_postgresql_tasks(moment), _touch_actions(rows)], rows))
    touches = _touch_sites(moment, rows, (*_SHOWN, *more))
    yield next(_by_statement("node", moment, [*_postgresql_nodes(moment), touches], rows))


def _postgresql() -> Iterator[str]:
    # What a transaction leaves is merged soon: the rows that are dead then must not be read again and again.
    yield "ALTER TABLE status_count SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000)"
    yield (
        "CREATE FUNCTION slipway_touch(the_action text, the_site text) RETURNS void LANGUAGE sql AS $$ "
        f"INSERT INTO status_count ({_COLUMNS}) "
        f"SELECT the_action, the_site, '', '{TOUCH}', '', '', true, {_THIS_PART}, 1 "
        "WHERE the_action IS NOT NULL AND the_site IS NOT NULL ON CONFLICT DO NOTHING $$"
    )
    for moment in _CHANGES:
        rows = "old_rows" if moment == "DELETE" else "new_rows"
        yield from _by_statement("task", moment, [*_postgresql_tasks(moment), _touch_actions(rows)], rows)
        yield from _by_statement("node", moment, [*_postgresql_nodes(moment), _touch_sites(moment, rows)], rows)
    for moment, rows in (("INSERT", "new_rows"), ("DELETE", "old_rows")):
        yield from _by_statement("group_node", moment, _postgresql_membership(rows), rows)
        yield from _by_statement("site_group_node", moment, _postgresql_site_membership(moment, rows), rows)
    yield from _postgresql_touches()


def _by_statement(table: str, moment: str, work: list[str], rows: str) -> Iterator[str]:
    """Return a function with this work, and the trigger that calls it once for each statement that changed rows."""
    function = f"slipway_count_{table}_{moment.lower()}"
    body = "; ".join(_planned_anew(line.replace("{changes}", f"({_CHANGES[moment]})")) for line in work)
    yield (
        f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF NOT EXISTS (SELECT 1 FROM {rows}) THEN RETURN NULL; END IF; {body}; RETURN NULL; END $$"
    )
    yield (
        f"CREATE TRIGGER count_{table}_{moment.lower()} AFTER {moment} ON {table} "
        f"REFERENCING {_TRANSITIONS[moment]} FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
    )


def _planned_anew(line: str) -> str:
    """Return the line so that PostgreSQL plans it for the rows of each statement: the first may have had only one."""
    query = line.replace("PERFORM 1 ", "SELECT 1 ", 1) if line.startswith("PERFORM 1 ") else line
    return f"EXECUTE $q${query}$q$" if query.startswith(("SELECT", "INSERT")) else line


def _postgresql_add(cells: str) -> str:
    return f"INSERT INTO status_count ({_COLUMNS}) {_summed(cells, _THIS_PART)} {_ADD}"


def _postgresql_tasks(moment: str) -> list[str]:
    whole = _task_cells("{changes}", WHOLE, "t.n")
    join = "JOIN group_node g ON g.action_id = t.action_id AND g.node = t.node"
    count = _postgresql_add(f"{whole} UNION ALL {_task_cells('{changes}', 'g.group_name', 't.n', join)}")
    return [*_hold_groups("action_id", moment), count]


def _postgresql_nodes(moment: str) -> list[str]:
    whole = _node_cells("{changes}", WHOLE, "t.n")
    join = "JOIN site_group_node g ON g.site = t.site AND g.node = t.name"
    count = _postgresql_add(f"{whole} UNION ALL {_node_cells('{changes}', 'g.group_name', 't.n', join)}")
    return [*_hold_groups("site", moment), count]


def _hold_groups(scope: str, moment: str) -> list[str]:
    """Return what keeps the groups as they are while rows are new: nobody else can see and lock those.

    Who changes groups takes the same lock for himself alone, and locks the rows that there are.
    """
    return [_lock(scope, "new_rows", shared=True)] if moment == "INSERT" else []


def _lock(scope: str, rows: str, *, shared: bool) -> str:
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    scopes = f"SELECT DISTINCT {scope} AS scope FROM {rows} ORDER BY 1"
    return f"PERFORM {function}(hashtextextended('slipway: groups of {scope} ' || scope, 0)) FROM ({scopes}) scopes"


def _postgresql_membership(rows: str) -> list[str]:
    number = "1" if rows == "new_rows" else "-1"
    join = f"JOIN {rows} g ON g.action_id = t.action_id AND g.node = t.node"
    here = f"EXISTS (SELECT 1 FROM {rows} g WHERE g.action_id = t.action_id AND g.node = t.node)"
    return [
        _lock("action_id", rows, shared=False),
        f"PERFORM 1 FROM task t WHERE {here} ORDER BY t.action_id, t.node, t.phase FOR UPDATE",
        _postgresql_add(_task_cells("task", "g.group_name", number, join)),
    ]


def _postgresql_site_membership(moment: str, rows: str) -> list[str]:
    """Return what counts nodes for groups that they come into or leave; their rows are locked, so that none moves."""
    added = moment == "INSERT"
    number, other = ("1", "-1") if added else ("-1", "1")
    here = f"EXISTS (SELECT 1 FROM {rows} g WHERE g.site = t.site AND g.node = t.name)"
    # Nodes all of whose groups are new; as joins of whole tables, for a group may have 100,000 nodes.
    all_new = (
        "SELECT m.site, m.node FROM site_group_node m "
        f"LEFT JOIN {rows} r ON r.site = m.site AND r.group_name = m.group_name AND r.node = m.node "
        f"WHERE (m.site, m.node) IN (SELECT site, node FROM {rows}) "
        "GROUP BY m.site, m.node HAVING count(r.node) = count(*)"
    )
    none_left = f"{here} AND NOT EXISTS (SELECT 1 FROM site_group_node m WHERE m.site = t.site AND m.node = t.name)"
    moved = f"(t.site, t.name) IN ({all_new})" if added else none_left
    only = f" AND t.wanted_digest IS NOT NULL AND {moved}"
    join = f"JOIN {rows} g ON g.site = t.site AND g.node = t.name"
    cells = " UNION ALL ".join(
        [
            _node_cells("node", "g.group_name", number, join),
            _node_cells("node", WHOLE, number, part="'grouped'") + only,
            _node_cells("node", WHOLE, other, part="'no group'") + only,
        ]
    )
    return [
        _lock("site", rows, shared=False),
        f'PERFORM 1 FROM node t WHERE {here} ORDER BY t.site, t.name COLLATE "C" FOR UPDATE',
        _postgresql_add(cells),
    ]


def _touch_actions(rows: str) -> str:
    its = f"SELECT DISTINCT t.action_id, a.site FROM {rows} t JOIN action a ON a.id = t.action_id"
    return f"PERFORM slipway_touch(action_id, site) FROM ({its}) its"


def _touch_sites(moment: str, rows: str, columns: tuple[str, ...] = _SHOWN) -> str:
    if moment != "UPDATE":
        return f"PERFORM slipway_touch('', site) FROM (SELECT DISTINCT site FROM {rows}) its"
    shown = (", ".join(f"{row}.{column}" for column in columns) for row in ("o", "n"))
    differ = f"({next(shown)}) IS DISTINCT FROM ({next(shown)})"
    same = "n.site = o.site AND n.name = o.name"
    # It looks no further than to the first of a site.
    changed = f"EXISTS (SELECT 1 FROM old_rows o JOIN new_rows n ON {same} WHERE o.site = its.site AND {differ})"
    return f"PERFORM slipway_touch('', site) FROM (SELECT DISTINCT site FROM new_rows) its WHERE {changed}"


def _postgresql_touches() -> Iterator[str]:
    """Return functions and triggers for tables whose changes are few: once for each row."""
    work = {
        "action_row": (
            "the_site := (SELECT site FROM action WHERE id = coalesce(NEW.action_id, OLD.action_id)); "
            "PERFORM slipway_touch(coalesce(NEW.action_id, OLD.action_id), the_site), slipway_touch('', the_site);"
        ),
        "reported": (
            "PERFORM slipway_touch(nullif(coalesce(NEW.action_id, OLD.action_id), ''), coalesce(NEW.site, OLD.site)), "
            "slipway_touch('', coalesce(NEW.site, OLD.site));"
        ),
        "action": (
            "IF TG_OP = 'DELETE' THEN DELETE FROM status_count WHERE action_id = OLD.id; "
            "ELSE PERFORM slipway_touch(NEW.id, NEW.site); END IF; "
            "PERFORM slipway_touch('', coalesce(NEW.site, OLD.site));"
        ),
        "revision": "PERFORM slipway_touch('', NEW.site);",
    }
    for name, lines in work.items():
        yield (
            f"CREATE FUNCTION slipway_touch_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ "
            f"DECLARE the_site text; BEGIN {lines} RETURN NULL; END $$"
        )
    for table, columns in (*_OF_ACTIONS.items(), ("reported", None), ("action", None)):
        update = f"UPDATE OF {', '.join(columns)}" if columns else "UPDATE"
        function = "slipway_touch_action_row" if table in _OF_ACTIONS else f"slipway_touch_{table}"
        yield (
            f"CREATE TRIGGER touch_{table} AFTER INSERT OR {update} OR DELETE ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION {function}()"
        )
    yield (
        "CREATE TRIGGER touch_revision AFTER INSERT ON revision FOR EACH ROW EXECUTE FUNCTION slipway_touch_revision()"
    )
