"""Whose number it is, in every form in which carriers write it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.services.phone_numbers import (
    CallerNumber,
    caller_number,
    last10,
    load_numbering_plans,
    same_person,
    to_e164,
)

INDIAN, NATIONAL = "+919876543210", "9876543210"
ARABIC_INDIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
FULLWIDTH = str.maketrans("+0123456789", "＋０１２３４５６７８９")  # noqa: RUF001 - the point of the test


def forms(national: str) -> list[str]:
    """One Indian mobile number as carriers, switches and people write it."""
    n = national
    return [
        f"+91{n}",
        f"91{n}",
        f"0091{n}",
        n,
        f"0{n}",
        f"+91 {n[:5]} {n[5:]}",
        f"+91-{n[:5]}-{n[5:]}",
        f"+91 (0) {n}",
        f"(0{n[:4]}) {n[4:]}",
        f"tel:+91{n}",
        f"tel:+91-{n[:5]}-{n[5:]};ext=12",
        f"tel:{n};phone-context=+91",
        f"sip:+91{n}@203.0.113.7:5060;transport=udp;user=phone",
        f"sips:91{n}@carrier.example",
        f'"Agent 007" <sip:%2B91{n}@carrier.example>;tag=1',
        f"+91{n} x123",
        f"+91{n} ext. 9",
        f"+91{n}".translate(FULLWIDTH),
        f"0091{n}".translate(ARABIC_INDIC),
        f"\u202a+91\u2011{n}\u202c",
    ]


@pytest.mark.parametrize("written", forms(NATIONAL))
def test_every_form_of_a_number_is_the_same_number(written: str) -> None:
    assert last10(written) == NATIONAL
    assert to_e164(written, region="IN") == INDIAN


@given(national=st.from_regex(r"[6-9][0-9]{9}", fullmatch=True), data=st.data())
@settings(max_examples=60, deadline=None)
def test_two_forms_of_one_number_are_one_person(national: str, data: st.DataObject) -> None:
    caller, record = (data.draw(st.sampled_from(forms(national))) for _ in range(2))
    assert same_person(caller_number(caller, None, region="IN"), None, record)


@given(national=st.from_regex(r"[6-9][0-9]{2}[2-9][0-9]{6}", fullmatch=True), data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_same_digits_in_another_country_are_another_person(
    national: str, data: st.DataObject
) -> None:
    indian = caller_number(f"+91{national}", None, region="IN")
    american = data.draw(st.sampled_from([f"+1{national}", f"tel:+1-{national}", f"001{national}"]))

    assert last10(american) in (indian.last10, None)
    assert not same_person(indian, american, None)
    assert not same_person(caller_number(american, None, region="IN"), f"+91{national}", None)


def test_a_number_made_whole_by_the_region_is_not_a_strangers() -> None:
    caller = caller_number("8769348030", None, region="IN")
    assert caller.e164 == "+918769348030"
    assert not same_person(caller, "+18769348030", None)


def test_a_number_known_only_in_national_form_matches_by_its_digits() -> None:
    assert same_person(caller_number(NATIONAL, None, region=None), INDIAN, None)
    assert same_person(caller_number(INDIAN, None, region=None), None, NATIONAL)


def test_a_record_is_known_by_its_phone_before_the_number_as_received() -> None:
    caller = caller_number("+18769348030", None, region=None)
    assert not same_person(caller, "+918769348030", "8769348030")
    assert same_person(caller, None, "8769348030")
    assert not same_person(caller, None, None)


@pytest.mark.parametrize(
    "withheld",
    [
        None,
        "",
        "   ",
        "anonymous",
        "Restricted",
        "UNKNOWN",
        "unavailable",
        "Private",
        "withheld",
        "No Caller ID",
        "sip:anonymous@anonymous.invalid",
        '"Anonymous" <sip:anonymous@anonymous.invalid>',
        "+266696687",
        "7378742833",
        "0000000000",
        "sip:client123@carrier.example",
        "sip:asterisk@10.0.0.1",
    ],
)
def test_a_withheld_caller_is_nobody(withheld: str | None) -> None:
    caller = caller_number(withheld, None, region="IN")
    assert (caller.e164, caller.last10) == (None, None)
    assert not same_person(caller, withheld, withheld)


def test_a_caller_who_hides_is_not_found_by_the_number_as_received() -> None:
    assert caller_number("anonymous", INDIAN, region="IN").last10 is None


@pytest.mark.parametrize("service", ["911", "1909", "12345", "123456", "sip:ext101@pbx.example"])
def test_a_short_number_is_nobody(service: str) -> None:
    assert caller_number(service, None, region="IN").last10 is None


@pytest.mark.parametrize("service", ["+18005551234", "18005551234", "+911800123456", "1800123456"])
def test_a_service_number_is_many_people(service: str) -> None:
    assert caller_number(service, None, region="IN").last10 is None


@pytest.mark.parametrize(
    ("raw", "digits"),
    [("1234567", "1234567"), ("+290 22158", "29022158"), ("+49 (0)30 123456", "4930123456")],
)
def test_up_to_ten_digits_are_taken_whole(raw: str, digits: str) -> None:
    assert last10(raw) == digits


def test_a_short_national_number_gains_its_countrys_digits() -> None:
    assert caller_number("6123 4567", None, region="SG") == CallerNumber(
        e164="+6561234567", last10="6561234567", raw="6123 4567"
    )


def test_a_test_number_is_whole_though_no_plan_has_it() -> None:
    assert to_e164("+15551234567", region=None) == "+15551234567"
    assert to_e164("+1 (555) 123-4567", region="IN") == "+15551234567"


@pytest.mark.parametrize("raw", ["+1555123", "+999123456789", "+1234567890123456789", "+"])
def test_an_impossible_number_is_not_whole(raw: str) -> None:
    assert to_e164(raw, region="US") is None


@pytest.mark.parametrize(
    ("raw", "region", "expected"),
    [
        ("919876543210", "IN", INDIAN),
        ("919876543210", "US", INDIAN),
        ("919876543210", None, INDIAN),
        ("442079460958", "IN", "+442079460958"),
        ("6561234567", "IN", "+916561234567"),
        ("6561234567", "US", "+6561234567"),
        ("6561234567", None, None),
        ("9876543210", "US", None),
        ("9876543210", None, None),
        ("011919876543210", "US", INDIAN),
    ],
)
def test_bare_digits_are_national_before_they_are_international(
    raw: str, region: str | None, expected: str | None
) -> None:
    assert to_e164(raw, region=region) == expected


@given(raw=st.text(max_size=40) | st.text(alphabet="+0123456789 ()-;@:<>x#.tel sip", max_size=40))
@settings(max_examples=200, deadline=None)
def test_nothing_a_carrier_sends_can_raise(raw: str) -> None:
    digits, whole = last10(raw), to_e164(raw, region="IN")
    assert digits is None or (digits.isascii() and digits.isdigit() and 7 <= len(digits) <= 10)
    assert whole is None or (whole[0] == "+" and whole[1:].isdigit())
    assert caller_number(raw, None, region=None).last10 is None or digits is not None


def test_the_plans_can_be_read_ahead() -> None:
    load_numbering_plans()
    assert to_e164("07911 123456", region="GB") == "+447911123456"
