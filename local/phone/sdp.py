"""Session descriptions (RFC 4566) for one G.711 u-law stream with telephone events."""

from __future__ import annotations

import re
from dataclasses import dataclass

from local.phone.sip import HostPort

PCMU = 0
TELEPHONE_EVENT = 101


@dataclass(frozen=True)
class RemoteMedia:
    """Where the other side wants its audio, and under which payload type its digits."""

    address: HostPort
    telephone_event: int | None


def describe(address: HostPort, *, telephone_event: int | None = TELEPHONE_EVENT) -> str:
    """Our side: an offer, or an answer that uses the payload type the other side chose for events."""
    host, port = address
    lines = ["v=0", f"o=- 1 1 IN IP4 {host}", "s=-", f"c=IN IP4 {host}", "t=0 0"]
    if telephone_event is None:
        lines += [f"m=audio {port} RTP/AVP {PCMU}", f"a=rtpmap:{PCMU} PCMU/8000"]
    else:
        lines += [f"m=audio {port} RTP/AVP {PCMU} {telephone_event}", f"a=rtpmap:{PCMU} PCMU/8000"]
        lines += [f"a=rtpmap:{telephone_event} telephone-event/8000"]
        lines += [f"a=fmtp:{telephone_event} 0-15"]
    lines += ["a=ptime:20", "a=sendrecv"]
    return "\r\n".join([*lines, ""])


def read(body: str) -> RemoteMedia | None:
    """The other side's audio, or None if there is no u-law stream in it."""
    session, *sections = re.split(r"^m=", body, flags=re.MULTILINE)
    for section in sections:
        media = re.match(r"audio (\d+)(?:/\d+)? RTP/AVPF? ([\d ]+)", section)
        if media is None or str(PCMU) not in media[2].split():
            continue
        connection = re.search(r"^c=IN IP4 (\S+)", section, re.MULTILINE) or re.search(
            r"^c=IN IP4 (\S+)", session, re.MULTILINE
        )
        if connection is None or int(media[1]) == 0:
            return None
        event = re.search(r"^a=rtpmap:(\d+) telephone-event/8000", section, re.MULTILINE)
        return RemoteMedia(
            address=(connection[1], int(media[1])),
            telephone_event=int(event[1]) if event else None,
        )
    return None
