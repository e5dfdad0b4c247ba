"""Options that several commands share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Target = Annotated[str | None, typer.Option(help="Where it runs; see `amdkernel targets`.", show_default=False)]
