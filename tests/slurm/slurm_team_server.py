"""`amdkernel serve` in a process of its own, for tests that kill it: `PORT NOTES ALLOWED_HOST`.

All of it is real. It notes each result that the journal took in the file `taken` of the folder NOTES.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.server.admission.tokens import known_users
from amdkernel_mcp.server.transports import serve_http
from tests.team.chaos.team_server import note_what_is_taken


def main(port: int, notes: Path, allowed_host: str) -> None:
    note_what_is_taken(notes)
    settings = load_settings()
    users = known_users(settings)
    serve_http(settings, users, host="0.0.0.0", port=port, allowed_hosts=[allowed_host], began=f"port {port}")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
