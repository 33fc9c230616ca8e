"""Familiar: voice agents that remember who is calling."""
