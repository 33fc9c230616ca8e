"""Fakes that implement the ports."""
