"""What counts as a secret, and what recognising it costs: the patterns are data, and the data is checked."""

from __future__ import annotations

import logging
import re._parser as sre  # type: ignore[import-not-found]
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.errors import Rejected
from everloom.secrets import SecretPattern, logger_of, masked, patterns, spans_in
from tests.docs.pages import ROOT

PATTERNS = {each.name: each for each in patterns()}
# The most that one repetition may take in, and one pattern in all repetitions that stand inside each other.
MOST = 10_000

PLAIN = [
    "The password is the name of my first dog, and I will not tell you which.",
    "password: your-password-here",
    "password = os.environ['DB_PASSWORD']",
    "set the api_key to None, the token to <token> and the secret to ${SECRET}",
    "token: Input should be a valid string",
    "postgresql://user:password@host/db, https://example.org:8080/path@2x.png",
    "the key is under the mat, token ring, secret santa, Bearer of bad news and basic understanding of things",
    "order 4111 1111 1111 1112, phone +49 170 1234567890, 2026-11-16T09:30:00.123456, ISBN 9783161484100",
    "1234567890123456 and 0000 0000 0000 0000 and 3141592653589793",
    "commit 4f2d3c1b5a6978e0d1c2b3a4958677869504a3b2, id 6f1c2d3e-4b5a-4c6d-8e7f-000000000001",
    "sk-learn-contrib is a package; skip ghp_ as a prefix; AKIA alone; eyJ is how a JWT begins; xoxb- too",
    "everloom_token is a setting, hf_hub_download a function and npm_config_registry a variable",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
    "das Passwort ist geheim; le mot de passe est oublié; パスワードは忘れました; 密码是什么？",
]


@pytest.mark.promise("secrets.patterns")
@pytest.mark.parametrize("each", patterns(), ids=lambda each: each.name)
def test_every_pattern_recognises_its_example_wherever_it_stands(each: SecretPattern) -> None:
    assert each.source
    for text in (each.example, f"see {each.example} ok", f"line\n{each.example}\nline", f"日本 {each.example} 中国"):
        (span,) = spans_in(text)
        assert span.kind == each.name
        value = text[span.start : span.end]
        assert value not in masked(text)
        assert f"[redacted: {each.name}]" in masked(text)
        # What was redacted once is not redacted again.
        assert masked(masked(text)) == masked(text)


@pytest.mark.promise("secrets.patterns")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("my password is hunter2-Tango.", "password"),
        ("das Passwort ist hunter2Tango", "password"),
        ("пароль: Kr0kodil7", "password"),
        ("パスワードは「sakura2024!」です", "password"),
        ("我的密码是 Qwerty789xyz", "password"),
        ('{"api_key": "8Fz3kQp0Wm5Tx7Ln2Rb9Yc4"}', "secret key"),
        ("export AWS_SECRET_ACCESS_KEY=wJa1rXU2nFE3MI4K7MD5ENG6bPx7Rfi8", "secret key"),
        ("card 3714 496353 98431, thanks", "card number"),
        ("4012888888881881", "card number"),
        ("https://ann:t0p-s3cret@example.org/x", "password in an address"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", "private key"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOY\n-----END PGP PRIVATE KEY BLOCK-----", "private key"),
    ],
)
def test_secrets_are_recognised_in_the_words_around_them(text: str, kind: str) -> None:
    assert [span.kind for span in spans_in(text)] == [kind]


@pytest.mark.promise("secrets.patterns")
@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert masked(text) == text


@pytest.mark.promise("secrets.patterns")
def test_the_pages_of_this_repository_hold_no_secret() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = {page.name: spans_in(page.read_text(encoding="utf-8")) for page in pages}
    # The page that explains redaction shows one that was made up.
    assert {name for name, spans in found.items() if spans} <= {"review.md"}


def test_labels_are_read_for_what_is_sure_only() -> None:
    assert masked("4012888888881881", sure_only=True) == "4012888888881881"
    assert "redacted" in masked(PATTERNS["GitHub token"].example, sure_only=True)


@pytest.mark.promise("secrets.linear")
@pytest.mark.parametrize("each", patterns(), ids=lambda each: each.name)
def test_the_time_of_a_pattern_grows_with_the_text_and_never_faster(each: SecretPattern) -> None:
    assert cost(sre.parse(each.pattern.pattern, each.pattern.flags)) <= MOST


def cost(parsed: Any) -> int:
    """Multiply the bounds of repetitions that stand inside each other, and refuse one without a bound.

    Where every repetition is bounded or possessive, a match that begins at a given place takes at most so many steps
    however long the text is. `.*?` up to the end of a private key is the one exception: a text is read to its end once,
    because the match takes in all of it.
    """
    return max((_cost_of(operator, argument) for operator, argument in parsed), default=1)


def _cost_of(operator: Any, argument: Any) -> int:
    name = str(operator)
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        _, most, inner = argument
        is_any = name == "MIN_REPEAT" and str(inner[0][0]) == "ANY"
        assert most != sre.MAXREPEAT or is_any, "a repetition without a bound"
        return (1 if is_any else max(int(most), 1)) * cost(inner)
    return max((cost(part) for part in _parts_of(argument)), default=1)


def _parts_of(argument: Any) -> Iterator[Any]:
    for part in argument if isinstance(argument, tuple | list) else ():
        if isinstance(part, sre.SubPattern):
            yield part
        else:
            yield from _parts_of(part)


HOSTILE = st.sampled_from(
    [need for each in patterns() for need in each.needs]
    + [
        "-----BEGIN RSA PRIVATE KEY-----",
        "://a:",
        "@",
        "=",
        ": ",
        "password: ",
        "1234 ",
        "4",
        "eyJ",
        "a1",
        "x",
        ".",
        " ",
    ]
)


@pytest.mark.promise("secrets.linear")
@given(st.lists(HOSTILE, max_size=40), st.integers(1, 200))
def test_what_is_made_of_beginnings_is_read_to_its_end(parts: list[str], times: int) -> None:
    text = "".join(parts) * times
    spans, kept = spans_in(text), masked(text)
    assert all(0 <= one.end <= two.start < two.end <= len(text) for one, two in pairwise(spans))
    assert kept.count("[redacted: ") == len(spans)
    assert all(text[span.start : span.end] for span in spans)


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    spans = spans_in(text)
    assert all(one.end <= two.start for one, two in pairwise(spans))


@pytest.mark.promise("secrets.never-in-logs")
def test_a_log_holds_no_secret_whoever_writes_it(caplog: pytest.LogCaptureFixture) -> None:
    secret = PATTERNS["GitHub token"].example
    log = logger_of("everloom.tests.secrets")
    assert logger_of("everloom.tests.secrets").filters == log.filters
    with caplog.at_level(logging.INFO):
        log.info("a call with %s failed", secret)
        try:
            raise ValueError(f"bad header {secret}")
        except ValueError:
            log.exception("it failed")
    written = "\n".join([caplog.text, *(logging.Formatter().format(each) for each in caplog.records)])
    assert secret not in written
    assert written.count("[redacted: GitHub token]") >= 2
    assert "Traceback" in written


@pytest.mark.promise("secrets.never-in-logs")
def test_every_logger_of_the_program_is_one_of_these() -> None:
    source = ROOT / "src" / "everloom"
    plain = [
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if "log = logging.getLogger(__name__)" in file.read_text(encoding="utf-8")
    ]
    assert plain == []


@pytest.mark.promise("secrets.never-in-errors")
def test_an_error_repeats_no_secret() -> None:
    secret = PATTERNS["Anthropic API key"].example
    error = Rejected(f"the provider refused {secret}", hint=f"replace {secret}")
    assert secret not in f"{error} {error.message} {error.hint} {error.args} {error!r}"
    assert "Anthropic API key" in error.message


def test_the_file_of_patterns_is_part_of_the_package() -> None:
    assert (Path(str(ROOT)) / "src" / "everloom" / "secrets.toml").is_file()
    assert len(PATTERNS) == len(patterns()) > 20
