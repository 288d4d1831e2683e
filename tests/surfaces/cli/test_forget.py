"""`forget` and `correct` on the command line: a preview, a token, exit codes, and JSON for programs."""

from __future__ import annotations

import inspect

import pytest

from everloom.kernel.forgetting.verbs import Forgetting
from everloom.surfaces.cli.commands.forget import forget
from everloom.surfaces.cli.runtime.command import shared_options
from tests.surfaces.cli.conftest import Call, Ended


def ended(answer: Ended, code: int) -> Ended:
    assert answer.code == code, answer.err or answer.out
    return answer


@pytest.mark.promise("forget.preview")
def test_forgetting_asks_first_and_says_by_its_exit_code_how_it_went(call: Call) -> None:
    item = str(call("remember", "James sees Dr. Rey.", "--about", "James", "--json").result["id"])
    shown = call("forget", item)
    assert "James sees Dr. Rey." in shown.out
    token = call("forget", item, "--json").result["confirm"]
    assert f"--confirm {token}" in shown.out
    call("remember", "James sails.", "--about", "James")
    stale = ended(call("forget", item, "--confirm", token, "--json"), 1)
    assert stale.error["code"] == "conflict"
    assert stale.envelope["result"]["confirm"] != token
    assert call("show", item, "--json").result["id"] == int(item)
    done = call("forget", "--search", "who sees Dr. Rey?", "--yes", "--json").result
    assert (done["is_done"], [each["id"] for each in done["items"]]) == (True, [int(item)])
    assert "was forgotten on" in ended(call("show", item), 3).err
    assert "was forgotten on" in ended(call("forget", item), 3).err
    assert "nothing matches" in ended(call("forget", "--search", "the capital of Mongolia"), 3).err
    assert "nothing was chosen" in ended(call("forget"), 2).err
    again = ended(call("remember", "James sees Dr. Rey.", "--about", "James"), 1)
    assert f"everloom forget --lift {item}" in again.err
    assert "observation" in call("forget", "--list").out
    assert call("forget", "--lift", item, "--json").result["tombstones"][0]["id"] == int(item)
    assert call("remember", "James sees Dr. Rey.", "--about", "James", "--json").result["duplicate"] is False
    assert call("forget", "--clean", "--json").result["cleaned"]


@pytest.mark.promise("correct.traceable")
def test_a_correction_says_what_holds_now(call: Call) -> None:
    item = str(call("remember", "James sails on Sundays.", "--about", "James", "--json").result["id"])
    done = call("correct", item, "James", "sails", "on", "Saturdays.", "--reason", "New club.", "--json").result
    assert (done["replaced"], done["kind"]) == (int(item), "observation")
    assert "Saturdays" in call("recall", "when does James sail?").out
    assert "supersedes" in call("correct", str(done["id"]), "James sails daily.", "--forget-old").out
    ended(call("correct", "999999", "Nothing."), 3)


def test_the_command_takes_every_parameter_of_the_verb() -> None:
    taken = {each.name for each in forget.params} - {each.name for each in shared_options()}
    assert taken >= set(inspect.signature(Forgetting.forget).parameters) - {"self"}
