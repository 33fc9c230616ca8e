"""SIP messages (RFC 3261): reading them from a datagram and writing them into one."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from typing_extensions import override

HostPort = tuple[str, int]

_LONG_NAMES: Final = {
    "b": "referred-by",
    "c": "content-type",
    "f": "from",
    "i": "call-id",
    "k": "supported",
    "l": "content-length",
    "m": "contact",
    "o": "event",
    "r": "refer-to",
    "s": "subject",
    "t": "to",
    "v": "via",
    "x": "session-expires",
}
_REASONS: Final = {
    100: "Trying",
    180: "Ringing",
    200: "OK",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    480: "Temporarily Unavailable",
    481: "Call/Transaction Does Not Exist",
    486: "Busy Here",
    487: "Request Terminated",
    488: "Not Acceptable Here",
    503: "Service Unavailable",
    603: "Decline",
}
_REQUEST_LINE: Final = re.compile(r"([A-Z]+) (\S+) SIP/2\.0")
_STATUS_LINE: Final = re.compile(r"SIP/2\.0 (\d{3})(?: (.*))?")
_URI: Final = re.compile(
    r"(?P<scheme>sips?|tel):(?:(?P<user>[^@;?]*)@)?(?P<host>\[[^\]]+\]|[^:;?>]*)(?::(?P<port>\d+))?"
)


class SipFormatError(ValueError):
    """The datagram is not a SIP message."""


def reason_of(status: int) -> str:
    """The usual words for a status."""
    return _REASONS.get(status, "Unknown")


@dataclass(frozen=True)
class Uri:
    """The parts of a SIP or tel URI that a phone looks at."""

    user: str
    host: str
    port: int | None


def parse_uri(text: str) -> Uri:
    """Read `sip:user@host:port;…` or `tel:number`; escapes in the user are undone.

    Raises:
        SipFormatError: it is neither.
    """
    match = _URI.match(text.strip())
    if match is None:
        raise SipFormatError(f"not a URI: {text!r}")
    if match["scheme"] == "tel":
        return Uri(user=match["host"], host="", port=None)
    port = int(match["port"]) if match["port"] else None
    # A password after the user ("user:secret@host") is not part of the number.
    return Uri(user=unquote((match["user"] or "").split(":")[0]), host=match["host"], port=port)


@dataclass(frozen=True)
class NameAddress:
    """The value of From, To, Contact, Route."""

    display: str
    uri: str
    tag: str


def parse_name_address(value: str) -> NameAddress:
    """Read `"Name" <uri>;tag=…` or the short form `uri;tag=…`, whose parameters belong to the header."""
    bracketed = re.match(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^<"]*))\s*<([^>]*)>(.*)', value, re.DOTALL)
    if bracketed:
        display = bracketed[1] if bracketed[1] is not None else (bracketed[2] or "").strip()
        uri, rest = bracketed[3], bracketed[4]
    else:
        uri, _, rest = value.strip().partition(";")
        display, rest = "", f";{rest}"
    return NameAddress(display=display, uri=uri, tag=parameter(rest, "tag"))


def parameter(value: str, name: str) -> str:
    """A `;name=value` parameter of a header value, or nothing."""
    match = re.search(rf";\s*{name}\s*=\s*([^;,\s>]+)", value, re.IGNORECASE)
    return match[1] if match else ""


def split_list(value: str) -> list[str]:
    """The members of a comma-separated header value; commas in quotes and brackets do not count."""
    return [
        part.strip()
        for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,"<])+', value)
        if part.strip()
    ]


@dataclass(frozen=True, kw_only=True)
class Message(ABC):
    """What requests and responses share. Headers keep their order; names match in any case or short form."""

    headers: tuple[tuple[str, str], ...]
    body: str = ""

    @property
    @abstractmethod
    def start_line(self) -> str:
        """The first line."""

    def header(self, name: str) -> str:
        """The first value, or nothing."""
        return next(iter(self.values(name)), "")

    def values(self, name: str) -> list[str]:
        """Every line's value, in order."""
        return [value for key, value in self.headers if _long_name(key) == name.lower()]

    @property
    def call_id(self) -> str:
        """Which call this belongs to."""
        return self.header("call-id")

    @property
    def sequence(self) -> int:
        """The number in CSeq."""
        return int(self.header("cseq").split()[0])

    @property
    def sequence_method(self) -> str:
        """The method in CSeq."""
        return self.header("cseq").split()[1]

    @property
    def branch(self) -> str:
        """The transaction this belongs to, from the topmost Via."""
        return parameter(self.header("via"), "branch")

    @property
    def sender(self) -> NameAddress:
        """From."""
        return parse_name_address(self.header("from"))

    @property
    def recipient(self) -> NameAddress:
        """To."""
        return parse_name_address(self.header("to"))

    def encode(self) -> bytes:
        """The datagram, with its Content-Length."""
        body = self.body.encode()
        lines = [self.start_line, *(f"{name}: {value}" for name, value in self.headers)]
        lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True, kw_only=True)
class Request(Message):
    """A request."""

    method: str
    uri: str

    @property
    @override
    def start_line(self) -> str:
        return f"{self.method} {self.uri} SIP/2.0"


@dataclass(frozen=True, kw_only=True)
class Response(Message):
    """A response."""

    status: int
    reason: str

    @property
    @override
    def start_line(self) -> str:
        return f"SIP/2.0 {self.status} {self.reason}"


def parse(data: bytes) -> Request | Response:
    """Read one datagram.

    Raises:
        SipFormatError: it is no SIP message, or lacks what every message must have.
    """
    head, _, body = data.decode("utf-8", "replace").partition("\r\n\r\n")
    # A line that begins with a blank continues the one before it.
    start, *lines = re.sub(r"\r\n[ \t]+", " ", head).split("\r\n")
    headers = tuple(_header(line) for line in lines)
    message = _message(start, headers, body)
    for name in ("via", "from", "to", "call-id"):
        if not message.header(name):
            raise SipFormatError(f"no {name} in {start!r}")
    if not re.fullmatch(r"\d+\s+[A-Z]+", message.header("cseq")):
        raise SipFormatError(f"bad CSeq in {start!r}")
    return message


def respond(request: Request, status: int, *, tag: str, contact: str, body: str = "") -> Response:
    """A response to a request, with the tag put on To unless it has one."""
    headers = [("Via", via) for via in request.values("via")]
    headers += [("From", request.header("from")), ("To", with_tag(request.header("to"), tag))]
    headers += [("Call-ID", request.call_id), ("CSeq", request.header("cseq"))]
    headers += [("Record-Route", route) for route in request.values("record-route")]
    headers += [("Contact", f"<{contact}>"), ("Allow", "INVITE, ACK, BYE, CANCEL, OPTIONS")]
    if body:
        headers.append(("Content-Type", "application/sdp"))
    return Response(headers=tuple(headers), body=body, status=status, reason=reason_of(status))


def with_tag(value: str, tag: str) -> str:
    """The header value with a tag; one that it has stays."""
    return value if parse_name_address(value).tag else f"{value};tag={tag}"


def _message(start: str, headers: tuple[tuple[str, str], ...], body: str) -> Request | Response:
    if match := _STATUS_LINE.fullmatch(start):
        return Response(headers=headers, body=body, status=int(match[1]), reason=match[2] or "")
    if match := _REQUEST_LINE.fullmatch(start):
        return Request(headers=headers, body=body, method=match[1], uri=match[2])
    raise SipFormatError(f"not a SIP message: {start[:80]!r}")


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise SipFormatError(f"not a header: {line[:80]!r}")
    return name.strip(), value.strip()


def _long_name(name: str) -> str:
    lower = name.lower()
    return _LONG_NAMES.get(lower, lower)
