"""The local provider server, driven as the product and its tests drive it."""
