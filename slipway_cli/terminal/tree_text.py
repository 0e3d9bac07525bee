"""The status tree as lines for a terminal, from its plain data (`schemas/status_tree.json`). Pure.

Every entry has its symbol, name and status. Text that is too long is folded beside the lines of the tree. Where there
is a limit of lines, what is at work or in trouble stays in view, and brothers and sisters in a row become one line.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from slipway_cli.output import printable
from strategy_lib.status.serves import Part, Serves, oldest_of, parts_of, words_of
from strategy_lib.status.words import UNRECORDED_SYMBOL, Status, duration_words, status_from

Data = Mapping[str, Any]

TERMINAL_STYLES = {"grey": "dim", "blue": "cyan"}
"""Styles of the colours of statuses, where they are not the colours' own names."""
_TROUBLE = (Status.UNDEFINED, Status.ERROR, Status.UNRESPONSIVE)
_ANSWERS = {"timed_out": "nobody approved it in time"}
_WAITS = "waits for approval: "
_WHO = "those who may start such an action and change runs of deploy_site"
_MOST_MESSAGES = 3
"""Messages of an entry whose children are not shown, each of which may have its own."""


def status_style(status: Status) -> str:
    """Return the style in which a terminal shows a status."""
    return TERMINAL_STYLES.get(status.colour, status.colour)


def serving_style(status: Status, serves: Serves) -> str:
    """Return the same of nodes that serve something while their status is pending: the style of what they serve."""
    if serves is Serves.NOTHING:
        return status_style(status)
    return TERMINAL_STYLES.get(serves.colour, serves.colour)


@dataclass(frozen=True, slots=True)
class Guides:
    """The lines that lead to an entry."""

    fork: str
    end: str
    past: str
    dots: str


_GUIDES = {True: Guides("|- ", "`- ", "|  ", "..."), False: Guides("├─ ", "└─ ", "│  ", "…")}
"""By whether a terminal shows ASCII alone."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What the lines are for: the columns, the characters, and the action's name in commands.

    `ref` is for example `action/01ARZ3NDEKTSV4RRFFQ69G5FAV`; "" where the tree is a site's.
    """

    width: int
    ascii_only: bool = False
    ref: str = ""
    paper: Console = field(default_factory=Console)

    def symbol(self, status: Status | None, serves: Serves = Serves.NOTHING) -> str:
        """Return the character for a status; None: nothing is kept about the entry.

        Parameters
        ----------
        serves : what a pending node serves meanwhile.
        """
        if status is None:
            return UNRECORDED_SYMBOL
        part = Part(status, serves, 1)
        return part.ascii_symbol if self.ascii_only else part.symbol

    def folded(self, text: Text, first: str, rest: str) -> Iterator[Text]:
        """Yield the lines of a text that begin with `first`, and with `rest` from the second on."""
        room = max(self.width - max(len(first), len(rest)), 1)
        for place, part in enumerate(text.wrap(self.paper, room, overflow="fold")):
            line = Text(rest if place else first, "dim")
            line.append_text(part)
            line.rstrip()
            yield line


def tree_lines(root: Data, sheet: Sheet, height: int | None = None) -> list[Text]:
    """Return the lines of an entry and of all below it.

    Parameters
    ----------
    height : how many lines at most; None: all.
    """
    rows = _Rows(root, sheet)
    return list(rows.lines(None if height is None else rows.worth_showing(max(height, 1))))[:height]


def status_of(entry: Data) -> Status | None:
    """Return how an entry stands; None where nothing is kept about it."""
    value = entry.get("status")
    return None if value is None else status_from(str(value))


def serves_of_entry(entry: Data) -> Serves:
    """Return what an entry serves while it is pending; of several nodes the oldest that a pending one serves."""
    if status_of(entry) is not Status.PENDING:
        return Serves.NOTHING
    found = entry.get("pending_serves")
    return _word(entry.get("serves")) if found is None else oldest_of(_words(found))


def _word(value: Any) -> Serves:
    return Serves(value) if value in tuple(Serves) else Serves.NOTHING


def _words(found: Mapping[str, Any]) -> dict[Serves, int]:
    return {_word(name): int(number) for name, number in found.items()}


def status_counts(entry: Data, sheet: Sheet) -> str:
    """Return how many leaves of an entry have which status, the highest first: `✗ 2 ▶ 3 ✓ 800`.

    Pending nodes that serve something meanwhile have a symbol of their own: `↑ 12`.
    """
    parts = parts_of(_counts(entry), _words(entry.get("pending_serves") or {}), tuple(reversed(Status)))
    return " ".join(f"{sheet.symbol(part.status, part.serves)} {part.number}" for part in parts)


def tree_changes(root: Data, before: dict[tuple[str, ...], str]) -> Iterator[str]:
    """Yield a line for each step, group, phase and node that stands otherwise than before, but not for one that waits.

    Parameters
    ----------
    before : how each stood, by path; it is brought up to date.
    """
    for path, entry in _walk(root, ()):
        status = entry.get("status")
        # What is above the groups is now pending, now processing, with each of them.
        if status in (None, Status.PENDING.value) or (entry.get("type") == "supergoal" and entry.get("children")):
            continue
        said = str(status)
        if status == Status.ERROR.value and (entry.get("group") or {}).get("state") == "success":
            said += ", the group succeeded"
        # Both are known only after its first node has failed: who is to blame, and how a phase's other nodes ended.
        counts = entry.get("counts") or {} if entry.get("kind") == "phase" else {}
        ended = not (counts.get(Status.PENDING.value) or counts.get(Status.PROCESSING.value))
        numbers = _numbers(entry)
        known = f"{said} {numbers if ended else ''} {(entry.get('blame') or {}).get('message', '')}"
        if before.get(path) == known:
            continue
        before[path] = known
        words = [numbers, *(_first_words(entry) if not entry.get("children") or entry.get("blame") else ())]
        parts = (" / ".join(path) or str(entry["name"]), said, "; ".join(filter(None, words)))
        yield printable(": ".join(filter(None, parts)))


def _numbers(entry: Data) -> str:
    """Say how many of a phase's nodes ended in which way, the worst first; above a phase nodes would count twice."""
    found = _counts(entry) if entry.get("kind") == "phase" else {}
    return ", ".join(f"{found[status]} {status}" for status in reversed(Status) if found.get(status))


def _counts(entry: Data) -> Counter[Status]:
    numbers: Counter[Status] = Counter()
    for name, number in (entry.get("counts") or {}).items():
        numbers[status_from(str(name))] += int(number)
    return numbers


def _walk(entry: Data, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Data]]:
    yield path, entry
    for child in entry.get("children") or ():
        yield from _walk(child, (*path, str(child["name"])))


def entry_text(entry: Data, sheet: Sheet) -> Text:
    """Return the line of an entry: symbol, name, status, what its leaves show."""
    status = status_of(entry)
    serves = serves_of_entry(entry)
    style = serving_style(status, serves) if status is not None else "dim"
    group = entry.get("group") or {}
    victim = (entry.get("blame") or {}).get("role") == "victim"
    if victim:
        style = f"dim {style}"
    text = Text(f"{sheet.symbol(status, serves)} {printable(str(entry['name']))}", style)
    if group.get("critical"):
        text.append(" *", "bold")
    text.append(f"  {words_of(status, serves) if status is not None else 'not known'}", style)
    parts = ["not run"] if victim else []
    if (group.get("attempt") or 1) > 1:
        parts.append(f"attempt {group['attempt']}")
    if entry.get("children") or entry.get("leaves", 0) > 1:
        never = entry.get("not_started", 0)
        parts.append(status_counts(entry, sheet) + (f" ({never} not started)" if never and not victim else ""))
    if entry.get("processed_by"):
        parts.append(f"processed by {entry['processed_by']}")
    if status is Status.UNRESPONSIVE and entry.get("last_status") not in (None, status):
        age = duration_words(entry.get("last_status_age"))
        parts.append(f"was {entry['last_status']}{f' {age} ago' if age else ''}")
    words = ", ".join(printable(part) for part in parts if part)
    if words:
        text.append(f"  {words}")
    return text


def _first_words(entry: Data) -> list[str]:
    """Return what is said of an entry: why nothing is kept, who is to blame, then its messages; each once."""
    said = [entry["reason"]] if entry.get("reason") else []
    blame = entry.get("blame")
    if blame:
        said.append(blame["message"])
    said += entry.get("messages") or []
    return list(dict.fromkeys(str(words) for words in said))


def notes_of(entry: Data, sheet: Sheet) -> list[Text]:
    """Return the lines below that of an entry: what was said, criteria that are not met, an answer that is awaited."""
    children, status, blame = entry.get("children"), status_of(entry), entry.get("blame")
    said = _first_words(entry)
    if sheet.ref:
        # The group says it once, for itself and for all that is below it.
        said = [words for words in said if not words.startswith(_WAITS)]
    if entry.get("type") == "supertask" and not blame:
        # A phase of a group that is blocked by another: its group says so.
        said = [words for words in said if not words.startswith("blocked by ")]
    if children and not entry.get("provisioner"):
        # What its children say stands with them; a provisioner's task says only its own. A node below which a reporter
        # has leaves has words of its own too.
        theirs = {str(words) for child in children for words in child.get("messages") or ()}
        own = [words for words in said if words not in theirs] if entry.get("type") == "task" else []
        said = said[:1] if blame or entry.get("reason") else own
    elif len(said) > _MOST_MESSAGES and entry.get("type") != "task":
        more = len(said) - _MOST_MESSAGES
        said = [*said[:_MOST_MESSAGES], f"and {more} more message{'' if more == 1 else 's'}"]
    style = status_style(status) if status in _TROUBLE and status is not None else "dim"
    notes = [Text(printable(words), style) for words in said]
    group = entry.get("group") or {}
    notes += [
        Text(
            printable(
                f"after {result['phase']}: {result['criterion']} needed {result['needed']}, actual {result['actual']}"
            ),
            style,
        )
        for result in group.get("criteria") or ()
        if not result["met"] and not blame  # which says so
    ]
    if group.get("batches"):
        notes.append(Text(printable(str(group["batches"]["text"])), "dim"))
    return [*notes, *_approval(entry, group.get("approval"), sheet)]


def _approval(entry: Data, approval: Data | None, sheet: Sheet) -> Iterator[Text]:
    if not approval:
        return
    if approval.get("answered"):
        by = f" by {approval['answered_by']}" if approval.get("answered_by") else ""
        comment = f": {approval['comment']}" if approval.get("comment") else ""
        yield Text(printable(f"{_ANSWERS.get(str(approval['answer']), approval['answer'])}{by}{comment}"), "dim")
        return
    who = ", ".join(approval.get("approvers") or ()) or _WHO
    yield Text(printable(f"waits for approval by {who}: {approval.get('text') or 'no text'}"), "yellow")
    if sheet.ref:
        # By itself: it is copied, and so it is not to be folded.
        yield Text(printable(f"slipway approve {sheet.ref} --group {shlex.quote(str(entry['name']))}"), "yellow")


class _Rows:
    """The entries of a tree in the order in which they are shown; an entry is known by its place in that order."""

    def __init__(self, root: Data, sheet: Sheet) -> None:
        self._sheet = sheet
        self._guides = _GUIDES[sheet.ascii_only]
        self.entries: list[Data] = []
        self._parents: list[int | None] = []
        self._children: list[list[int]] = []
        self._depths: list[int] = []
        self._heights: list[int] = []
        self._add(root, None, 0)

    def _add(self, entry: Data, parent: int | None, depth: int) -> int:
        place = len(self.entries)
        self.entries.append(entry)
        self._parents.append(parent)
        self._children.append([])
        self._depths.append(depth)
        below = entry.get("children") or ()
        blank = " " * 3 * depth
        self._heights.append(len(list(self._own(entry, blank, blank, has_below=bool(below)))))
        self._children[place] = [self._add(child, place, depth + 1) for child in below]
        return place

    def lines(self, chosen: set[int] | None, place: int = 0, first: str = "", rest: str = "") -> Iterator[Text]:
        """Yield the lines of the entries that are chosen, None: of all, from a place on."""
        entry, children = self.entries[place], self._children[place]
        shown = bool(children) and (chosen is None or any(child in chosen for child in children))
        yield from self._own(entry, first, rest, has_below=shown)
        if not shown:
            return
        items = self._items(children, chosen)
        more = self._more(entry)
        for i, item in enumerate(items):
            is_last = i == len(items) - 1 and not more
            fork = self._guides.end if is_last else self._guides.fork
            past = " " * len(fork) if is_last else self._guides.past
            if isinstance(item, int):
                yield from self.lines(chosen, item, rest + fork, rest + past)
            else:
                yield from self._sheet.folded(self._fold(item), rest + fork, rest + past)
        if more:
            yield from self._sheet.folded(Text(more, "dim"), rest + self._guides.end, rest + "   ")

    def _items(self, children: Sequence[int], chosen: set[int] | None) -> list[int | list[int]]:
        """Return the children that are shown, and between them those in a row that are not."""
        items: list[int | list[int]] = []
        for child in children:
            if chosen is None or child in chosen:
                items.append(child)
            elif items and isinstance(items[-1], list):
                items[-1].append(child)
            else:
                items.append([child])
        return items

    def _own(self, entry: Data, first: str, rest: str, *, has_below: bool) -> Iterator[Text]:
        """Yield an entry's line and its notes; `first` and `rest` lead to the first and to the other lines."""
        inside = rest + (self._guides.past if has_below else "   ")
        yield from self._sheet.folded(entry_text(entry, self._sheet), first, inside)
        for note in notes_of(entry, self._sheet):
            yield from self._sheet.folded(note, inside, inside)

    def _fold(self, places: Sequence[int]) -> Text:
        """Return the line that stands for entries in a row."""
        entries = [self.entries[place] for place in places]
        numbers = Counter((status_of(entry), serves_of_entry(entry)) for entry in entries)
        words = " ".join(
            f"{self._sheet.symbol(status, serves)} {numbers[status, serves]}"
            for status in (*reversed(Status), None)
            for serves in (Serves.WANTED, Serves.OLDER, Serves.NOTHING)
            if numbers[status, serves]
        )
        return Text(f"{self._guides.dots} {len(places)} more: {words}", "dim")

    def _more(self, entry: Data) -> str:
        """Say how many entries the answer leaves out below one."""
        left = int(entry.get("left_out") or 0)
        return f"{self._guides.dots} {left} more, which were not asked for" if left else ""

    def worth_showing(self, room: int) -> set[int]:
        """Return the entries that fit, each with those above it: at work first, then in trouble, then near to these."""
        chosen = {0}
        attempts = 0
        for place in self._by_worth():
            if place in chosen:
                continue
            path = {place} | set(self._above(place))
            attempts += 1
            if self._height(chosen | path) <= room:
                chosen |= path
            elif attempts > 4 * room:
                break
        return chosen

    def _above(self, place: int) -> Iterator[int]:
        parent = self._parents[place]
        while parent is not None:
            yield parent
            parent = self._parents[parent]

    def _height(self, chosen: set[int]) -> int:
        total = 0
        for place in chosen:
            total += self._heights[place]
            children = self._children[place]
            if any(child in chosen for child in children):
                total += sum(isinstance(item, list) for item in self._items(children, chosen))
                total += bool(self._more(self.entries[place]))
        return total

    def _by_worth(self) -> list[int]:
        statuses = [status_of(entry) for entry in self.entries]
        at_work = [i for i, status in enumerate(statuses) if status is Status.PROCESSING]
        trouble = [i for i, status in enumerate(statuses) if status in _TROUBLE]
        middle = at_work[-1] if at_work else trouble[0] if trouble else len(statuses) - 1
        near = sorted(range(len(statuses)), key=lambda i: (self._depths[i], abs(i - middle)))
        upper = [i for i in at_work if self._children[i]]
        return list(dict.fromkeys([*upper, *at_work[:3], *trouble, *near, *at_work]))
