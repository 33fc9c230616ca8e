"""Tests of src/handlers."""
