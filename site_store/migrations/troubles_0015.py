"""The triggers of schema 0015: they keep the tasks that are in trouble (`task_trouble`), in each change.

A row of it is a task that has failed or is lost, under the group that has it ("": a step). They had an index of their
own before, whose condition is the status of the task. PostgreSQL then wrote each change of a status into every index of
the table; now a result changes none of them.
"""
# ruff: noqa: S608 - made of constants

from __future__ import annotations

from collections.abc import Iterator

_TROUBLED = "('error', 'unknown')"
_COLUMNS = "action_id, owner_group, node, phase, status"
_OTHER = "({a}.status <> {b}.status OR coalesce({a}.owner_group, '') <> coalesce({b}.owner_group, ''))"


def statements(dialect: str) -> Iterator[str]:
    """Return what fills the table from what there is and makes the triggers, in order, each of it one statement."""
    yield _came("task n", "")
    yield from _sqlite() if dialect == "sqlite" else _postgresql()


def _came(rows: str, unless_there: str) -> str:
    """Return what adds those of these rows, called `n`, that are in trouble."""
    facts = "n.action_id, coalesce(n.owner_group, ''), n.node, n.phase, n.status"
    return (
        f"INSERT INTO task_trouble ({_COLUMNS}) SELECT {facts} FROM {rows} WHERE n.status IN {_TROUBLED}{unless_there}"
    )


def _sqlite() -> Iterator[str]:
    old, new = (f"{row}.status IN {_TROUBLED}" for row in ("OLD", "NEW"))
    came = (
        f"INSERT OR IGNORE INTO task_trouble ({_COLUMNS}) "
        f"SELECT NEW.action_id, coalesce(NEW.owner_group, ''), NEW.node, NEW.phase, NEW.status WHERE {new}"
    )
    went = (
        "DELETE FROM task_trouble WHERE action_id = OLD.action_id AND owner_group = coalesce(OLD.owner_group, '') "
        "AND node = OLD.node AND phase = OLD.phase"
    )
    other = _OTHER.format(a="OLD", b="NEW")
    for moment, when, work in (
        ("INSERT", new, came),
        ("DELETE", old, went),
        ("UPDATE", f"{other} AND ({old} OR {new})", f"{went}; {came}"),
    ):
        of = " OF status, owner_group" if moment == "UPDATE" else ""
        yield f"CREATE TRIGGER trouble_task_{moment.lower()} AFTER {moment}{of} ON task WHEN {when} BEGIN {work}; END"


_OLD_TABLE, _NEW_TABLE = "OLD TABLE AS old_rows", "NEW TABLE AS new_rows"
_SAME = "{a}.action_id = {b}.action_id AND {a}.node = {b}.node AND {a}.phase = {b}.phase"


def _postgresql() -> Iterator[str]:
    # Room for the new state of a row on the page where it is: then no index need be told of it.
    yield "ALTER TABLE task SET (fillfactor = 60)"
    went = (
        "DELETE FROM task_trouble t USING {rows} WHERE "
        f"o.status IN {_TROUBLED} AND t.owner_group = coalesce(o.owner_group, '') AND {_SAME.format(a='t', b='o')}"
    )
    changed = f"{_SAME.format(a='n', b='o')} AND {_OTHER.format(a='n', b='o')}"
    moved = f"old_rows o JOIN new_rows n ON {changed}"
    lost, gained = went.format(rows=moved), _came(moved, " ON CONFLICT DO NOTHING")
    insert, delete = _came("new_rows n", " ON CONFLICT DO NOTHING"), went.format(rows="old_rows o")
    yield from _by_statement("INSERT", _where("new_rows", insert), _NEW_TABLE)
    yield from _by_statement("DELETE", _where("old_rows", delete), _OLD_TABLE)
    update = f"{_where('old_rows', lost)} {_where('new_rows', gained)}"
    yield from _by_statement("UPDATE", update, f"{_OLD_TABLE} {_NEW_TABLE}")


def _where(rows: str, query: str) -> str:
    """Return what carries a statement out if one of the rows is in trouble, planned for these rows."""
    return f"IF EXISTS (SELECT 1 FROM {rows} WHERE status IN {_TROUBLED}) THEN EXECUTE $q${query}$q$; END IF;"


def _by_statement(moment: str, work: str, transition: str) -> Iterator[str]:
    """Return a function with this work, and the trigger that calls it once for each statement that changed rows."""
    name = f"trouble_task_{moment.lower()}"
    function = f"slipway_{name}"
    yield f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {work} RETURN NULL; END $$"
    yield (
        f"CREATE TRIGGER {name} AFTER {moment} ON task REFERENCING {transition} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
    )
