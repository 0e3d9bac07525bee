"""The texts of errors, and that they survive a trip between processes."""

from __future__ import annotations

import pickle

import pytest

from provisioner_client import errors


def test_the_docstring_is_the_base_and_the_detail_follows() -> None:
    assert str(errors.TaskNotFound("task t-1")) == "The provisioner does not know this task: task t-1"
    assert str(errors.TaskNotFound()).endswith("then start a new action.")


@pytest.mark.parametrize(
    "error",
    [
        errors.ProvisionerRefused("no", status=400),
        errors.SubmissionUncertain("lost", status=504, retry_after=3.0, reached=True, timed_out=True),
    ],
)
def test_an_error_survives_pickling(error: errors.ProvisionerError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_every_error_has_the_one_root_and_says_what_to_do() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) == 11
    for kind in kinds:
        assert issubclass(kind, errors.ProvisionerError)
        assert len(str(kind()).split(". ")) >= 2, "what happened. What to do."
