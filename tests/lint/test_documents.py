"""The documents name files and modules that exist, in sentences that can be read at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from site_store.sql.fence import CURRENT
from strategy_lib import airflow_settings
from strategy_lib.settings import SETTINGS

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
ROOMS = (
    "dags",
    "deploy",
    "plugins",
    "schemas",
    "tests",
    *sorted(path.parent.name for path in ROOT.glob("*/__init__.py")),
)
"""The folders with files that a document may name."""
LONGEST = 160
"""Characters of a sentence, links without their targets."""

FILES = {
    path.relative_to(ROOT).as_posix()
    for room in (*dict.fromkeys(ROOMS), "docs")
    for path in (ROOT / room).rglob("*")
    if "__pycache__" not in path.parts
}
# Each has a plainer word: "the process that", "except", "uses".
_PLAINER = re.compile(r"\b(who(m)?ever|but for|go(es)? by|seldom|oftener)\b", re.IGNORECASE)
_CODE_BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)*`]*\s+(?=[A-Z0-9`*(\[\"“])")


def named_files(text: str) -> Iterator[str]:
    """Yield what a document calls by the path of a file or folder of ours, or by the name of a Python file."""
    for word in re.findall(r"`([^`\s]+)`", text):
        path = word.removesuffix("/")
        if re.fullmatch(r"[\w./-]+\.py", word) or (
            path.partition("/")[0] in ROOMS and re.fullmatch(r"[\w./-]+/[\w./-]*", word)
        ):
            yield path


def is_a_file(name: str) -> bool:
    """Whether a name is that of a file or folder, or the end of a file's path."""
    return (ROOT / name).exists() or any(f"/{file}".endswith(f"/{name}") for file in FILES)


def named_modules(text: str) -> Iterator[str]:
    """Yield the dotted names of modules of ours, and of what is in them."""
    rooms = "|".join((*ROOMS, "slipway_airflow", "slipway_api"))
    yield from re.findall(rf"`((?:{rooms})(?:\.\w+)+)[`(]", text)


def is_there(dotted: str) -> bool:
    """Whether a dotted name leads to a module, or to a name in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        for home in ("", "plugins/"):
            stem = home + "/".join(parts[:length])
            for file in (f"{stem}.py", f"{stem}/__init__.py"):
                if file in FILES:
                    source = (ROOT / file).read_text(encoding="utf-8")
                    return all(re.search(rf"\b{name}\b", source) for name in parts[length:])
    return False


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a document, without code blocks, tables and headings."""
    paragraphs: list[list[str]] = [[]]
    for line in map(str.strip, _CODE_BLOCK.sub("", text).splitlines()):
        if not line or line.startswith(("|", "#", "<")):
            paragraphs.append([])
            continue
        if item := re.match(r"(?:[-*+>]|\d+\.) ", line):
            paragraphs.append([])
            line = line[item.end() :]
        paragraphs[-1].append(line)
    for paragraph in paragraphs:
        yield from _SENTENCE_END.split(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph)))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_and_module_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    files = {name for name in named_files(text) if not is_a_file(name)}
    modules = {name for name in named_modules(text) if not is_there(name)}
    assert files | modules == set()


def test_documents_and_sources_use_the_plainer_word() -> None:
    files = [*DOCUMENTS, *(ROOT / file for file in FILES if file.endswith((".md", ".py", ".html")))]
    texts = {file: file.read_text(encoding="utf-8") for file in files if file != Path(__file__)}
    found = {str(file.relative_to(ROOT)): _PLAINER.search(text) for file, text in texts.items()}
    assert {file: word[0] for file, word in found.items() if word} == {}


def test_every_module_that_a_source_file_names_in_its_texts_exists() -> None:
    sources = [ROOT / file for file in FILES if file.endswith(".py") and not file.startswith("tests/")]
    named = {name for source in sources for name in named_modules(source.read_text(encoding="utf-8"))}
    assert {name for name in named if not is_there(name)} == set()


def test_what_the_store_is_said_to_take_its_time_for_are_its_methods() -> None:
    text = (ROOT / "docs" / "store.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| [\d.]+ \|$", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    stored = {path.stem: path for path in (ROOT / "site_store").rglob("*.py")}
    assert len(named) > 10
    for name in named:
        noun, _, method = name.partition(".")
        assert noun in stored, name
        assert f"    def {method}(" in stored[noun].read_text(encoding="utf-8"), name


@pytest.mark.parametrize("file", ["docs/store.md", "site_store/alembic.ini"])
def test_the_command_for_a_new_migration_has_the_number_behind_the_newest(file: str) -> None:
    numbers = re.findall(r"--rev-id (\d+)", (ROOT / file).read_text(encoding="utf-8"))
    assert numbers == [f"{int(CURRENT) + 1:04d}"]


def test_what_is_not_there_is_found() -> None:
    text = "`strategy_lib/nothing.py`, `nothing.py`, `strategy_lib/strategy.py`, `strategy.py`, `tests/nowhere/`"
    assert [name for name in named_files(text) if not is_a_file(name)] == [
        "strategy_lib/nothing.py",
        "nothing.py",
        "tests/nowhere",
    ]
    assert [
        is_there(name) for name in named_modules("`strategy_lib.strategy.Group`, `strategy_lib.strategy.Nothing`")
    ] == [
        True,
        False,
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_sentence_can_be_read_at_once(document: Path) -> None:
    long = [sentence for sentence in sentences(document.read_text(encoding="utf-8")) if len(sentence) > LONGEST]
    assert long == []


OF_OUR_OWN = {"SLIPWAY_AFTER", "SLIPWAY_PRELOAD", "SLIPWAY_SUPERVISED_HOME", "SLIPWAY_COMPLETE", "SLIPWAY_AIRFLOW__"}
"""Variables that Slipway's processes, and the shell's completion, set for each other: nobody else does."""


def variables(text: str) -> set[str]:
    """Return the names of Slipway's environment variables in a text."""
    return set(re.findall(r"\bSLIPWAY_[A-Z_]*[A-Z](?:__)?\b", text))


def test_every_variable_that_is_read_is_a_setting_and_the_other_way_round() -> None:
    described = {name for setting in SETTINGS for name in variables(setting.name)}
    folders = [ROOT / room for room in ROOMS if room != "tests"]
    sources = {path for folder in folders for path in folder.rglob("*.py")} - {ROOT / "strategy_lib" / "settings.py"}
    read = {name for path in (*sources, ROOT / "Makefile") for name in variables(path.read_text(encoding="utf-8"))}
    assert read - OF_OUR_OWN - described == set(), "say in strategy_lib/settings.py what they are for"
    assert described - read == set(), "nobody reads them"
    for document in DOCUMENTS:
        assert variables(document.read_text(encoding="utf-8")) - read - described == set(), document.name


def test_the_table_of_settings_is_made_of_the_settings() -> None:
    rows = [f"| `{one.name}` | {one.unset} | {one.read_by} | {one.meaning} |" for one in SETTINGS]
    table = "\n".join(("| variable | default | read by | meaning |", "|---|---|---|---|", *rows))
    text = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    assert f"\n{table}\n" in text, f"docs/running.md, Settings, is to have:\n{table}"


def test_production_has_a_row_for_each_setting_of_airflow_and_each_key() -> None:
    rows = [
        f"| `{row.line()}` | {row.default} | {row.wanted} | {row.why}{' (with Celery)' if row.celery else ''} |"
        for row in airflow_settings.SETTINGS
    ]
    keys = [f"| `{key.label}` | {', '.join(key.read_by)} | {key.why} |" for key in airflow_settings.KEYS]
    text = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
    for table in ("\n".join(rows), "\n".join(keys)):
        assert f"\n{table}\n" in text, f"docs/production.md, Airflow's settings, is to have:\n{table}"
