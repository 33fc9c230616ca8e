"""Run by Alembic, as a file and not as a module, with the connection that `migrate` holds."""

from __future__ import annotations

from alembic import context


def run() -> None:
    """Apply the revisions asked for."""
    context.configure(connection=context.config.attributes["connection"])
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # Alembic's name for it; being imported does nothing
    run()
