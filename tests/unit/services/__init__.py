"""Tests of src/services."""
