"""Settings come from file, environment and flags, in rising order, and say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from everloom.errors import Rejected
from everloom.settings import SettingOrigin, default_file, from_environment, known_names, load, local_zone


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A settings file that names a workspace and two models."""
    path = tmp_path / "everloom.toml"
    path.write_text('[workspace]\nname = "from file"\n[embed]\nmodels = ["ollama:x", "static:wordllama-256"]\n')
    return path


def origin(origins: list[SettingOrigin], name: str) -> SettingOrigin:
    return next(each for each in origins if each.name == name)


@pytest.mark.promise("settings.order")
def test_a_flag_beats_the_environment_and_that_beats_the_file(file: Path) -> None:
    environ = {"EVERLOOM_WORKSPACE_NAME": "from environment"}
    flags: dict[str, Any] = {"workspace.name": "from flag"}
    assert load(file, environ={})[0].workspace.name == "from file"
    assert load(file, environ=environ)[0].workspace.name == "from environment"
    assert load(file, flags, environ)[0].workspace.name == "from flag"
    assert load(file, {"workspace.name": None}, environ)[0].workspace.name == "from environment"


@pytest.mark.promise("settings.origins")
def test_every_value_says_where_it_came_from(file: Path) -> None:
    environ = {"EVERLOOM_EMBED_MODELS": "ollama:y,static:wordllama-256", "OPENAI_API_KEY": "sk-very-secret"}
    settings, origins = load(file, {"llm.dollars": 3.5}, environ)
    assert settings.embed.models == ("ollama:y", "static:wordllama-256")
    assert [each.name for each in origins] == known_names()
    assert origin(origins, "workspace.name").source == str(file)
    assert origin(origins, "embed.models").source == "environment"
    assert origin(origins, "llm.dollars").source == "flag"
    assert origin(origins, "store.url").source == "default"
    assert all(each.meaning for each in origins if not each.name.startswith("secrets."))


@pytest.mark.promise("settings.secrets")
def test_a_secret_is_never_shown(file: Path) -> None:
    settings, origins = load(file, environ={"OPENAI_API_KEY": "sk-very-secret"})
    assert settings.secrets.openai_api_key is not None
    assert settings.secrets.openai_api_key.get_secret_value() == "sk-very-secret"
    assert origin(origins, "secrets.openai_api_key").value == "set"
    assert origin(origins, "secrets.anthropic_api_key").value == "not set"
    assert "sk-very-secret" not in repr(settings) + repr(origins) + settings.model_dump_json()


@pytest.mark.promise("settings.secrets")
def test_secrets_in_a_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "everloom.toml"
    path.write_text('[secrets]\nopenai_api_key = "sk-very-secret"\n')
    with pytest.raises(Rejected, match="contains secrets") as refusal:
        load(path, environ={})
    assert "sk-very-secret" not in str(refusal.value)


@pytest.mark.promise("settings.named-errors")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[store]\nulr = 'x'\n", "store.ulr"),
        ("colour = 'red'\n", "colour"),
        ("[nonsense]\nx = 1\n", "nonsense.x"),
        ("[llm]\ndollars = 'many'\n", "llm.dollars"),
        ("[llm]\ndollars = -1\n", "llm.dollars"),
        ("[embed]\nmodels = []\n", "embed.models"),
        ("[store\nurl = \n", "line 1"),
        ("workspace = 'x'\n", "workspace"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "everloom.toml"
    path.write_text(text)
    with pytest.raises(Rejected) as refusal:
        load(path, environ={})
    assert said in str(refusal.value)
    assert str(path) in str(refusal.value)
    assert refusal.value.hint


@pytest.mark.promise("settings.named-errors")
def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "everloom.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Rejected, match="cannot read"):
        load(tmp_path / "everloom.toml", environ={})
    with pytest.raises(Rejected, match="cannot read"):
        load(tmp_path, environ={})


@pytest.mark.promise("settings.named-errors")
def test_an_unknown_flag_and_a_bad_variable_are_named() -> None:
    with pytest.raises(Rejected, match=r"no setting 'store\.colour'"):
        load(flags={"store.colour": "red"}, environ={})
    with pytest.raises(Rejected, match=r"llm\.dollars") as refusal:
        load(environ={"EVERLOOM_LLM_DOLLARS": "many"})
    assert "environment" in str(refusal.value)


@pytest.mark.promise("settings.order")
def test_a_file_that_somebody_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="no settings file"):
        load(tmp_path / "missing.toml", environ={})


def test_a_file_that_the_environment_names_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="no settings file"):
        load(environ={"EVERLOOM_CONFIG": str(tmp_path / "slip.toml")})


def test_the_environment_may_name_the_file(file: Path) -> None:
    assert load(environ={"EVERLOOM_CONFIG": str(file)})[0].workspace.name == "from file"


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_file().is_relative_to(tmp_path)
    settings, _ = load(environ={})
    assert settings.embed.models == ("static:multilingual-384",)
    assert settings.workspace.name == "default"
    assert settings.store.url.startswith("sqlite://")


def test_a_setting_that_is_no_more_does_not_break_an_old_file(tmp_path: Path) -> None:
    path = tmp_path / "everloom.toml"
    path.write_text("[mind]\nprompt_minutes = 5.0\ntool_rounds = 3\n")
    settings, origins = load(path, environ={"EVERLOOM_MIND_PROMPT_MINUTES": "5"})
    assert settings.mind.tool_rounds == 3
    assert "mind.prompt_minutes" not in {each.name for each in origins}


@pytest.mark.promise("settings.named-errors")
@pytest.mark.parametrize("name", ["EVERLOOM_STORE", "EVERLOOM_STORE_URI", "EVERLOOM_Store_URL", "EVERLOOM_LLM_MODELS"])
def test_a_variable_that_sets_nothing_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(Rejected, match=f"no setting is called {name}"):
        load(environ={name: "x"})
    assert load(environ={name: ""})


def test_a_misspelt_variable_gets_a_suggestion() -> None:
    with pytest.raises(Rejected, match="did you mean EVERLOOM_STORE_URL"):
        load(environ={"EVERLOOM_STORE": "/tmp/loom.db"})


def test_variables_of_container_engines_and_tests_are_left_alone() -> None:
    links = {
        "EVERLOOM_PORT": "tcp://10.0.0.7:8080",
        "EVERLOOM_PORT_8080_TCP_ADDR": "10.0.0.7",
        "EVERLOOM_SERVICE_HOST": "10.0.0.7",
        "EVERLOOM_DB_SERVICE_PORT_HTTP": "5432",
        "EVERLOOM_TEST_PATIENCE": "4",
    }
    assert from_environment(links) == {}


def test_an_empty_variable_is_no_value() -> None:
    assert from_environment({"EVERLOOM_STORE_URL": "", "EVERLOOM_WORKSPACE_NAME": "x"}) == {"workspace.name": "x"}


def test_the_zone_of_this_machine_is_an_iana_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":Europe/Paris")
    assert local_zone() == "Europe/Paris"
    monkeypatch.setenv("TZ", "nonsense")
    assert local_zone() == "UTC"


def test_the_addresses_of_providers_are_read_from_their_own_variables() -> None:
    own = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9/claude", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    settings, origins = load(environ={**own, "XDG_CONFIG_HOME": "/nowhere"})
    assert (settings.provider.anthropic_base, settings.provider.openai_base) == tuple(own.values())
    assert origin(origins, "provider.anthropic_base").source == "environment"
    ours = {"EVERLOOM_PROVIDER_ANTHROPIC_BASE": "http://127.0.0.1:10"}
    assert load(environ={**own, **ours})[0].provider.anthropic_base == "http://127.0.0.1:10"
