"""A certificate that no authority signed: the error says so, and what to do."""

import datetime
import socket
import ssl
import threading
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.remote.connection import Remote
from amdkernel_mcp.remote.envelope import CAPABILITIES_KEY, ENVELOPE_VERSION, VERSION_KEY

META = {VERSION_KEY: ENVELOPE_VERSION, CAPABILITIES_KEY: {}}
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'


@pytest.fixture
def signed_by_itself(tmp_path: Path) -> Path:
    """Key and certificate for localhost in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path / "both.pem"
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return file


def serve_once(certificate: Path) -> int:
    """The port of a TLS server that answers one request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener, listener.accept()[0] as raw:
            try:
                with context.wrap_socket(raw, server_side=True) as connection:
                    connection.recv(1 << 16)
                    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
                    connection.sendall(head % len(ANSWER) + ANSWER)
                    while connection.recv(1 << 16):  # a request that is left unread would break the connection
                        pass
            except OSError:  # the client has refused the certificate
                pass

    threading.Thread(target=serve, daemon=True).start()
    return int(listener.getsockname()[1])


async def ask(port: int) -> dict[str, object]:
    remote = Remote(f"https://localhost:{port}/mcp", lambda: None)
    try:
        return await remote.ask(REQUEST, lambda _: None)
    finally:
        await remote.close()


def test_a_certificate_that_no_authority_signed_is_refused_until_it_is_named(
    signed_by_itself: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(InputError, match="self-signed certificate") as refused:
        anyio.run(ask, serve_once(signed_by_itself))
    assert "SSL_CERT_FILE" in str(refused.value.hint)
    monkeypatch.setenv("SSL_CERT_FILE", str(signed_by_itself))
    assert anyio.run(ask, serve_once(signed_by_itself))["result"] == {"tools": []}
