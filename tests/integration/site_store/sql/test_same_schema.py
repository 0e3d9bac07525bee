"""A store that was upgraded from a release has the very schema of a new one, in all that PostgreSQL can tell of it."""

from __future__ import annotations

import re

import psycopg
import pytest

from site_store import SiteStore
from tests.support.releases import Release, releases

# What it is, and its definition; names of the schema and of the database are in none of them.
_DEFINITIONS = {
    "column": """
        SELECT c.relname || '.' || a.attname,
            format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
                || a.attidentity::text || a.attgenerated::text
                || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
                || coalesce(' COLLATE ' || nullif(a.attcollation, t.typcollation)::regcollation::text, '')
        FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
    """,
    "constraint": """
        SELECT conrelid::regclass::text || '.' || conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    """,
    "index": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "trigger": """
        SELECT tgrelid::regclass::text || '.' || tgname, pg_get_triggerdef(oid) || tgenabled::text
        FROM pg_trigger WHERE NOT tgisinternal
    """,
    "function": """
        SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    """,
    "table": """
        SELECT relname, coalesce(array_to_string(reloptions, ','), '')
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')
    """,
}


# PostgreSQL casts what it reads of a dump once more, and so sets other parentheses.
_IMMATERIAL = re.compile(r"\s+|[()]|::(character varying|text)(\[\])?")


def _schema(url: str) -> dict[str, str]:
    """Return each thing of the schema with its definition."""
    found: dict[str, str] = {}
    with psycopg.connect(url) as connection:
        for kind, query in _DEFINITIONS.items():
            for name, definition in connection.execute(query.encode()):
                found[f"{kind} {name}"] = _IMMATERIAL.sub("", definition)
    return found


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_an_upgraded_store_has_the_schema_of_a_new_one(release: Release, url: str) -> None:
    upgraded = release.restore()
    SiteStore.upgrade(upgraded)
    found, wanted = _schema(upgraded), _schema(url)
    assert len(wanted) > 500
    different = {name: (found.get(name), wanted.get(name)) for name in found.keys() | wanted.keys()}
    assert {name: both for name, both in different.items() if both[0] != both[1]} == {}
