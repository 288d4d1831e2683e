"""Forms: what is read of them, and that only our own pages can make a browser send one."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from everloom.errors import Forbidden, Rejected
from everloom.surfaces.page.forms import FORM_COOKIE, FORM_FIELD, check_form, new_form_key, read_form

TYPE = "application/x-www-form-urlencoded; charset=utf-8"


def sent(*fields: tuple[str, str]) -> bytes:
    return urlencode(fields).encode()


def test_fields_are_read_with_the_line_ends_of_stored_texts() -> None:
    form = read_form(sent(("text", "one\r\ntwo"), ("id", "3"), ("id", "5"), ("box", "on"), ("empty", "")), TYPE)
    assert form.text("text") == "one\ntwo"
    assert form.numbers("id") == [3, 5]
    assert form.is_on("box")
    assert form.given("empty") is None
    assert form.number("empty") is None
    assert form.text("absent") == ""


@pytest.mark.parametrize("value", ["-1", "1e3", "0x1", "9" * 19, "٣"])
def test_a_number_that_is_none_is_refused(value: str) -> None:
    form = read_form(sent(("id", value)), TYPE)
    with pytest.raises(Rejected):
        form.number("id")
    with pytest.raises(Rejected):
        form.numbers("id")


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""])
def test_another_kind_of_body_is_no_form(kind: str) -> None:
    with pytest.raises(Rejected):
        read_form(b"a=b", kind)


def test_a_form_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(Rejected):
        read_form(b"a=%ff%fe\xff", TYPE)
    with pytest.raises(Rejected):
        read_form(b"&".join(b"a=%d" % each for each in range(3_000)), TYPE)


@pytest.mark.promise("page.forms-are-ours")
def test_a_form_needs_the_key_of_this_browser() -> None:
    key, other = new_form_key(), new_form_key()
    mine = read_form(sent((FORM_FIELD, key)), TYPE)
    check_form(mine, {FORM_COOKIE: key})
    for cookies in ({}, {FORM_COOKIE: ""}, {FORM_COOKIE: other}):
        with pytest.raises(Forbidden):
            check_form(mine, cookies)
    with pytest.raises(Forbidden):
        check_form(read_form(b"", TYPE), {FORM_COOKIE: key})
    with pytest.raises(Forbidden):
        check_form(read_form(sent((FORM_FIELD, "")), TYPE), {FORM_COOKIE: ""})
