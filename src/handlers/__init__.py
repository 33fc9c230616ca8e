"""LiveKit-facing: parse, call a service, translate."""
