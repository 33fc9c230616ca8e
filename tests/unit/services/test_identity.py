"""Who a memory belongs to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.services.identity import is_anonymous, memory_user_id

PHONE = "+14155550123"


def test_a_number_is_one_person_called_or_calling() -> None:
    assert memory_user_id("acme", e164=PHONE) == memory_user_id(
        "acme", e164=PHONE, session_id="call-7"
    )


def test_every_owner_has_people_of_their_own() -> None:
    assert memory_user_id("acme", e164=PHONE) != memory_user_id("globex", e164=PHONE)
    assert memory_user_id("acme", user="7") != memory_user_id("globex", user="7")


def test_numbers_that_share_their_last_ten_digits_are_two_people() -> None:
    assert memory_user_id("acme", e164="+918769348030") != memory_user_id(
        "acme", e164="+18769348030"
    )


def test_the_owners_own_id_decides_and_is_no_number() -> None:
    assert memory_user_id("acme", user="7", e164=PHONE) == memory_user_id("acme", user="7")
    assert memory_user_id("acme", user=PHONE) != memory_user_id("acme", e164=PHONE)


def test_somebody_unknown_is_nobody_else() -> None:
    one = memory_user_id("acme", session_id="s1")
    assert one != memory_user_id("acme", session_id="s2")
    assert is_anonymous(one)
    assert is_anonymous("")
    assert not is_anonymous(memory_user_id("acme", e164=PHONE))
    with pytest.raises(ValueError, match="needed"):
        memory_user_id("acme")


@given(
    owner=st.text(min_size=4),
    user=st.text(min_size=4, alphabet=st.characters(blacklist_characters="0123456789abcdef-up")),
    e164=st.from_regex(r"\+[1-9][0-9]{9,13}", fullmatch=True),
)
def test_an_id_names_nobody(owner: str, user: str, e164: str) -> None:
    assert user not in memory_user_id(owner, user=user)
    found = memory_user_id(owner, e164=e164)
    assert e164 not in found
    assert e164[1:] not in found


@given(st.lists(st.tuples(st.text(), st.text(min_size=1)), unique=True, max_size=20))
def test_no_two_people_share_an_id(people: list[tuple[str, str]]) -> None:
    ids = {memory_user_id(owner, user=user) for owner, user in people}
    assert len(ids) == len(people)
