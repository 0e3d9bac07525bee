"""Revisions that were committed since the last action on the whole site, and that an action would pass over."""

from __future__ import annotations

_LISTED = 20


def skipped_commits(newest_site_action: int | None, revision: int) -> range:
    """Return the revisions that were committed since the last site action and would never be deployed by themselves.

    Revisions are numbered from 1 without gaps.
    """
    return range((newest_site_action or 0) + 1, revision)


def refusal(site: str, newest_site_action: int | None, skipped: range, revision: int) -> str:
    """Return the sentence that says what would be passed over, and how to go on if that is meant.

    Parameters
    ----------
    newest_site_action
        The revision of the last action on the whole site, None where there was none.
    skipped
        The revisions that would be passed over, at least one.
    """
    them = "it" if len(skipped) == 1 else "them"
    were = f"{_listed(skipped)} {'was' if len(skipped) == 1 else 'were'}"
    if newest_site_action is None:
        why = f"there was no action on all of site {site} yet, so {were} never deployed"
    else:
        last = f"the last action on all of site {site} was for revision {newest_site_action}"
        why = f"{last}; {were} committed since then and never deployed"
    return (
        f"{why}, and revision {revision} would pass {them} over. If that is meant, repeat this with "
        "allow-intermediate-commits=true (on the command line --allow-intermediate-commits)"
    )


def _listed(revisions: range) -> str:
    if len(revisions) > _LISTED:
        return f"revisions {revisions[0]} to {revisions[-1]}"
    word = "revision" if len(revisions) == 1 else "revisions"
    return f"{word} {', '.join(map(str, revisions))}"
