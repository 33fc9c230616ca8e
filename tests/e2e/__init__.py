"""Calls on the local stack."""
