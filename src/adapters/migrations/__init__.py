"""The database's schema, one revision after another; `src.adapters.migrate` applies them.

A new revision is a module in `versions/`, `<number>_<what>.py`, as `script.py.mako` lays it out:
`revision` is its name, `down_revision` that of the last one before it, so that the revisions form
one line. `upgrade` and `downgrade` are plain SQL, a statement per `op.execute`; SQL with colons or
several statements goes through `op.get_bind().exec_driver_sql(...)`. All pending revisions run in
one transaction.
"""
