"""What Drydock says of a design, read from its answer."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner_client.designs import DesignMessage, HiddenAddress
from provisioner_client.drydock.wire import MOST_MESSAGES, validation_from
from provisioner_client.errors import ProvisionerProtocolError

DESIGN = HiddenAddress("http://slipway.test/design/1")


def validation(status: str, code: object, **given: Any) -> dict[str, Any]:
    return {"kind": "Status", "status": status, "code": code, "details": {"messageList": []}, **given}


@pytest.mark.parametrize(
    ("status", "data", "valid"),
    [
        pytest.param(200, validation("Success", 200), True, id="valid"),
        pytest.param(200, validation("Success", "200"), True, id="code as text"),
        pytest.param(200, {"status": "Success"}, True, id="no code"),
        pytest.param(200, validation("Failure", 400), False, id="failure under a 200"),
        pytest.param(200, validation("Success", 400), False, id="success with another code"),
        pytest.param(400, validation("Success", 200), False, id="success under a 400"),
        pytest.param(400, validation("Failure", 400), False, id="failure"),
        pytest.param(500, {"type": "error", "message": "No such file"}, False, id="cannot be found"),
    ],
)
def test_trap_6_valid_is_all_three(status: int, data: dict[str, Any], valid: bool) -> None:
    answer = validation_from(status, data, DESIGN)
    assert answer.valid is valid
    assert valid or answer.messages, "a person must be told why"


def test_validation_messages() -> None:
    listed = [
        {
            "kind": "ValidationMessage",
            "name": "DD1001",
            "message": "rack has no gateway",
            "error": True,
            "level": "Error",
            "documents": [{"schema": "drydock/Rack/v1", "name": "r1"}, {"name": "r2"}, 5],
        },
        {"message": "old", "error": False, "level": "Warning"},
        {"message": "no level", "error": True},
    ]
    answer = validation_from(400, validation("Failure", 400, details={"messageList": listed}), DESIGN)
    assert answer.messages == (
        DesignMessage("Error", "rack has no gateway", ("drydock/Rack/v1/r1", "r2"), "DD1001"),
        DesignMessage("Error", "no level", ()),
        DesignMessage("Warning", "old", ()),
    )
    assert str(answer.messages[0]) == "DD1001: rack has no gateway [drydock/Rack/v1/r1, r2]"


def remark(text: str, level: str, use: int = 0, **more: Any) -> dict[str, Any]:
    made = {"message": text, "level": level, "error": level == "Error", "name": "DD2002", "documents": [], **more}
    return {**made, "ts": f"2026-11-21 01:00:{use:02}"}


def test_what_drydock_repeats_at_every_use_is_said_once_errors_first() -> None:
    once = [("IP Locality Check: Validation successful.", "Info"), ("No networks found.", "Warning"), ("Bad", "Error")]
    listed = [remark(text, level, use) for use in range(50) for text, level in once]
    answer = validation_from(400, validation("Failure", 400, details={"messageList": listed}), DESIGN)
    assert [(one.level, one.text) for one in answer.messages] == [("Error", "Bad"), ("Warning", "No networks found.")]
    assert answer.omitted == 0


def test_a_note_that_says_more_than_valid_is_kept() -> None:
    said = ["No node driver enabled, image not validated.", "The range is valid. It overlaps with dhcp."]
    listed = [remark(text, "Info") for text in said] + [remark("x is valid", "Info", documents=[{"name": "x"}])]
    answer = validation_from(200, validation("Success", 200, details={"messageList": listed}), DESIGN)
    assert [one.text for one in answer.messages] == [*said, "x is valid"]


def test_messages_are_bounded_and_what_is_left_out_is_counted() -> None:
    listed = [remark(f"node n{number} has no boot action", "Warning") for number in range(MOST_MESSAGES + 7)]
    listed.append(remark("the only error", "Error", diagnostic="Mend it."))
    answer = validation_from(400, validation("Failure", 400, details={"messageList": listed}), DESIGN)
    assert (len(answer.messages), answer.omitted) == (MOST_MESSAGES, 8)
    assert answer.messages[0].text == "the only error. Mend it."
    assert answer.reasons() == "DD2002: the only error. Mend it."


@pytest.mark.parametrize("data", [None, [], {"kind": "Status"}])
def test_what_is_no_validation_is_refused(data: object) -> None:
    with pytest.raises(ProvisionerProtocolError):
        validation_from(200, data, DESIGN)
