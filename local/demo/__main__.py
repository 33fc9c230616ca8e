"""Serve the demo page on this machine."""
