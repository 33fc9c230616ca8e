"""Against real processes on loopback."""
