"""Bearer tokens: what is kept of them, and for how long they are good."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.tokens import Tokens, digest_of
from everloom.kernel.workspaces import NOWHERE
from everloom.loom import Loom, open_loom
from everloom.settings import Settings

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def loom(store_url: str, clock: ManualClock) -> Iterator[Loom]:
    with open_loom(store_url, settings=Settings(), clock=clock) as opened:
        yield opened


@pytest.fixture
def tokens(loom: Loom) -> Tokens:
    return Tokens(loom.store, loom.clock)


@pytest.mark.promise("tokens.hashed")
def test_only_the_hash_of_a_secret_is_kept(loom: Loom, tokens: Tokens) -> None:
    issued = tokens.create("laptop", loom.workspace("james").info)
    assert len(issued.secret) >= 43
    with loom.store.read(NOWHERE) as unit:
        (row,) = unit.all("tokens.every")
        assert row["digest"] == digest_of(issued.secret)
        assert issued.secret not in str({key: row[key] for key in ("digest", "name", "workspace_name")})
    assert tokens.create("desktop", loom.workspace("james").info).secret != issued.secret


def test_a_token_says_who_may_do_what_where(loom: Loom, tokens: Tokens) -> None:
    secret = tokens.create("laptop", loom.workspace("james").info, read_only=True, days=7).secret
    token = tokens.verify(secret)
    assert token is not None
    assert (token.name, token.workspace, token.read_only) == ("laptop", "james", True)
    assert token.expires_at == NOW + timedelta(days=7)


@pytest.mark.parametrize("wrong", ["", "x", "everloom_", "everloom_" + "A" * 43, "\ud800", "é"])
def test_a_wrong_secret_is_nobodys(loom: Loom, tokens: Tokens, wrong: str) -> None:
    tokens.create("laptop", loom.workspace("james").info)
    assert tokens.verify(wrong) is None


@pytest.mark.promise("tokens.revocable")
def test_a_revoked_token_is_worthless_at_once_and_its_name_is_free_again(loom: Loom, tokens: Tokens) -> None:
    james = loom.workspace("james").info
    secret = tokens.create("laptop", james).secret
    assert tokens.revoke("Laptop").state == "revoked"
    assert tokens.verify(secret) is None
    assert not tokens.has_valid()
    with pytest.raises(NotFound):
        tokens.revoke("laptop")
    assert tokens.verify(tokens.create("laptop", james).secret) is not None
    assert [token.state for token in tokens.list()] == ["revoked", "valid"]


@pytest.mark.promise("tokens.expire")
def test_a_token_expires_to_the_second(loom: Loom, tokens: Tokens, clock: ManualClock) -> None:
    secret = tokens.create("laptop", loom.workspace("james").info, days=1).secret
    clock.advance(timedelta(days=1, seconds=-1))
    assert tokens.verify(secret) is not None
    clock.advance(timedelta(seconds=1))
    assert tokens.verify(secret) is None
    assert [token.state for token in tokens.list()] == ["expired"]


def test_two_tokens_in_force_have_two_names(loom: Loom, tokens: Tokens) -> None:
    james = loom.workspace("james").info
    tokens.create("laptop", james)
    with pytest.raises(Conflict, match="already"):
        tokens.create("LAPTOP", james)
    with pytest.raises(Rejected):
        tokens.create(" ", james)
    for days in (0, -1, 10**9):
        with pytest.raises(Rejected):
            tokens.create("other", james, days=days)
    assert len(tokens.list()) == 1


def test_a_token_goes_with_its_workspace_when_that_is_renamed(loom: Loom, tokens: Tokens) -> None:
    secret = tokens.create("laptop", loom.workspace("james").info).secret
    loom.workspaces.change("james", new_name="jim")
    token = tokens.verify(secret)
    assert token is not None
    assert token.workspace == "jim"
