"""The control plane over HTTP: FastAPI on the services, one module per resource in `routes`."""
