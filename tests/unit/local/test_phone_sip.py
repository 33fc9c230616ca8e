import pytest

from local.phone.sip import (
    Request,
    Response,
    SipFormatError,
    parse,
    parse_name_address,
    parse_uri,
    respond,
    split_list,
    with_tag,
)

INVITE = (
    "INVITE sip:+15105550100@127.0.0.1:5060 SIP/2.0\r\n"
    "v: SIP/2.0/UDP 127.0.0.1:5070;rport;branch=z9hG4bKouter\r\n"
    "Via: SIP/2.0/UDP 127.0.0.1:5080;branch=z9hG4bKinner\r\n"
    'FROM: "Doe, ""J" <sip:%2B15551234567@127.0.0.1>;tag=abc\r\n'
    "t: <sip:+15105550100@127.0.0.1>\r\n"
    "i: call-1\r\n"
    "CSeq: 7  INVITE\r\n"
    "Subject: a line\r\n"
    "  that goes on\r\n"
    "Record-Route: <sip:127.0.0.1:5080;lr>\r\n"
    "Content-Length: 4\r\n"
    "\r\n"
    "v=0\n"
)


def test_reads_short_names_any_case_and_folded_lines() -> None:
    message = parse(INVITE.encode())

    assert isinstance(message, Request)
    assert (message.method, message.uri) == ("INVITE", "sip:+15105550100@127.0.0.1:5060")
    assert message.call_id == "call-1"
    assert (message.sequence, message.sequence_method) == (7, "INVITE")
    assert message.branch == "z9hG4bKouter"
    assert len(message.values("via")) == 2
    assert message.header("SUBJECT") == "a line that goes on"
    assert message.body == "v=0\n"


def test_what_was_written_reads_the_same() -> None:
    message = parse(INVITE.encode())
    again = parse(message.encode())
    assert (again.start_line, again.body) == (message.start_line, message.body)
    assert again.values("via") == message.values("via")


def test_counts_the_body_in_bytes() -> None:
    message = Response(headers=(), body="é", status=200, reason="OK")
    assert b"Content-Length: 2\r\n\r\n" in message.encode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "INVITE sip:x SIP/1.0\r\n\r\n",
        INVITE.replace("i: call-1\r\n", ""),
        INVITE.replace("CSeq: 7  INVITE", "CSeq: INVITE"),
        INVITE.replace("CSeq: 7  INVITE\r\n", ""),
        INVITE.replace("Subject: a line", "no colon here"),
    ],
)
def test_refuses_what_is_no_message(text: str) -> None:
    with pytest.raises(SipFormatError):
        parse(text.encode())


@pytest.mark.parametrize(
    ("uri", "user", "host", "port"),
    [
        ("sip:+15551234567@127.0.0.1:5060;transport=udp", "+15551234567", "127.0.0.1", 5060),
        ("sip:%2B1555@host", "+1555", "host", None),
        ("sips:alice:secret@[::1]:5061", "alice", "[::1]", 5061),
        ("sip:127.0.0.1", "", "127.0.0.1", None),
        ("tel:+15551234567;phone-context=x", "+15551234567", "", None),
    ],
)
def test_reads_uris(uri: str, user: str, host: str, port: int | None) -> None:
    read = parse_uri(uri)
    assert (read.user, read.host, read.port) == (user, host, port)


def test_refuses_what_is_no_uri() -> None:
    with pytest.raises(SipFormatError):
        parse_uri("mailto:someone")


@pytest.mark.parametrize(
    ("value", "display", "uri", "tag"),
    [
        ('"A <b>, c" <sip:x@h;lr>;tag=1', "A <b>, c", "sip:x@h;lr", "1"),
        ("Alice <sip:x@h>", "Alice", "sip:x@h", ""),
        ("sip:x@h;tag=9", "", "sip:x@h", "9"),
        ("<sip:x@h;tag=not-of-the-header>", "", "sip:x@h;tag=not-of-the-header", ""),
    ],
)
def test_reads_names_and_addresses(value: str, display: str, uri: str, tag: str) -> None:
    read = parse_name_address(value)
    assert (read.display, read.uri, read.tag) == (display, uri, tag)


def test_parts_a_list_at_its_own_commas() -> None:
    assert split_list('<sip:a,b@h;lr>, "x,y" <sip:c@h>,<sip:d@h>') == [
        "<sip:a,b@h;lr>",
        '"x,y" <sip:c@h>',
        "<sip:d@h>",
    ]


def test_a_response_repeats_the_request_and_adds_our_tag() -> None:
    invite = parse(INVITE.encode())
    assert isinstance(invite, Request)

    response = respond(invite, 486, tag="mine", contact="sip:me@127.0.0.1")

    assert response.start_line == "SIP/2.0 486 Busy Here"
    assert response.values("via") == invite.values("via")
    assert response.header("from") == invite.header("from")
    assert response.header("to") == "<sip:+15105550100@127.0.0.1>;tag=mine"
    assert response.header("cseq") == invite.header("cseq")
    assert response.values("record-route") == ["<sip:127.0.0.1:5080;lr>"]


def test_a_tag_that_is_there_stays() -> None:
    assert with_tag("<sip:x@h>;tag=theirs", "ours") == "<sip:x@h>;tag=theirs"
