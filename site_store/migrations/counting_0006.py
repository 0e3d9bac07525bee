"""What schema 0006 changes about the triggers of the roll-up: more columns touch, and few rows cost little.

PostgreSQL knows nothing of the rows that a statement has changed, and would go through the members of all groups to
find those of 500 nodes. Up to `FEW` rows it looks them up instead.
"""
# ruff: noqa: S608 - made of constants

from __future__ import annotations

from collections.abc import Iterator

from site_store.migrations import counting_0005

FEW = 2000
"""So many rows are looked up one by one; with more, joins of whole tables are faster."""
_JOINS = ("enable_hashjoin", "enable_mergejoin")


def statements(dialect: str, more: tuple[str, ...]) -> Iterator[str]:
    """Return what changes the triggers, in order, each of it one statement.

    Parameters
    ----------
    more : columns of `node` whose changes touch their site, beside those of schema 0005.
    """
    if dialect == "sqlite":
        yield from counting_0005.node_touches(more)
        return
    for moment in ("INSERT", "UPDATE", "DELETE"):
        for statement in counting_0005.counting_functions(moment, more):
            changed = statement.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)
            yield _looking_few_up(changed, "old_rows" if moment == "DELETE" else "new_rows")


def _looking_few_up(function: str, rows: str) -> str:
    """Return a counting function that has few rows counted without joins of whole tables.

    What follows the counting compares old rows with new ones, and needs such joins.
    """
    off = ", ".join(f"set_config('{join}', 'off', true)" for join in _JOINS)
    back = ", ".join(f"set_config('{join}', {join}_was, true)" for join in _JOINS)
    were = " ".join(f"{join}_was text := current_setting('{join}');" for join in _JOINS)
    declared = function.replace("$$ BEGIN ", f"$$ DECLARE {were} BEGIN ", 1)
    count = declared.index("EXECUTE $q$INSERT INTO status_count")
    end = declared.index("$q$;", count) + len("$q$;")
    few = f"IF NOT EXISTS (SELECT 1 FROM {rows} OFFSET {FEW}) THEN PERFORM {off}; END IF; "
    return f"{declared[:count]}{few}{declared[count:end]} PERFORM {back};{declared[end:]}"
