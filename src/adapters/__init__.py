"""One module per vendor; each implements ports."""
