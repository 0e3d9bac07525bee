"""The triggers of schema 0010: they keep the members of groups that are in trouble (`site_trouble`), in each change.

A row of it is a member of a group of a site whose node stands as error or undefined, with what its error says. They are
few where little fails; where much does, the first of each group are found without looking at any other. The triggers
that count run first, as their names come first: in PostgreSQL those have locked what must not change meanwhile.
"""
# ruff: noqa: S608 - made of constants

from __future__ import annotations

from collections.abc import Iterator

_TROUBLED = "('error', 'undefined')"
_COLUMNS = "site, group_name, standing, node, error"


def statements(dialect: str) -> Iterator[str]:
    """Return what fills the table from what there is and makes the triggers, in order, each of it one statement."""
    yield (
        f"INSERT INTO site_trouble ({_COLUMNS}) SELECT m.site, m.group_name, n.standing, m.node, n.error "
        "FROM node n JOIN site_group_node m ON m.site = n.site AND m.node = n.name "
        f"WHERE n.standing IN {_TROUBLED}"
    )
    yield from _sqlite() if dialect == "sqlite" else _postgresql()


def _sqlite() -> Iterator[str]:
    came = (
        f"INSERT OR IGNORE INTO site_trouble ({_COLUMNS}) SELECT m.site, m.group_name, NEW.standing, m.node, NEW.error "
        f"FROM site_group_node m WHERE m.site = NEW.site AND m.node = NEW.name AND NEW.standing IN {_TROUBLED}"
    )
    went = (
        "DELETE FROM site_trouble WHERE (site, group_name, standing, node) IN (SELECT m.site, m.group_name, "
        "OLD.standing, m.node FROM site_group_node m WHERE m.site = OLD.site AND m.node = OLD.name)"
    )
    old, new = (f"{row}.standing IN {_TROUBLED}" for row in ("OLD", "NEW"))
    other = "OLD.standing <> NEW.standing OR OLD.error IS NOT NEW.error"
    yield _sqlite_trigger("node", "INSERT", came, new)
    yield _sqlite_trigger("node", "DELETE", went, old)
    yield _sqlite_trigger("node", "UPDATE", f"{went}; {came}", f"({other}) AND ({old} OR {new})")
    joined = (
        f"INSERT OR IGNORE INTO site_trouble ({_COLUMNS}) SELECT n.site, NEW.group_name, n.standing, n.name, n.error "
        f"FROM node n WHERE n.site = NEW.site AND n.name = NEW.node AND n.standing IN {_TROUBLED}"
    )
    left = (
        "DELETE FROM site_trouble WHERE site = OLD.site AND group_name = OLD.group_name "
        f"AND standing IN {_TROUBLED} AND node = OLD.node"
    )
    yield _sqlite_trigger("site_group_node", "INSERT", joined)
    yield _sqlite_trigger("site_group_node", "DELETE", left)


def _sqlite_trigger(table: str, moment: str, work: str, when: str = "") -> str:
    condition = f" WHEN {when}" if when else ""
    return f"CREATE TRIGGER trouble_{table}_{moment.lower()} AFTER {moment} ON {table}{condition} BEGIN {work}; END"


_OLD_TABLE, _NEW_TABLE = "OLD TABLE AS old_rows", "NEW TABLE AS new_rows"


def _postgresql() -> Iterator[str]:
    in_trouble = "EXISTS (SELECT 1 FROM {rows} WHERE standing IN " + _TROUBLED + ")"
    came = (
        f"INSERT INTO site_trouble ({_COLUMNS}) SELECT m.site, m.group_name, n.standing, m.node, n.error "
        "FROM {new} n JOIN site_group_node m ON m.site = n.site AND m.node = n.name "
        f"WHERE n.standing IN {_TROUBLED} ON CONFLICT DO NOTHING"
    )
    went = (
        "DELETE FROM site_trouble t USING {old} o JOIN site_group_node m ON m.site = o.site AND m.node = o.name "
        f"WHERE o.standing IN {_TROUBLED} AND t.site = m.site AND t.group_name = m.group_name "
        "AND t.standing = o.standing AND t.node = m.node"
    )
    insert = f"IF {in_trouble.format(rows='new_rows')} THEN {_anew(came.format(new='new_rows'))} END IF;"
    delete = f"IF {in_trouble.format(rows='old_rows')} THEN {_anew(went.format(old='old_rows'))} END IF;"
    # What stands as before is left alone: many failed nodes may be written without a change of that.
    other = "(b.standing <> a.standing OR b.error IS DISTINCT FROM a.error)"
    moved = f"(SELECT a.* FROM {{a}} a JOIN {{b}} b ON b.site = a.site AND b.name = a.name AND {other})"
    lost = _anew(went.format(old=moved.format(a="old_rows", b="new_rows")))
    gained = _anew(came.format(new=moved.format(a="new_rows", b="old_rows")))
    update = (
        f"IF {in_trouble.format(rows='old_rows')} THEN {lost} END IF; "
        f"IF {in_trouble.format(rows='new_rows')} THEN {gained} END IF;"
    )
    yield from _by_statement("node", "INSERT", insert, _NEW_TABLE)
    yield from _by_statement("node", "DELETE", delete, _OLD_TABLE)
    yield from _by_statement("node", "UPDATE", update, f"{_OLD_TABLE} {_NEW_TABLE}")
    joined = _anew(
        f"INSERT INTO site_trouble ({_COLUMNS}) SELECT m.site, m.group_name, n.standing, m.node, n.error "
        "FROM new_rows m JOIN node n ON n.site = m.site AND n.name = m.node "
        f"WHERE n.standing IN {_TROUBLED} ON CONFLICT DO NOTHING"
    )
    left = _anew(
        "DELETE FROM site_trouble t USING old_rows m WHERE t.site = m.site AND t.group_name = m.group_name "
        f"AND t.standing IN {_TROUBLED} AND t.node = m.node"
    )
    yield from _by_statement("site_group_node", "INSERT", joined, _NEW_TABLE)
    yield from _by_statement("site_group_node", "DELETE", left, _OLD_TABLE)


def _anew(query: str) -> str:
    """Return a statement that PostgreSQL plans for the rows of each statement: the first may have had only one."""
    return f"EXECUTE $q${query}$q$;"


def _by_statement(table: str, moment: str, work: str, transition: str) -> Iterator[str]:
    """Return a function with this work, and the trigger that calls it once for each statement that changed rows."""
    name = f"trouble_{table}_{moment.lower()}"
    function = f"slipway_{name}"
    yield f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {work} RETURN NULL; END $$"
    yield (
        f"CREATE TRIGGER {name} AFTER {moment} ON {table} REFERENCING {transition} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
    )
