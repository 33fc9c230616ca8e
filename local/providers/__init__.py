"""Speech and language providers that run offline, at the wire formats of the real ones."""
