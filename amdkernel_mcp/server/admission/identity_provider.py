"""JSON Web Tokens of an identity provider (OIDC), verified by FastMCP."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastmcp.server.auth import AccessToken
from fastmcp.server.auth.providers.jwt import JWTVerifier

from amdkernel_mcp.access.scopes import LONGEST_NAME, OIDC, SCOPES
from amdkernel_mcp.errors import SettingsError
from amdkernel_mcp.server.admission.tokens import is_loopback

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings

_LONGEST_TOKEN = 16 << 10


class IdentityProvider:
    """Verifies tokens of one issuer for one audience. A user is `oidc:` and the claim `sub`."""

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsError unless issuer, audience and either keys' address or key are set."""
        file, uri = settings.oidc_public_key, settings.oidc_jwks_uri
        if settings.oidc_issuer is None or settings.oidc_audience is None or (file is None) == (uri is None):
            raise SettingsError(
                "tokens of an identity provider need oidc_issuer, oidc_audience and one of "
                "oidc_jwks_uri and oidc_public_key"
            )
        if uri is not None and not _is_trusted(uri):
            raise SettingsError("oidc_jwks_uri: keys must come over https://")
        try:
            key = file.read_text() if file is not None else None
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"oidc_public_key: cannot read {file}: {getattr(error, 'strerror', error)}") from None
        if key is not None and "PRIVATE KEY" in key:
            raise SettingsError("oidc_public_key: this is a private key", file=str(file))
        self._claim = settings.oidc_scopes_claim
        self._verifier = JWTVerifier(
            public_key=key,
            jwks_uri=uri,
            issuer=settings.oidc_issuer,
            audience=settings.oidc_audience,
            algorithm=settings.oidc_algorithm,
        )

    async def verify(self, token: str) -> AccessToken | None:
        """The user and the scopes, those of ours alone; None for a token without an expiry or without a user."""
        if len(token) > _LONGEST_TOKEN or token.count(".") != 2:
            return None
        found = await self._verifier.verify_token(token)
        subject = found.claims.get("sub") if found is not None else None
        if found is None or found.expires_at is None or not isinstance(subject, str):
            return None
        if not subject.isprintable() or not 0 < len(subject) <= 4 * LONGEST_NAME:
            return None
        user = f"{OIDC}{subject}"
        return found.model_copy(update={"client_id": user, "subject": user, "scopes": self._scopes(found)})

    def _scopes(self, token: AccessToken) -> list[str]:
        said = token.claims.get(self._claim)
        named = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
        return [scope for scope in SCOPES if scope in named]


def _is_trusted(uri: str) -> bool:
    """Whether the keys cannot be changed on their way."""
    parts = urlsplit(uri)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
