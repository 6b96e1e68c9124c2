"""S9: a name and an address of the contact form are one line of visible text."""

from __future__ import annotations

import pytest

from kefu.errors import InvalidRequest
from kefu.web.body import checked
from kefu.web.schemas import ContactBody

ID = "request-1"
C0_AND_C1 = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
OF_DIRECTION = [*"\u061c\u200e\u200f", *map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))]


@pytest.mark.parametrize("field", ["name", "email"])
def test_s9_control_characters_in_a_name_or_an_address_are_refused(field: str) -> None:
    """S9: `a@b.co` with a NUL went into the webhook and the panel."""
    for character in (*C0_AND_C1, *OF_DIRECTION, *"\u2028\u2029"):
        for text in (f"a@b.co{character}", f"{character}a@b.co", f"a{character}@b.co"):
            with pytest.raises(InvalidRequest) as refused:
                checked(ContactBody, {"client_message_id": ID, field: text})
            assert refused.value.param == field


@pytest.mark.parametrize(
    "name", ["", "Kari O’Hara-Ås", "小明", "עברית", "علي\u200cرضا", "👩\u200d🚒", "a" * 200]
)
def test_s9_names_of_all_scripts_and_messages_of_several_lines_are_taken(name: str) -> None:
    given = {"client_message_id": ID, "name": name, "message": "A\n\tB\u200f"}
    body = checked(ContactBody, given)
    assert (body.name, body.message) == (name, given["message"])
