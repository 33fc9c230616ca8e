"""Identifiers of every class of the spoken set, made up at random, and the ways people say them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

from bench._phi_speech import Speaker, listed, spelled

DATA = Path(__file__).parents[1] / "data" / "spoken_phi"
_POOLS: dict[str, list[str]] = json.loads((DATA / "values.json").read_text())
_SUFFIXES = listed(
    "Street Street Road Avenue Avenue Lane Drive Court Boulevard Way Place Terrace Close"
)

_MONTHS = listed(
    "January February March April May June July August September October November December"
)

_MONTHS_HI = listed("जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर")
_MONTHS_AR = listed("يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر")
_DOMAINS = listed("gmail.com gmail.com yahoo.com outlook.com hotmail.com yahoo.co.in icloud.com")
_SITES = listed("linkedin.com/in/ facebook.com/ instagram.com/ github.com/")


class Values:
    """One identifier at a time, as one speaker says or types it.

    Args:
        rng: Where every choice comes from.
        language: `en`, `hi` (Hinglish in Latin letters), `dv` (Devanagari) or `ar`.
        typed: Share of identifiers in their written form.
        half: 0 or 1; names, words and places of the two halves differ.
    """

    def __init__(self, rng: Random, *, language: str, typed: float, half: int) -> None:
        self._rng, self._language, self._half = rng, language, half
        self._typed = rng.random() < typed
        self._speak = Speaker(rng, language)

    def parts(self, slot: str, count: int) -> list[str]:
        """The identifier of a slot in `count` parts, as it is written out."""
        name, _, tail = slot.partition("#")
        if tail == "last4":
            return [self._number(self._digits(4), (4,))]
        if count > 1:
            return self._in_parts(name, count)
        make: Callable[[], str] = getattr(self, f"_{name.lower()}")
        return [make()]

    def _in_parts(self, name: str, count: int) -> list[str]:
        if name in ("MEMBER_ID", "PAN"):
            code = getattr(self, f"_raw_{name.lower()}")()
            cut = len(code) // 2
            return [self._code(code[:cut]), self._code(code[cut:])]
        sizes = {"PHONE": 10, "FAX": 10, "SSN": 9, "CARD": 16, "ACCOUNT": 10, "AADHAAR": 12}
        digits, step = self._digits(sizes[name]), sizes[name] // count
        cuts = [i * step for i in range(count)] + [sizes[name]]
        parts = [digits[a:b] for a, b in pairwise(cuts)]
        return [self._number(part, (len(part),)) for part in parts]

    def _number(self, digits: str, groups: tuple[int, ...], join: str = " ") -> str:
        return (
            self._speak.written(digits, groups, join)
            if self._typed
            else self._speak.digits(digits, groups)
        )

    def _code(self, code: str) -> str:
        return code if self._typed else self._speak.code(code)

    def _digits(self, count: int, first: str = "123456789") -> str:
        return self._rng.choice(first) + "".join(
            self._rng.choice("0123456789") for _ in range(count - 1)
        )

    def _letters(self, count: int) -> str:
        return "".join(self._rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(count))

    def _from(self, pool: str) -> str:
        return self._rng.choice(_POOLS[pool][self._half :: 2])

    def _name(self) -> str:
        pools = {"hi": "names_in", "dv": "names_hi", "ar": "names_ar"}
        english = "names_in" if self._rng.random() < 0.25 else "names_en"
        return self._from(pools.get(self._language, english))

    def _firstname(self) -> str:
        return self._name().split()[0]

    def _surname(self) -> str:
        return self._name().split()[-1]

    def _spelled(self) -> str:
        return spelled(self._rng, self._name().split()[0])

    def _phone(self) -> str:
        india = self._language in ("hi", "dv") or self._rng.random() < 0.2
        if self._language == "ar":
            return self._number("05" + self._digits(8), (3, 3, 4), "")
        if india:
            return self._number(self._digits(10, "6789"), (5, 5))
        digits = self._digits(3, "23456789") + "555" + self._digits(4, "0123456789")
        plus = self._rng.random()
        if plus < 0.15:
            lead = "+1 " if self._typed else "plus one "
            return lead + self._number(digits, (3, 3, 4), "-")
        return self._number(digits, (3, 3, 4), "-")

    _fax = _phone

    def _email(self) -> str:
        first, last = self._from("names_en").lower().split()
        local = self._rng.choice(
            (f"{first}.{last}", f"{first[0]}{last}", f"{first}_{last}", f"{first}{last}")
        )
        local += self._rng.choice(("", "", "", "42", "7", "1981", "99"))
        own = f"{self._from('words')}{self._rng.choice(('.com', '.org', '.net', '.co.uk', '.in'))}"
        domain = self._rng.choice([*_DOMAINS, own, own])
        if self._typed:
            return f"{local}@{domain}"
        return self._speak.email(local, domain, words=[first, last])

    def _url(self) -> str:
        own = self._from("words") + self._rng.choice(("", "-clinic", "family", "yoga"))
        tld = self._rng.choice((".com", ".org", ".net", ".in", ".co.uk", ".io"))
        url = self._rng.choice(
            (
                *(f"www.{own}{tld}", f"{own}{tld}/{self._from('words')}"),
                f"{self._rng.choice(_SITES)}{own}{self._rng.randrange(10, 99)}",
            )
        )
        if self._typed:
            return self._rng.choice(("", "https://")) + url
        return self._speak.url(url)

    def _ip(self) -> str:
        octets = [self._rng.randrange(1, 255) for _ in range(4)]
        return ".".join(map(str, octets)) if self._typed else self._speak.ip(octets)

    def _mac(self) -> str:
        pairs = [f"{self._rng.randrange(256):02X}" for _ in range(6)]
        return ":".join(pairs) if self._typed else self._speak.code("".join(pairs))

    def _ssn(self) -> str:
        return self._number(self._digits(9, "12345678"), (3, 2, 4), "-")

    def _mrn(self) -> str:
        if self._rng.random() < 0.3:
            return self._code(self._letters(self._rng.choice((1, 2))) + self._digits(6))
        return self._number(self._digits(self._rng.choice((6, 7, 8))), (4, 4), "")

    def _raw_member_id(self) -> str:
        return self._letters(3) + self._digits(self._rng.choice((8, 9)))

    def _member_id(self) -> str:
        if self._rng.random() < 0.25:
            return self._number(self._digits(9), (3, 3, 3))
        return self._code(self._raw_member_id())

    def _account(self) -> str:
        return self._number(self._digits(self._rng.choice((8, 10, 11, 12))), (4, 4, 4), "")

    def _iban(self) -> str:
        code = self._rng.choice(("GB", "DE", "AE")) + self._digits(2) + self._letters(4)
        code += self._digits(14)
        if not self._typed:
            return self._speak.code(code)
        return " ".join(code[i : i + 4] for i in range(0, len(code), 4))

    def _card(self) -> str:
        body = self._rng.choice("45") + self._digits(14, "0123456789")
        total = sum(
            sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(body)
        )  # Luhn: every second digit doubled
        return self._number(body + str(-total % 10), (4, 4, 4, 4))

    def _license(self) -> str:
        shape = self._rng.choice(("us", "us", "digits", "in"))
        if self._language in ("hi", "dv") or shape == "in":
            return self._code(self._rng.choice(("KA", "MH", "DL", "TN")) + self._digits(11, "01"))
        if shape == "digits":
            return self._number(self._digits(8), (4, 4), "")
        return self._code(self._letters(1) + self._digits(7))

    def _passport(self) -> str:
        if self._rng.random() < 0.3 and self._language != "ar":
            return self._number(self._digits(9), (3, 3, 3), "")
        return self._code(self._letters(1) + self._digits(7))

    def _plate(self) -> str:
        shape = self._rng.choice(("in", "uk", "us", "ca"))
        if shape == "in" or self._language in ("hi", "dv"):
            groups = [self._rng.choice(("KA", "MH", "DL", "UP")), self._digits(2, "012")]
            groups += [self._letters(2), self._digits(4)]
        elif shape == "uk":
            groups = [self._letters(2) + self._digits(2), self._letters(3)]
        elif shape == "us":
            groups = [self._letters(3), self._digits(4)]
        else:
            groups = [self._digits(1) + self._letters(3) + self._digits(3)]
        if self._typed:
            return self._rng.choice((" ", "", "-")).join(groups)
        return self._speak.code("".join(groups))

    def _vin(self) -> str:
        return self._code(
            "1" + self._letters(4) + self._digits(2) + self._letters(2) + self._digits(8)
        )

    def _device(self) -> str:
        shape = self._rng.choice((0, 1, 2))
        if shape == 0:
            return self._number(self._digits(9), (3, 3, 3), "-")
        lead = self._letters(2) if shape == 1 else self._letters(3)
        digits = self._digits(7)
        return f"{lead}-{digits}" if self._typed else self._speak.code(lead + digits)

    def _imei(self) -> str:
        return self._number(self._digits(15), (5, 5, 5), "")

    def _address(self) -> str:
        number = self._rng.randrange(11, 9900)
        street = f"{self._from('words').title()} {self._rng.choice(_SUFFIXES)}"
        unit = self._rng.choice(("", "", f"Apt {self._rng.randrange(1, 40)}", "Unit 4B"))
        city = self._rng.choice(("", self._from("cities_us")))
        if self._typed:
            return ", ".join(p for p in (f"{number} {street}", unit, city) if p)
        spoken = unit.replace("Apt", "apartment").replace("4B", "four b")
        spoken = " ".join(self._speak.count(int(w)) if w.isdigit() else w for w in spoken.split())
        return " ".join(p for p in (self._speak.house(number), street, spoken, city) if p)

    def _address_in(self) -> str:
        number, area = self._rng.randrange(2, 400), self._from("words").title()
        kind = self._rng.choice(("Nagar", "Road", "Marg", "Colony", "Chowk"))
        city = self._from("cities_in")
        lead = self._rng.choice(("Flat", "House number", "Plot number", "Flat number"))
        sector = self._rng.choice(("", f"Sector {self._rng.randrange(2, 60)}"))
        if self._language == "dv":
            number_hi = self._speak.native(str(number))
            return f"मकान नंबर {number_hi}, {self._rng.choice(('गांधी', 'नेहरू', 'शिवाजी'))} नगर"
        if self._typed:
            return ", ".join(p for p in (f"{lead} {number}", sector, f"{area} {kind}", city) if p)
        words = [lead, self._speak.house(number)]
        if sector:
            words += ["sector", self._speak.count(int(sector.split()[1]))]
        return " ".join([*words, area, kind, city])

    def _address_ar(self) -> str:
        number = self._speak.native(str(self._rng.randrange(3, 90)))
        return f"شارع {self._rng.choice(('الملك فهد', 'الحمرا', 'النيل', 'المطار'))} رقم {number}"

    def _zip5(self) -> str:
        return self._number(self._digits(5), (5,))

    def _zip9(self) -> str:
        return self._number(self._digits(9), (5, 4), "-")

    def _pin(self) -> str:
        return self._number(self._digits(6), (3, 3), "")

    def _postcode(self) -> str:
        if self._rng.random() < 0.3:
            code = f"{self._letters(2)}{self._digits(1)} {self._digits(1)}{self._letters(2)}"
            return code if self._typed else self._speak.code(code.replace(" ", ""))
        return self._zip5()

    def _dob(self) -> str:
        return self._some_date(self._rng.randrange(1935, 2012), numeric=True)

    def _date(self) -> str:
        year = self._rng.choice((0, 0, self._rng.randrange(2008, 2026)))
        return self._some_date(year, numeric=False)

    def _daymonth(self) -> str:
        return self._some_date(0, numeric=False)

    def _some_date(self, year: int, *, numeric: bool) -> str:
        day, month = self._rng.randrange(1, 29), self._rng.randrange(12)
        if self._language in ("dv", "ar"):
            names = _MONTHS_HI if self._language == "dv" else _MONTHS_AR
            text = f"{self._speak.day(day)} {names[month]}"
            return f"{text} {self._speak.native(str(year))}" if year else text
        if self._typed:
            return self._written_date(day, month, year)
        return self._speak.date(day, _MONTHS[month], month + 1, year, numeric=numeric)

    def _written_date(self, day: int, month: int, year: int) -> str:
        name = _MONTHS[month]
        if not year:
            return self._rng.choice((f"{name} {day}", f"{day} {name}", f"{name} {_ordinal(day)}"))
        return self._rng.choice(
            (
                *(f"{month + 1:02}/{day:02}/{year}", f"{day:02}-{month + 1:02}-{year}"),
                *(
                    f"{name} {day}, {year}",
                    f"{day} {name} {year}",
                    f"{year}-{month + 1:02}-{day:02}",
                ),
                f"{name[:3]} {day} {year}",
            )
        )

    def _aadhaar(self) -> str:
        return self._number(self._digits(12, "23456789"), (4, 4, 4))

    def _raw_pan(self) -> str:
        return self._letters(3) + "P" + self._letters(1) + self._digits(4) + self._letters(1)

    def _pan(self) -> str:
        return self._code(self._raw_pan())

    def _age(self) -> str:
        age = self._rng.randrange(90, 106)
        return self._speak.native(str(age)) if self._typed else self._speak.age(age)

    def _nhs(self) -> str:
        return self._number(self._digits(10), (3, 3, 4))

    def _nino(self) -> str:
        code = f"{self._letters(2)}{self._digits(6)}{self._rng.choice('ABCD')}"
        return code if self._typed else self._speak.code(code)

    def _emirates(self) -> str:
        return self._number("784" + self._digits(12), (3, 4, 7, 1), "-")

    def _voter(self) -> str:
        return self._code(self._letters(3) + self._digits(7))

    def _sin(self) -> str:
        return self._number(self._digits(9), (3, 3, 3), "-")

    def _iqama(self) -> str:
        return self._number("2" + self._digits(9), (10,))

    def _npi(self) -> str:
        return self._number("1" + self._digits(9), (10,))


def _ordinal(day: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day not in (11, 12, 13) else 0, "th")
    return f"{day}{ending}"
