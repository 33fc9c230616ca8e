import pytest

from local.phone.sdp import RemoteMedia, describe, read

OFFER = (
    "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\n"
    "m=video 4000 RTP/AVP 96\r\n"
    "m=audio 4002 RTP/AVP 9 0 8 96\r\nc=IN IP4 127.0.0.1\r\n"
    "a=rtpmap:0 PCMU/8000\r\na=rtpmap:96 telephone-event/8000\r\n"
)


def test_finds_the_audio_its_own_address_and_the_event_type() -> None:
    assert read(OFFER) == RemoteMedia(("127.0.0.1", 4002), 96)


def test_takes_the_address_of_the_session_where_the_audio_has_none() -> None:
    assert read(OFFER.replace("c=IN IP4 127.0.0.1\r\n", "")) == RemoteMedia(("10.0.0.1", 4002), 96)


@pytest.mark.parametrize("event", [101, 96, None])
def test_what_is_described_can_be_read(event: int | None) -> None:
    described = describe(("127.0.0.1", 4002), telephone_event=event)
    assert read(described) == RemoteMedia(("127.0.0.1", 4002), event)


@pytest.mark.parametrize(
    "body",
    [
        "",
        OFFER.replace("9 0 8 96", "9 8 96"),
        OFFER.replace("audio 4002", "audio 0"),
        OFFER.replace("c=IN IP4", "c=IN IP6"),
    ],
)
def test_finds_nothing_where_there_is_no_ulaw_to_send_to(body: str) -> None:
    assert read(body) is None
