"""Certificates, with a real TLS server: trusted by a CA file, or not at all, and then it is not tried again."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from provisioner_client.errors import ProvisionerRefused, ProvisionerUnavailable
from provisioner_client.http_session import HttpSession
from provisioner_client.http_settings import HttpSettings
from provisioner_client.node_agent.request import AgentSilent, Asker, ask
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from tests.support.node_agents import KEY, LOOPBACK, say_up


@pytest.fixture
def waits() -> list[float]:
    """Every wait that the client asked for, in seconds."""
    return []


class EmptyList(BaseHTTPRequestHandler):
    """Answers `[]`."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, format: str, *args: object) -> None:
        """Be silent."""


class QuietServer(HTTPServer):
    """Does not print the handshakes that clients break off."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Be silent."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and its self-signed certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "slipway test")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
def url(certificate: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with QuietServer(("127.0.0.1", 0), EmptyList) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_certificate_is_checked_against_the_ca_file(url: str, certificate: Path) -> None:
    with closing(HttpSession(url, HttpSettings(verify=str(certificate)))) as session:
        assert session.get("/x").data == []


def test_a_certificate_that_is_not_trusted_is_refused_and_not_tried_again(url: str, waits: list[float]) -> None:
    with (
        closing(HttpSession(url, HttpSettings(sleep=waits.append))) as session,
        pytest.raises(
            ProvisionerRefused,
            match=r"certificate is not trusted: self.signed certificate; ca_bundle of the connection",
        ),
    ):
        session.get("/x")
    assert waits == []


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_checking_can_be_switched_off(url: str) -> None:
    with closing(HttpSession(url, HttpSettings(verify=False))) as session:
        assert session.get("/x").data == []


def test_a_ca_file_that_is_not_there_is_named(url: str, tmp_path: Path) -> None:
    with (
        closing(HttpSession(url, HttpSettings(verify=str(tmp_path / "none.pem")))) as session,
        pytest.raises(ProvisionerRefused, match=r"none\.pem"),
    ):
        session.get("/x")


def test_https_where_http_is_spoken_is_named(waits: list[float]) -> None:
    with QuietServer(("127.0.0.1", 0), EmptyList) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        there = f"https://127.0.0.1:{server.server_port}"
        with (
            closing(HttpSession(there, HttpSettings(sleep=waits.append))) as session,
            pytest.raises(ProvisionerUnavailable, match="does not speak TLS: is it http:// and not https://"),
        ):
            session.get("/x")
        server.shutdown()
        thread.join()


def test_a_node_is_asked_by_https_and_its_certificate_is_checked(certificate: Path) -> None:
    async def asked(trusted: ssl.SSLContext | None) -> Reported:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server = await asyncio.start_server(say_up, "127.0.0.1", 0, ssl=context)
        async with server:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/state"
            return await ask(Asker(KEY.encode(), "me", tls=trusted, networks=LOOPBACK), "n1", url, "", 0.0)

    trusted = ssl.create_default_context(cafile=str(certificate))
    assert asyncio.run(asked(trusted)) == Reported(NodeAvailability.UP, "")
    with pytest.raises(AgentSilent, match="TLS: CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(asked(None))
