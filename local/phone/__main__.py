"""A phone for the terminal, on the demo stack: `make phone ARGS="answer +15551234567"`.

It says sentences in a caller's voice and prints what it hears. The carrier is simulated; everything
else of the call is real.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from local.kit import CallKit
from local.phone import Call, CallEndedError, CallRefusedError
from local.ports import Stack

_WAIT_S = 300.0


async def _run(options: argparse.Namespace) -> int:
    async with CallKit.open(Stack.named("demo")) as kit:
        try:
            call = await _connected(kit, options)
            await _talk(kit, call, options.say)
        except (CallRefusedError, CallEndedError, TimeoutError) as error:
            print(f"the call ended: {type(error).__name__} {error}")
            return 1
    return 0


async def _connected(kit: CallKit, options: argparse.Namespace) -> Call:
    if options.command == "dial":
        print(f"{options.caller} dials {options.number}", flush=True)
        return await kit.phone.dial(options.number, caller=options.caller)
    print(f"{options.number} waits for a call", flush=True)
    call = await kit.phone.accept(number=options.number, timeout_s=_WAIT_S)
    print("answered", flush=True)
    return call


async def _talk(kit: CallKit, call: Call, sentences: list[str]) -> None:
    heard = await call.listen(call.answered_at, kit.hear)
    print(f"agent:  {heard.text}", flush=True)
    for sentence in sentences:
        print(f"caller: {sentence}", flush=True)
        heard = await call.ask(await kit.speech(sentence), kit.hear)
        print(f"agent:  {heard.text}", flush=True)
    await call.hang_up()
    print("hung up")


def main() -> int:
    """Exit status: 0 when the call went through."""
    parser = argparse.ArgumentParser(prog="local.phone", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    answering = commands.add_parser("answer", help="wait for a call to this number, and answer it")
    dialling = commands.add_parser("dial", help="call this number")
    dialling.add_argument("--caller", default="+15551234567", help="one's own number")
    for one in (answering, dialling):
        one.add_argument("number", help="E.164")
        one.add_argument(
            "--say", action="append", default=[], help="a sentence after the greeting; repeatable"
        )
    return asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
