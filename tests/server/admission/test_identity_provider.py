"""JSON Web Tokens: whose they are, which scopes they have, and settings that would accept too much."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from fastmcp.server.auth.providers.jwt import RSAKeyPair
from joserfc import jwk

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import SettingsError
from amdkernel_mcp.server.admission.identity_provider import IdentityProvider
from amdkernel_mcp.server.admission.tokens import known_users

pytestmark = pytest.mark.anyio
ISSUER, AUDIENCE = "https://id.example", "amdkernel"
KEYS = RSAKeyPair.generate()


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "issuer.pem"
    file.write_text(KEYS.public_key)
    return file


@pytest.fixture
def jwks_uri() -> Iterator[str]:
    public = {**jwk.import_key(KEYS.public_key, "RSA").as_dict(), "kid": "one", "use": "sig"}

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"keys": [public]}).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Keys) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/jwks"
        server.shutdown()
        thread.join()


def with_oidc(settings: Settings, **changed: object) -> Settings:
    return settings.model_copy(update={"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, **changed})


def token(**changed: object) -> str:
    claims: dict[str, object] = {"subject": "ann", "issuer": ISSUER, "audience": AUDIENCE, "scopes": ["docs"]}
    return KEYS.create_token(**(claims | changed))  # type: ignore[arg-type]


async def test_keys_come_from_the_issuers_address(settings: Settings, jwks_uri: str) -> None:
    provider = IdentityProvider(with_oidc(settings, oidc_jwks_uri=jwks_uri))
    found = await provider.verify(token(kid="one"))
    assert found is not None
    assert (found.client_id, found.subject, found.scopes) == ("oidc:ann", "oidc:ann", ["docs"])
    assert await provider.verify(token(kid="two")) is None


@pytest.mark.parametrize(
    ("said", "scopes"),
    [
        ("docs  gpu:time root", ["docs", "gpu:time"]),
        (["admin", "check"], ["check", "admin"]),
        ({"docs": True}, []),
        (None, []),
        ([["docs"], 7], []),
    ],
    ids=str,
)
async def test_scopes_are_those_of_the_named_claim_that_are_ours(
    settings: Settings, key_file: Path, said: object, scopes: list[str]
) -> None:
    provider = IdentityProvider(with_oidc(settings, oidc_public_key=key_file, oidc_scopes_claim="amdkernel"))
    found = await provider.verify(token(scopes=["admin"], additional_claims={"amdkernel": said}))
    assert found is not None
    assert found.scopes == scopes


async def test_a_token_that_never_expires_is_refused(settings: Settings, key_file: Path) -> None:
    provider = IdentityProvider(with_oidc(settings, oidc_public_key=key_file))
    assert await provider.verify(token()) is not None
    assert await provider.verify(token(additional_claims={"exp": None})) is None


@pytest.mark.parametrize(
    "changed",
    [{"oidc_audience": None}, {"oidc_public_key": None}, {"oidc_jwks_uri": "https://id.example/jwks"}],
    ids=["no audience", "no key", "two sources of keys"],
)
def test_half_a_configuration_is_refused(settings: Settings, key_file: Path, changed: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="oidc_audience"):
        IdentityProvider(with_oidc(settings, **{"oidc_public_key": key_file, **changed}))


def test_without_an_issuer_the_other_settings_are_refused(settings: Settings, key_file: Path) -> None:
    with pytest.raises(SettingsError, match="oidc_issuer is not set"):
        known_users(settings.model_copy(update={"oidc_public_key": key_file}))


def test_keys_over_plain_http_are_refused(settings: Settings) -> None:
    with pytest.raises(SettingsError, match="https"):
        IdentityProvider(with_oidc(settings, oidc_jwks_uri="http://id.example/jwks"))
    with pytest.raises(SettingsError, match="https"):
        IdentityProvider(with_oidc(settings, oidc_jwks_uri="http://127.0.0.1.attacker.example/jwks"))


def test_a_private_key_is_refused_and_not_shown(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "private.pem"
    file.write_text(KEYS.private_key.get_secret_value())
    with pytest.raises(SettingsError, match="private key") as raised:
        IdentityProvider(with_oidc(settings, oidc_public_key=file))
    assert "BEGIN" not in str(raised.value)
