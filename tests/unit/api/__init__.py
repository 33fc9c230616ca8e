"""Tests of the HTTP API on fakes."""
