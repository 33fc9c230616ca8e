"""Installs and builds what the checkout needs. Standard library only: it runs before anything is installed."""
