"""Unit tests of the local stack."""
