"""Every promise has a test, and every test that names a promise names one that was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.manifest import Claim, find_claims, read_promises


@pytest.mark.promise("manifest.promise-has-test")
def test_every_promise_has_a_test() -> None:
    kept = {claim.id for claim in find_claims()}
    assert [identifier for identifier in read_promises() if identifier not in kept] == []


@pytest.mark.promise("manifest.test-names-promise")
def test_every_claim_names_a_promise() -> None:
    promised = read_promises()
    assert [claim for claim in find_claims() if claim.id not in promised] == []


def test_claims_are_found_on_functions_classes_modules_and_parameters(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(
        "import pytest\n"
        "from pytest import mark\n"
        "pytestmark = pytest.mark.promise('a.module')\n"
        "@mark.promise('a.class', 'a.second')\n"
        "class TestIt:\n"
        "    @pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.promise('a.case'))])\n"
        "    def test_it(self, x): ...\n"
        "@pytest.mark.promise(f'a.{1}')\n"
        "def test_unclear(): ...\n"
    )
    assert {claim.id for claim in find_claims(tmp_path)} == {"a.module", "a.class", "a.second", "a.case", None}
    assert Claim("a.case", "test_sample.py:6") in find_claims(tmp_path)


@pytest.mark.parametrize("line", ['"One" = "Not an id."', '"a.b" = "no full stop"', '"a.b" = 1', 'a.b = "A table."'])
def test_a_malformed_promise_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "promises.toml").write_text(line)
    with pytest.raises(ValueError, match=r"id|sentence"):
        read_promises(tmp_path / "promises.toml")
