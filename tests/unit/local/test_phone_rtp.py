import numpy as np
import pytest

from local.phone.rtp import (
    FRAME_SAMPLES,
    RtpFormatError,
    RtpPacket,
    decode_ulaw,
    digit_frames,
    encode_ulaw,
    finished_digit,
    parse_rtp,
    rms,
    voice_frames,
)


@pytest.mark.parametrize(
    ("sample", "code", "back"),
    [
        (0, 0xFF, 0),
        (8, 0xFE, 8),
        (-8, 0x7E, -8),
        (1000, 0xCE, 988),
        (-1000, 0x4E, -988),
        (32767, 0x80, 32124),
        (-32768, 0x00, -32124),
    ],
)
def test_encodes_as_g711_says(sample: int, code: int, back: int) -> None:
    assert encode_ulaw(np.array([sample], np.int16)) == bytes([code])
    assert decode_ulaw(bytes([code])).tolist() == [back]


def test_every_code_survives_the_round_trip() -> None:
    # 0x7F is the second code of zero.
    codes = bytes(code for code in range(256) if code != 0x7F)
    assert encode_ulaw(decode_ulaw(codes)) == codes


def test_the_error_is_a_small_part_of_the_sample() -> None:
    pcm = np.arange(-32635, 32636, dtype=np.int16)
    error = np.abs(decode_ulaw(encode_ulaw(pcm)).astype(int) - pcm)
    assert (error <= np.abs(pcm.astype(int)) / 30 + 8).all()


def test_reads_what_it_writes() -> None:
    packet = RtpPacket(101, 65535, 0xFFFFFFFF, 7, b"\x01\x8a\x03\x20", marker=True)
    assert parse_rtp(packet.encode()) == packet


def test_skips_sources_extension_and_padding() -> None:
    head = bytes([0x80 | 0x20 | 0x10 | 2, 0, 0, 1]) + bytes(8)
    data = head + bytes(8) + b"\xbe\xde\x00\x01" + bytes(4) + b"voice" + b"\x00\x00\x03"
    assert parse_rtp(data).payload == b"voice"


@pytest.mark.parametrize(
    "data", [b"", bytes(11), bytes(12), b"\xb0" + bytes(11), b"\xa0" + bytes(10) + b"\x09"]
)
def test_refuses_what_is_no_packet(data: bytes) -> None:
    with pytest.raises(RtpFormatError):
        parse_rtp(data)


def test_fills_the_last_frame_with_silence() -> None:
    frames = voice_frames(np.full(FRAME_SAMPLES + 1, 1000, np.int16))
    assert [len(frame.payload) for frame in frames] == [FRAME_SAMPLES] * 2
    assert decode_ulaw(frames[1].payload)[1:].any() == np.False_


def test_loud_is_what_a_listener_would_hear() -> None:
    loud, quiet = np.full(FRAME_SAMPLES, 400, np.int16), np.full(FRAME_SAMPLES, 50, np.int16)
    assert [frame.is_loud for frame in voice_frames(np.concatenate([quiet, loud]))] == [False, True]
    assert rms(loud) == pytest.approx(400)


def test_a_digit_is_an_event_that_grows_and_ends_three_times() -> None:
    events = [frame for frame in digit_frames("#") if frame.is_event]

    assert [event.payload[0] for event in events] == [11] * 7
    assert [int.from_bytes(event.payload[2:]) for event in events] == [
        160,
        320,
        480,
        640,
        *[800] * 3,
    ]
    assert [finished_digit(event.payload) for event in events] == [""] * 4 + ["#"] * 3
    assert [event.marker for event in events] == [True] + [False] * 6
    assert [event.age for event in events] == list(range(7))


def test_refuses_a_key_that_no_telephone_has() -> None:
    with pytest.raises(ValueError, match="substring"):
        digit_frames("5x")
