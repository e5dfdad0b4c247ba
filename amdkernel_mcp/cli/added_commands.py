"""Commands that other packages add: docs/extending.md. One is imported where its name is given, or all are listed."""

import typer
from typer.core import TyperGroup

from amdkernel_mcp.extensions import function, names


class WithAddedCommands(TyperGroup):
    """Our commands, and those of other packages that have no name of ours."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Ours first."""
        ours = super().list_commands(ctx)
        return [*ours, *(name for name in names("commands") if name not in ours)]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> typer.core.TyperCommand | None:  # type: ignore[override]
        """Raises InfrastructureError for a package that cannot be loaded."""
        if (ours := super().get_command(ctx, cmd_name)) is not None:
            return ours  # type: ignore[return-value]
        added = function("commands", cmd_name)
        if added is None:
            return None
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(cmd_name)(added)
        return typer.main.get_command(alone)  # type: ignore[return-value]
