"""The message of an error answer, in each of the shapes that Drydock and proxies give it."""

from __future__ import annotations

import pytest

from provisioner_client.http_errors import LONGEST, ErrorShape, read_error


@pytest.mark.parametrize(
    ("body", "shape", "message", "code"),
    [
        pytest.param(
            b'{"__all__": ["Not Ready."], "hwe_kernel": ["Unknown.", "Not synced."]}',
            ErrorShape.FORM,
            "Not Ready.; hwe_kernel: Unknown. Not synced.",
            None,
            id="a form of MAAS",
        ),
        pytest.param(
            b'{"type": "error", "message": "Task not found", "retry": false}',
            ErrorShape.DRYDOCK,
            "Task not found",
            None,
            id="shape a",
        ),
        pytest.param(
            b'{"title": "500 Internal Server Error"}',
            ErrorShape.FALCON,
            "500 Internal Server Error",
            None,
            id="shape b",
        ),
        pytest.param(
            b'{"title": "Bad", "description": "no such field", "code": "17"}',
            ErrorShape.FALCON,
            "Bad: no such field",
            17,
            id="shape b with all its parts",
        ),
        pytest.param(b"Unexpected error.", ErrorShape.TEXT, "Unexpected error.", None, id="shape c"),
        pytest.param(b"", ErrorShape.TEXT, "no message", None, id="shape c without text"),
        pytest.param(
            b'{"kind":"Status","status":"Failure","message":"DesignDoc","reason":"Validation","code":400,"details":'
            b'{"errorCount":1,"messageList":[{"message":"DD1001: bad","error":true},{"message":"ok","error":false}]}}',
            ErrorShape.STATUS,
            "DesignDoc; Validation; DD1001: bad",
            400,
            id="shape d",
        ),
        pytest.param(
            b'{"error_message": "{\\"faultcode\\": \\"Client\\", \\"faultstring\\": \\"Node n1 is locked.\\"}"}',
            ErrorShape.IRONIC,
            "Node n1 is locked.",
            None,
            id="Ironic: JSON within a text",
        ),
        pytest.param(
            b'{"error_message": "{\\"code\\": 406, \\"title\\": \\"No\\", \\"description\\": \\"Version 1.500.\\"}"}',
            ErrorShape.IRONIC,
            "Version 1.500.",
            None,
            id="Ironic: a version that it has not",
        ),
        pytest.param(
            b'{"error_message": {"faultstring": "Gone."}}', ErrorShape.IRONIC, "Gone.", None, id="an older Ironic"
        ),
        pytest.param(b'{"error_message": "as it is"}', ErrorShape.IRONIC, "as it is", None, id="Ironic: no JSON"),
        pytest.param(b'{"error_message": ""}', ErrorShape.IRONIC, "no message", None, id="Ironic: without a word"),
        pytest.param(b'{"error": {"code": 401, "message": "Who?"}}', ErrorShape.TEXT, "Who?", 401, id="keystone"),
        pytest.param(
            b"<!DOCTYPE html><html><head><title>502\nBad Gateway</title></head><body>...",
            ErrorShape.TEXT,
            "an HTML page: 502 Bad Gateway",
            None,
            id="a proxy's page",
        ),
        pytest.param(b"<html></html>", ErrorShape.TEXT, "an HTML page", None, id="a page without title"),
        pytest.param(b'["odd"]', ErrorShape.TEXT, '["odd"]', None, id="JSON that is no error"),
        pytest.param(b'{"type": "error", "mess', ErrorShape.TEXT, '{"type": "error", "mess', None, id="broken off"),
        pytest.param(b"\xff\xfe", ErrorShape.TEXT, "\ufffd\ufffd", None, id="not text at all"),
        pytest.param(
            b'{"message": ' + b"[" * 900 + b"]" * 900 + b"}",
            ErrorShape.TEXT,
            '{"message": ' + "[" * (LONGEST - 13) + "…",
            None,
            id="too deep within",
        ),
        pytest.param(b"[" * 100_000, ErrorShape.TEXT, "[" * (LONGEST - 1) + "…", None, id="too deep"),
    ],
)
def test_error_shapes(body: bytes, shape: ErrorShape, message: str, code: int | None) -> None:
    error = read_error(body)
    assert (error.shape, error.message, error.code) == (shape, message, code)


def test_a_message_cannot_forge_a_log_line() -> None:
    assert read_error(b"one\r\n2026-01-01 ERROR two\x1b[31m").message == "one 2026-01-01 ERROR two [31m"
