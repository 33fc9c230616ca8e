"""Stacks do not meet, and real keys stay real."""

from __future__ import annotations

import socket
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

from local.ports import LAST_PORT, UDP_RANGE, Stack, StackName

ALL = [Stack.named(name, shift=0) for name in get_args(StackName)]


def udp_ports(stack: Stack) -> list[int]:
    starts = (stack.livekit_udp, stack.sip_rtp, stack.phone_rtp)
    media = chain.from_iterable(range(start, start + UDP_RANGE) for start in starts)
    return [stack.sip, *stack.phone_ports.values(), *media]


def test_no_two_parts_of_any_stacks_share_a_port() -> None:
    tcp = [port for stack in ALL for port in stack.tcp_ports.values()]
    udp = [port for stack in ALL for port in udp_ports(stack)]
    assert len(set(tcp)) == len(tcp)
    assert len(set(udp)) == len(udp)
    assert max(tcp + udp) <= LAST_PORT


def test_a_shift_moves_every_port_of_a_checkout() -> None:
    here, there = Stack.named("demo", shift=0), Stack.named("demo", shift=300)
    assert there.tcp_ports == {name: port + 300 for name, port in here.tcp_ports.items()}
    assert udp_ports(there) == [port + 300 for port in udp_ports(here)]


def test_a_shift_too_far_is_refused() -> None:
    with pytest.raises(ValueError, match="FAMILIAR_PORT_SHIFT=9000"):
        Stack.named("demo", shift=9000)


def test_without_keys_both_providers_are_local() -> None:
    stack = Stack.named("demo")
    settings = stack.environment({})
    assert settings["OPENAI_BASE_URL"] == settings["DEEPGRAM_BASE_URL"]
    assert settings["OPENAI_BASE_URL"] == f"{stack.providers_url}/v1"
    assert settings["OPENAI_API_KEY"] == settings["DEEPGRAM_API_KEY"] == "local"


def test_a_real_key_makes_its_provider_real_and_leaves_the_other_local() -> None:
    settings = Stack.named("demo").environment({"OPENAI_API_KEY": "sk-real"})
    assert not [name for name in settings if name.startswith("OPENAI_")]
    assert settings["DEEPGRAM_API_KEY"] == "local"


@pytest.mark.parametrize("key", ["", "local"])
def test_no_key_and_the_local_key_are_not_real(key: str) -> None:
    person = {"OPENAI_API_KEY": key, "DEEPGRAM_API_KEY": key}
    assert Stack.named("demo").environment(person)["OPENAI_API_KEY"] == "local"


@pytest.mark.parametrize("name", ["test", "spare"])
def test_tests_never_use_a_real_key(name: StackName) -> None:
    person = {"OPENAI_API_KEY": "sk-real", "DEEPGRAM_API_KEY": "dg-real"}
    settings = Stack.named(name).environment(person)
    assert settings["OPENAI_API_KEY"] == settings["DEEPGRAM_API_KEY"] == "local"


def test_the_environment_file_keeps_every_value(tmp_path: Path) -> None:
    stack = Stack.named("test", root=tmp_path)
    stack.home.mkdir(parents=True)
    settings = {"A": "plain", "B": '{"x": "it\'s $HOME"}', "C": "", "D": "a=b c"}
    stack.write_env(settings)
    assert stack.read_env() == settings


def test_the_socket_is_short_enough_in_a_deep_checkout(tmp_path: Path) -> None:
    deep = Stack.named("test", root=tmp_path / ("x" * 120))
    with socket.socket(socket.AF_UNIX) as probe:
        probe.bind(str(deep.socket))
    deep.socket.unlink()
    assert deep.socket != Stack.named("test", root=tmp_path / ("y" * 120)).socket
