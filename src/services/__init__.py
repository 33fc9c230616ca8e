"""What the product does; knows no vendor."""
