"""Forms: what a browser sends, and proof that one of our own pages made it send that.

A page of another site can make a browser post here. It cannot read our cookie, so that a form whose field repeats it
was made by us; the gate checks the Origin besides. No state is kept: any server of a fleet takes any form.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from secrets import token_urlsafe
from urllib.parse import parse_qsl

from everloom.errors import Forbidden, Rejected

FORM_COOKIE = "everloom_form"
FORM_FIELD = "form_key"
# Fields of one form, at most: the desk's longest list, and more than anybody fills in.
_MOST_FIELDS = 2_000
_TYPE = "application/x-www-form-urlencoded"


class Form:
    """The fields of one form that was sent."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = fields

    def text(self, name: str, default: str = "") -> str:
        """Return one field; line ends are those of stored texts."""
        found = next((value for key, value in self._fields if key == name), default)
        return found.replace("\r\n", "\n")

    def given(self, name: str) -> str | None:
        """Return one field, or None if it was left empty."""
        return self.text(name).strip() or None

    def texts(self, name: str) -> list[str]:
        """Return every value of a field that may occur several times."""
        return [value.replace("\r\n", "\n") for key, value in self._fields if key == name]

    def number(self, name: str) -> int | None:
        """Return a field that holds a whole number, or None if it was left empty."""
        value = self.given(name)
        if value is None:
            return None
        if not (value.isascii() and value.isdecimal() and len(value) <= 18):
            raise Rejected(f"{name} is not a number", hint="go back, and use the form as it was")
        return int(value)

    def numbers(self, name: str) -> list[int]:
        """Return every value of a field that holds whole numbers."""
        if any(not (value.isascii() and value.isdecimal() and len(value) <= 18) for value in self.texts(name)):
            raise Rejected(f"{name} is not a number", hint="go back, and use the form as it was")
        return [int(value) for value in self.texts(name)]

    def is_on(self, name: str) -> bool:
        """Return whether a box was ticked."""
        return self.text(name) == "on"


def read_form(body: bytes, content_type: str) -> Form:
    """Read the body of a form."""
    if content_type.partition(";")[0].strip().lower() != _TYPE:
        raise Rejected("this is not a form", hint="programs use the JSON API: /api/v1/reference")
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise Rejected("the form cannot be read", hint="go back, and send it again") from error
    return Form(fields)


def new_form_key() -> str:
    """Make the key that a browser keeps as a cookie and repeats in every form."""
    return token_urlsafe(18)


def check_form(form: Form, cookies: Mapping[str, str]) -> None:
    """Refuse a form that none of our pages made for this browser."""
    known, given = cookies.get(FORM_COOKIE, ""), form.text(FORM_FIELD)
    if not known or not hmac.compare_digest(known.encode(), given.encode()):
        raise Forbidden("this form is out of date", hint="go back, load the page again, and send it once more")
