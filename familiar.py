"""The operator's commands: `familiar keys …`, `familiar migrate`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta

from src.adapters.migrate import migrate as migrate_database
from src.adapters.mongo_owned import MongoOwnedStore
from src.bootstrap_api import build_keys
from src.bootstrap_jobs import build_catalogue
from src.bootstrap_memory import Foundation, build_foundation
from src.schemas.api_keys import ApiKey, KeyKind, Scope
from src.schemas.errors import FamiliarError
from src.services.api_keys import ApiKeys, IssuedKey, NewKey, scopes_named
from src.services.phone_numbers import load_numbering_plans
from src.services.seeding import migrate
from src.settings import Settings

Command = Callable[[argparse.Namespace, Foundation], Awaitable[None]]


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 when it was done, 1 when it could not be."""
    options = _parser().parse_args(arguments)
    command: Command = options.command
    load_numbering_plans()
    try:
        settings = Settings()
        if command is _migrate:
            migrate_database(settings.database_url)
        asyncio.run(_run(command, options, build_foundation(settings)))
    except FamiliarError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


async def _run(command: Command, options: argparse.Namespace, base: Foundation) -> None:
    try:
        await command(options, base)
    finally:
        await base.aclose()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="familiar", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    migrating = commands.add_parser(
        "migrate",
        help="create or bring up to date tables, indexes and older records; may run while serving, and again",
    )
    migrating.set_defaults(command=_migrate)

    keys = commands.add_parser("keys", help="API keys").add_subparsers(required=True)
    creating = keys.add_parser("create", help="a new key; its token is shown this once")
    creating.add_argument("--owner", required=True, help="whose key it is")
    creating.add_argument("--name", default="", help="what you will know it by")
    creating.add_argument(
        "--scope",
        action="append",
        default=[],
        help=f"what it allows: read, *, or of {', '.join(Scope)}; may be repeated (default: *)",
    )
    creating.add_argument("--days", type=int, help="how long it is valid (default: without end)")
    creating.add_argument(
        "--publishable", metavar="AGENT", help="a key for pages, that leads to this agent alone"
    )
    creating.add_argument(
        "--origin", action="append", default=[], help="origin of pages that may use it"
    )
    creating.set_defaults(command=_create_key)

    listing = keys.add_parser("list", help="an owner's keys")
    revoking = keys.add_parser("revoke", help="end a key at once")
    rotating = keys.add_parser("rotate", help="a new key in the place of another")
    for parser_, command in (
        (listing, _list_keys),
        (revoking, _revoke_key),
        (rotating, _rotate_key),
    ):
        parser_.add_argument("--owner", required=True)
        parser_.set_defaults(command=command)
    for parser_ in (revoking, rotating):
        parser_.add_argument("key", help="the key's id, as `list` shows it")
    rotating.add_argument(
        "--overlap-hours", type=float, default=24, help="how long the old one goes on (default: 24)"
    )
    return parser


async def _migrate(_: argparse.Namespace, base: Foundation) -> None:
    counts = await migrate(build_catalogue(base))
    sys.stdout.write(f"older records brought up to date: {counts.backfilled}\n")
    for problem in counts.problems:
        sys.stderr.write(f"{problem}\n")


async def _create_key(options: argparse.Namespace, base: Foundation) -> None:
    wanted = NewKey(
        kind=KeyKind.PUBLISHABLE if options.publishable else KeyKind.SECRET,
        name=options.name,
        scopes=scopes_named(options.scope or ["*"]),
        agent_id=options.publishable,
        allowed_origins=tuple(options.origin),
        valid_for=None if options.days is None else timedelta(days=options.days),
    )
    _show_token(await _keys(base).create(options.owner, wanted))


async def _list_keys(options: argparse.Namespace, base: Foundation) -> None:
    for key in await _keys(base).list(options.owner):
        sys.stdout.write(f"{_line(key)}\n")


async def _revoke_key(options: argparse.Namespace, base: Foundation) -> None:
    await _keys(base).revoke(options.owner, options.key)


async def _rotate_key(options: argparse.Namespace, base: Foundation) -> None:
    overlap = timedelta(hours=options.overlap_hours)
    _show_token(await _keys(base).rotate(options.owner, options.key, overlap=overlap))


def _keys(base: Foundation) -> ApiKeys:
    return build_keys(base, MongoOwnedStore(base.mongo))


def _show_token(issued: IssuedKey) -> None:
    # The token alone goes to stdout, for a script to take.
    sys.stderr.write(f"{_line(issued.key)}\nThe token is shown this once:\n")
    sys.stdout.write(f"{issued.token}\n")


def _line(key: ApiKey) -> str:
    allows = f"agent {key.agent_id}" if key.agent_id else " ".join(sorted(key.scopes))
    states = [
        f"{what} {at:%Y-%m-%d %H:%M}"
        for what, at in (
            ("created", key.created_at),
            ("last used", key.last_used_at),
            ("expires", key.expires_at),
            ("REVOKED", key.revoked_at),
        )
        if at is not None
    ]
    return f"{key.key_id}  {key.kind}  {key.name or '-'}  [{allows}]  {', '.join(states)}"


if __name__ == "__main__":
    sys.exit(main())
