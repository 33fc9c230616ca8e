"""Tests of src/adapters."""
