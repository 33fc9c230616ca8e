"""The revisions, in one line."""
