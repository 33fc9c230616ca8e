"""What both sides of an answered call have agreed on (RFC 3261, section 12)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from local.phone.sip import (
    HostPort,
    Request,
    Response,
    parse_name_address,
    parse_uri,
    split_list,
    with_tag,
)


@dataclass
class Dialog:
    """The state that requests within a call are made from."""

    call_id: str
    local: str
    remote: str
    target: str
    routes: tuple[str, ...]
    peer: HostPort
    sequence: int

    @classmethod
    def of_sent(cls, invite: Request, answer: Response, peer: HostPort) -> Dialog:
        """Of an INVITE of ours that was answered."""
        return cls(
            call_id=invite.call_id,
            local=invite.header("from"),
            remote=answer.header("to"),
            target=_contact(answer) or invite.uri,
            routes=tuple(reversed(_routes(answer))),
            peer=peer,
            sequence=invite.sequence,
        )

    @classmethod
    def of_received(cls, invite: Request, tag: str, peer: HostPort) -> Dialog:
        """Of an INVITE of theirs that we answer under this tag."""
        return cls(
            call_id=invite.call_id,
            local=with_tag(invite.header("to"), tag),
            remote=invite.header("from"),
            target=_contact(invite) or invite.sender.uri,
            routes=tuple(_routes(invite)),
            peer=peer,
            sequence=0,
        )

    @property
    def destination(self) -> HostPort:
        """Where the next request goes: the first route, else the other side's contact, if on this machine."""
        uri = parse_uri(parse_name_address(self.routes[0]).uri if self.routes else self.target)
        # A contact may name an address that only other machines can reach.
        if not re.fullmatch(r"127\.\d+\.\d+\.\d+", uri.host):
            return self.peer
        return uri.host, uri.port or 5060

    def ack(self, via: str, sequence: int) -> Request:
        """The ACK of a 2xx to the INVITE with this number."""
        return self._request("ACK", via, sequence)

    def request(self, method: str, via: str) -> Request:
        """The next request."""
        self.sequence += 1
        return self._request(method, via, self.sequence)

    def _request(self, method: str, via: str, sequence: int) -> Request:
        headers = [("Via", via), ("Max-Forwards", "70")]
        headers += [("Route", route) for route in self.routes]
        headers += [("From", self.local), ("To", self.remote), ("Call-ID", self.call_id)]
        headers += [("CSeq", f"{sequence} {method}")]
        return Request(headers=tuple(headers), method=method, uri=self.target)


def _contact(message: Request | Response) -> str:
    return parse_name_address(message.header("contact")).uri


def _routes(message: Request | Response) -> list[str]:
    return [route for value in message.values("record-route") for route in split_list(value)]
