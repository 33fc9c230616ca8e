"""One module per resource; each has a `router` that `src.api.app` includes."""
