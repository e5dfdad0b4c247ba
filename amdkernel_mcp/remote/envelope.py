"""The envelope of a request in the version of the protocol that needs no session. Only light imports here."""

ENVELOPE_VERSION = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
