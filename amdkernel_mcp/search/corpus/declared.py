"""The sources that are declared: those of docs_index/sources.toml, of other packages, and of the user's own file."""

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.extensions import installed


class OnlinePlace(BaseModel):
    """Where a source is published, and in which form."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["llms", "sphinx", "archive"]
    url: str
    inside: str = ""
    """Of an archive: the folder that holds the documents, without the archive's own top folder."""
    hosts: list[str] = []
    """Hosts that the address may redirect to."""

    @property
    def host(self) -> str:
        """The host of the address."""
        return urlsplit(self.url).hostname or ""

    @property
    def all_hosts(self) -> frozenset[str]:
        """Hosts that may be asked for this source."""
        return frozenset((self.host, *self.hosts))

    @property
    def base(self) -> str:
        """The address below which the pages are."""
        return self.url.removesuffix("llms-full.txt") if self.kind == "llms" else self.url.rstrip("/") + "/"


class SourceSpec(BaseModel):
    """One `[[source]]` of a sources.toml; that file says what the fields mean."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9][\w.+-]*$")
    packages: list[str] = []
    suite: str | None = None
    installed: list[str] = []
    inside: str = ""
    folder: Path | None = None
    online: list[OnlinePlace] = []
    take: list[str] = ["*.rst", "*.md", "*.html", "*.rst.txt", "*.md.txt"]
    leave: list[str] = []
    read: Literal["as_is", "hipify"] = "as_is"
    licence: str
    url: str | None = None

    @model_validator(mode="after")
    def _comes_from_somewhere(self) -> Self:
        if not (self.packages or self.installed or self.folder or self.online):
            raise ValueError("a source needs packages, installed, folder or online")
        return self

    def wants(self, path: str) -> bool:
        """Whether the file at `path`, relative to the source, is a document of this source."""
        return any(fnmatchcase(path, one) for one in self.take) and not any(
            fnmatchcase(path, one) for one in self.leave
        )


def load_specs(settings: Settings | None = None) -> list[SourceSpec]:
    """The declared sources; one of a package, then one of the user's own file, replaces the one of the same name.

    Raises DocumentationError for a file that is wrong, InfrastructureError for a package that cannot be loaded.
    """
    specs = {spec.name: spec for spec in _read(folder("docs_index") / "sources.toml")}
    for file in installed("documents", Path):
        specs |= {spec.name: spec for spec in _read(file)}
    if settings and settings.docs_sources:
        specs |= {spec.name: spec for spec in _read(settings.docs_sources)}
    return list(specs.values())


def _read(file: Path) -> list[SourceSpec]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        return [SourceSpec.model_validate(_below(row, file.parent)) for row in table["source"]]
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentationError(f"the declared sources cannot be read: {error}", file=str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise DocumentationError(f"the declared sources are not TOML: {error}", file=str(file)) from None
    except (KeyError, TypeError):
        raise DocumentationError("the file declares no [[source]]", file=str(file)) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DocumentationError(f"a source is declared wrongly: {where}: {first['msg']}", file=str(file)) from None


def _below(row: dict[str, object], parent: Path) -> dict[str, object]:
    """`folder` is relative to the file that names it."""
    named = row.get("folder")
    return row | {"folder": parent / Path(named).expanduser()} if isinstance(named, str) else row
