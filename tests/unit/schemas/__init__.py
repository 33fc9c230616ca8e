"""Tests of src/schemas."""
