"""A certificate authority of a test's own, and a server's certificate that it has signed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files: what is to be trusted, and the key and certificate of a server on loopback, in one."""

    authority: Path
    server: Path


def make_certificates(folder: Path) -> Certificates:
    """Make an authority, and a certificate by it for 127.0.0.1."""
    authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    own = _certificate("an authority", "an authority", authority, authority, is_authority=True)
    signed = _certificate("a server", "an authority", server, authority, is_authority=False)
    private = server.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    made = Certificates(folder / "authority.pem", folder / "server.pem")
    made.authority.write_bytes(own)
    made.server.write_bytes(private + signed)
    return made


def _certificate(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey, *, is_authority: bool
) -> bytes:
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(by, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)
