"""One suite per port, over the fake and every real backend."""
