"""All settings, and where each value came from: file, environment or flag, the later overriding the earlier.

Read once at the edge; below it, values are arguments. Secrets come from the environment only and are refused in files.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError

from everloom.errors import Rejected
from everloom.mind.hands.servers import ToolServer, read_servers
from everloom.mind.people import read_people, split_people
from everloom.models.catalog import read_price, read_window
from everloom.models.thinking import Effort, Thinking
from everloom.sections import (
    BridgeSettings,
    DiscordSettings,
    EmailSettings,
    LogSettings,
    MatrixSettings,
    MetricsSettings,
    Section,
    ServerSettings,
    SlackSettings,
)
from everloom.sections import Parted as _Parted
from everloom.sections import parted as _parted
from everloom.store.address import as_url, sqlite_url

PREFIX = "EVERLOOM_"
_FILE_NAME = "everloom.toml"
# The variables of our tests and checks, and those that Kubernetes sets for a service called `everloom…`.
_FOREIGN_VARIABLE = re.compile(
    rf"{PREFIX}(?:(?:TEST|CI)_|(?:.+_)?SERVICE_(?:HOST|PORT)|(?:.+_)?PORT_[0-9]+_(?:TCP|UDP|SCTP))"
)
# Variables that the tools of the providers read: a key and its address are set together.
_PROVIDERS_OWN = {"provider.anthropic_base": "ANTHROPIC_BASE_URL", "provider.openai_base": "OPENAI_BASE_URL"}
# Settings of earlier versions that mean nothing any more; a file that still has them is read as if it had not.
_RETIRED = frozenset({"mind.prompt_minutes"})


def local_zone() -> str:
    """Guess this machine's time zone; UTC if it cannot be determined."""
    zone = os.environ.get("TZ", "").removeprefix(":")
    if not zone:
        # On Linux and macOS a link into the time zone database; a copied file has no name, and UTC is then the guess.
        parts = Path("/etc/localtime").resolve().parts
        zone = "/".join(parts[parts.index("zoneinfo") + 1 :]) if "zoneinfo" in parts else ""
    return zone if _is_zone(zone) else "UTC"


@cache
def _is_zone(name: str) -> bool:
    """Return whether there is such a time zone, without listing them all, which reads the whole database."""
    try:
        return bool(name and ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False


def data_directory() -> Path:
    """Return the directory where memories are stored by default."""
    return Path(platformdirs.user_data_dir("everloom"))


def _readable(read: Callable[[str], tuple[str, object]]) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """Make a check that each part of a list can be read, and that none says a second time what another says."""

    def check(parts: tuple[str, ...]) -> tuple[str, ...]:
        names = [read(part)[0] for part in parts]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]} is given twice")
        return parts

    return check


def _inner_folder(value: str) -> str:
    """Check a folder inside a directory: a relative path without hidden parts and ways out."""
    parts = [part for part in value.replace("\\", "/").split("/") if part]
    if value.startswith(("/", "~")) or ":" in value or any(part.startswith(".") for part in parts):
        raise ValueError("give a folder inside the graph's directory, such as graph or notes/pages")
    return "/".join(parts)


def _each_person(value: object) -> object:
    return tuple(split_people(value)) if isinstance(value, str) else value


def _people(lines: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(map(str, read_people(lines)))
    except Rejected as error:
        raise ValueError(f"{error.message} ({error.hint})" if error.hint else error.message) from None


class StoreSettings(Section):
    """Where memories are stored."""

    url: Annotated[str, AfterValidator(as_url)] = Field(
        default_factory=lambda: sqlite_url(data_directory() / "everloom.db"),
        description="sqlite:///path/loom.db, postgresql://user@host/database, or https://host of a server",
    )
    token_file: Path | None = Field(
        default=None, description="file with the tokens of servers, which only its owner can read; EVERLOOM_TOKEN wins"
    )
    read_only: bool = Field(default=False, description="open it only for reading: nothing at all is written")
    connect_seconds: float = Field(default=5.0, ge=1, description="how long a server may take to accept a connection")
    lock_seconds: float = Field(default=30.0, gt=0, description="how long a write waits for other writers")
    statement_seconds: float = Field(
        default=15.0, ge=1, description="how long one statement may take to read, or a server may stay silent"
    )
    connections: int = Field(
        default=16, ge=2, le=1_000, description="how many connections a process opens to PostgreSQL at most"
    )
    prepared_statements: bool = Field(
        default=True, description="leave statements prepared in PostgreSQL; false for poolers that cannot handle them"
    )


class WorkspaceSettings(Section):
    """Defaults for workspaces."""

    name: str = Field(default="default", description="the workspace to use when none is named")
    time_zone: str = Field(
        default_factory=local_zone, description="IANA time zone of new workspaces, such as Europe/Paris"
    )


class EmbedSettings(Section):
    """The models that turn text into vectors."""

    models: _Parted = Field(
        default=("static:multilingual-384",),
        description="embedders in order of preference: static:multilingual-384, static:wordllama-256, local:minilm-l6, "
        "local:use-multilingual, fastembed:MODEL, ollama:MODEL, openai:MODEL",
        min_length=1,
    )


class LlmSettings(Section):
    """The language models."""

    # None by default: no language model is called, and no money spent, unless somebody chooses one.
    large: str | None = Field(default=None, description="anthropic:MODEL, openai:MODEL, ollama:MODEL or scripted:FILE")
    small: str | None = Field(default=None, description="a cheaper model for routine work; llm.large if empty")
    dollars: float | None = Field(default=None, ge=0, description="the most dollars that one process may spend")
    thinking: Thinking | None = Field(
        default=None,
        description="whether llm.large thinks before it answers: adaptive or off; if empty, as the model does",
    )
    effort: Effort | None = Field(
        default=None,
        description="how thorough llm.large is: low, medium, high, xhigh or max, or the nearest that the model takes; "
        "if empty, as the model does",
    )
    small_thinking: Thinking | None = Field(default=None, description="the same as llm.thinking for the small model")
    small_effort: Effort | None = Field(default=None, description="the same as llm.effort for the small model")


class ModelSettings(Section):
    """What is known about language models beyond what is built in; `everloom models` lists both."""

    prices: Annotated[tuple[str, ...], BeforeValidator(_parted), AfterValidator(_readable(read_price))] = Field(
        default=(),
        description="dollars per million tokens, MODEL=INPUT/OUTPUT/CACHED READ/CACHED WRITE/CACHED WRITE FOR AN HOUR, "
        "the last three if they differ: openai:my-model=2/10/0.2; 0/0 is free",
    )
    windows: Annotated[tuple[str, ...], BeforeValidator(_parted), AfterValidator(_readable(read_window))] = Field(
        default=(), description="context windows in tokens of models whose server does not tell: openai:my-model=200000"
    )


class SemanticSettings(Section):
    """How semantic memory behaves."""

    consolidate: Literal["off", "auto"] = Field(
        default="off", description="auto lets the worker consolidate with llm.large, which costs tokens; off never does"
    )
    judge: Literal["off", "auto"] = Field(
        default="off",
        description="auto lets llm.small judge whether what recall found answers the question, which costs tokens",
    )
    seen_minutes: float = Field(
        default=30.0,
        gt=0,
        description="minutes without bring_to_mind after which a client counts as having lost what it was shown",
    )


class EpisodicSettings(Section):
    """How episodic memory behaves."""

    patrol_at: int = Field(default=10, ge=1, description="number of waiting scenes at which a patrol starts by itself")
    patrol_hours: float = Field(default=24.0, ge=0, description="hours between scheduled patrols; 0 for none")
    patrol: Literal["here", "worker"] = Field(
        default="here",
        description="who runs a patrol that starts by itself: the process that writes, in the background, or a worker",
    )
    recall_threshold: float | None = Field(
        default=None, ge=-1, le=1, description="cosine; if empty, the value that `everloom calibrate` found"
    )
    cluster_threshold: float | None = Field(
        default=None, ge=-1, le=1, description="cosine; if empty, the value that `everloom calibrate` found"
    )
    feeling_distance: float = Field(
        default=0.35,
        ge=0,
        le=2,
        description="how far a scene's emotion may be from a feeling that recalls it: the mean difference of the axes "
        "that the feeling names, from 0 to 2",
    )
    extracts: bool = Field(
        default=False,
        description="without a language model, patrols write diary and think_md as extracts: sentences of the scenes "
        "that they took in, marked as such",
    )
    business_prototypes: tuple[str, ...] = Field(
        default=(),
        description="sentences typical of Business scenes; both lists must be given, or the built-in ones apply",
    )
    private_prototypes: tuple[str, ...] = Field(default=(), description="sentences typical of Private scenes")


class GraphSettings(Section):
    """Where and how the memory graph stores its files."""

    directory: Path | None = Field(
        default=None, description="directory of the default graph; if empty, one per workspace in the data directory"
    )
    known_projects: _Parted = Field(
        default=(), description="tags that name projects; reflection looks for patterns across them"
    )
    auto_commit: bool = Field(default=True, description="commit each operation if the directory is a git repository")
    auto_edges: bool = Field(default=True, description="relate a new memory to similar ones automatically")
    commit_pages: bool = Field(
        default=True, description="commit CORE.md and REFLECTION.md; otherwise git ignores them in this clone"
    )
    access: Literal["git", "store"] = Field(
        default="git",
        description="where the record of reads travels: git (_access.tsv, with other commits) or store (nowhere else)",
    )
    merge_driver: bool = Field(
        default=True,
        description="register in a repository's settings that git asks everloom to merge the graph's files",
    )
    ignore: _Parted = Field(
        default=("templates",), description="folders whose notes are no memories: names, or paths in the directory"
    )
    pages: Annotated[str, AfterValidator(_inner_folder)] = Field(
        default="", description="folder of CORE.md and REFLECTION.md in the directory; if empty, the directory itself"
    )


class MindSettings(Section):
    """How the conversation behaves."""

    notes: Path | None = Field(
        default=None, description="directory of the notes; if empty, one per workspace in the data directory"
    )
    gather_seconds: float = Field(
        default=3.0, ge=0, description="messages that arrive within this many seconds become one turn"
    )
    compact_at: int = Field(
        default=100_000, ge=1_000, description="number of input tokens from which the oldest turns are summarised"
    )
    tool_rounds: int = Field(default=12, ge=1, le=100, description="how many rounds of tool calls one turn may take")
    reply_tokens: int = Field(default=4_096, ge=16, description="the most tokens in one reply, beside thinking")
    cache_life: Literal["5m", "1h"] = Field(
        default="5m",
        description="how long Anthropic keeps the conversation in its cache: 5m, or 1h, which costs more to write and "
        "pays if you pause longer",
    )
    heartbeat_hours: float = Field(default=0.0, ge=0, description="hours between heartbeats; 0 for none")
    quiet_from: int = Field(default=23, ge=0, le=23, description="local hour from which the agent does not speak first")
    quiet_until: int = Field(
        default=8, ge=0, le=23, description="local hour until which the agent does not speak first"
    )
    self_awareness_hour: int = Field(
        default=21, ge=0, le=23, description="local hour of the nightly pass over the notes"
    )
    prune_facts: bool = Field(
        default=True, description="set repeated and long faded facts aside, a few each night; nothing is erased"
    )
    prune_after_days: int = Field(
        default=180, ge=30, le=36_500, description="days without use after which a passing fact is set aside"
    )
    dollars_a_day: float | None = Field(
        default=None, ge=0, description="daily budget; once it is spent, llm.small converses until midnight"
    )
    faculties: Annotated[tuple[Literal["semantic", "episodic", "graph"], ...], BeforeValidator(_parted)] = Field(
        default=(), description="faculties whose tools the agent may use in conversation: semantic, episodic, graph"
    )
    memory_tool: bool = Field(
        default=False, description="also offer the notes to the agent through Anthropic's memory tool"
    )
    mcp: Annotated[Mapping[str, ToolServer], BeforeValidator(read_servers)] = Field(
        default_factory=dict, description="MCP servers whose tools the agent may use, each a table [mind.mcp.NAME]"
    )
    approve_notes: _Parted = Field(
        default=(), description="notes that the agent changes only with approval: names or patterns, such as SOUL.md"
    )
    action_hours: float = Field(
        default=24.0, gt=0, le=8_760, description="hours after which something that waits for approval lapses"
    )


class AttachmentSettings(Section):
    """How much messages may bring in pictures, documents, recordings and files; what is more is left out, and said."""

    file_mb: float = Field(default=20.0, gt=0, le=100, description="the most megabytes of one file")
    message_mb: float = Field(default=40.0, gt=0, le=500, description="the most megabytes of one message's files")
    workspace_mb: float = Field(default=2_000.0, gt=0, description="the most megabytes of all files of a workspace")
    files: int = Field(default=20, ge=0, le=100, description="how many files one message may bring; 0 keeps none")


class AlertSettings(Section):
    """From which costs of models on the person is told, once a day or a month, where they last wrote."""

    budget_share: float = Field(
        default=0.8, ge=0, le=1, description="share of mind.dollars_a_day from which on the person is told; 0 for never"
    )
    dollars_a_month: float | None = Field(
        default=None, ge=0, description="dollars in a calendar month from which on the person is told"
    )
    rise: float = Field(
        default=3.0,
        ge=0,
        description="how many times as much as on a usual day, and at least $1, has to be spent for the person to be "
        "told; 0 for never",
    )


class VoiceSettings(Section):
    """Who listens to voice messages."""

    model: str | None = Field(
        default=None, description="openai:whisper-1, or local:COMMAND that is given a file and prints what it hears"
    )
    seconds: float = Field(default=120.0, gt=0, le=3_600, description="how long listening to one message may take")


class ReviewSettings(Section):
    """What is done about secrets, and what waits for a person's approval."""

    secrets: Literal["warn", "redact", "refuse"] = Field(
        default="redact",
        description="what happens to a secret in what is written: it is stored and reported (warn), replaced by a mark "
        "(redact), or nothing is written (refuse)",
    )
    hold: Annotated[tuple[Literal["tool", "import", "web"], ...], BeforeValidator(_parted)] = Field(
        default=("web",),
        description="origins whose writes wait for a person's approval before they count: tool, import, web",
    )


class PeopleSettings(Section):
    """With whom the agent talks; each person and each group has a workspace, and with it a conversation, of its own."""

    known: Annotated[tuple[str, ...], BeforeValidator(_each_person), AfterValidator(_people)] = Field(
        default=(),
        description="people and groups, such as: James workspace=james telegram=12345 prefers=telegram; Club group "
        "telegram=-10077",
    )


class TelegramSettings(Section):
    """Who may talk over Telegram."""

    chats: Annotated[tuple[int, ...], BeforeValidator(_parted)] = Field(
        default=(),
        description="ids of the chats that are answered, besides those in people.known; the first private one is the "
        "gateway's own workspace, each other one has its own",
    )
    # Can be changed for a self-hosted bot API server, and for tests.
    base: str = Field(default="https://api.telegram.org", description="address of Telegram's bot API")


class GatewaySettings(BridgeSettings):
    """How other programs take part in the conversation."""

    callback: str | None = Field(default=None, description="address to which replies on the HTTP channel are posted")
    turns_at_once: int = Field(
        default=8, ge=1, le=64, description="how many people are answered at the same time; others wait for their turn"
    )
    events_wake: bool = Field(
        default=True, description="whether an event from a machine causes a turn by itself, unless it says otherwise"
    )


class HooksSettings(Section):
    """What AI clients are told and taken at the turns of a session, once `everloom hook install` has connected them."""

    workspace: str | None = Field(default=None, description="workspace of the hooks; workspace.name if empty")
    projects: _Parted = Field(
        default=(),
        description="workspaces of projects: /path/of/project=NAME, or =- to leave one alone; the longest path wins",
    )
    orientation_tokens: int = Field(
        default=1_500, ge=0, le=20_000, description="the most tokens that a session is told at its start; 0 for nothing"
    )
    pointers: bool = Field(
        default=False, description="point a prompt to memories that fit it; silent where nothing fits"
    )
    pointer_tokens: int = Field(
        default=400, ge=200, le=5_000, description="the most tokens of the pointers that a prompt is given"
    )
    transcripts: bool = Field(default=True, description="take in what was said, in the background")
    seconds: float = Field(
        default=5.0, ge=0.5, le=50, description="how long a hook may take; a sixth of that at the end of a session"
    )


class TelemetrySettings(Section):
    """What is measured for OpenTelemetry; its own variables, OTEL_EXPORTER_OTLP_ENDPOINT and kin, say where it goes."""

    enabled: bool = Field(
        default=False, description="measure calls as OpenTelemetry spans and metrics; needs the extra otel"
    )
    content: bool = Field(
        default=False, description="also report what was asked and what was found, which are texts of the memory"
    )


class ProviderSettings(Section):
    """The addresses of model providers."""

    openai_base: str = Field(
        default="https://api.openai.com/v1", description="address of OpenAI or of a compatible server"
    )
    ollama_base: str = Field(default="http://127.0.0.1:11434", description="address of Ollama")
    anthropic_base: str = Field(
        default="https://api.anthropic.com", description="address of Anthropic or of a compatible server"
    )


class Secrets(Section):
    """Keys, read from the environment only and never written, shown or logged."""

    openai_api_key: SecretStr | None = None
    anthropic_api_key: SecretStr | None = None
    telegram_bot_token: SecretStr | None = None
    everloom_webhook_secret: SecretStr | None = None
    # Of bridges that have a secret of their own: NAME=SECRET, separated by commas.
    everloom_bridge_secrets: SecretStr | None = None
    matrix_access_token: SecretStr | None = None
    slack_app_token: SecretStr | None = None
    slack_bot_token: SecretStr | None = None
    discord_bot_token: SecretStr | None = None
    everloom_email_password: SecretStr | None = None
    # What a mail must contain in its subject or in the address it was sent to, if email.proof asks for it.
    everloom_email_tag: SecretStr | None = None
    # The token of this program itself as a client, for a store at https://…
    everloom_token: SecretStr | None = None


class Settings(Section):
    """All settings."""

    store: StoreSettings = Field(default_factory=StoreSettings)
    server: ServerSettings = Field(default_factory=ServerSettings)
    metrics: MetricsSettings = Field(default_factory=MetricsSettings)
    log: LogSettings = Field(default_factory=LogSettings)
    workspace: WorkspaceSettings = Field(default_factory=WorkspaceSettings)
    embed: EmbedSettings = Field(default_factory=EmbedSettings)
    llm: LlmSettings = Field(default_factory=LlmSettings)
    models: ModelSettings = Field(default_factory=ModelSettings)
    semantic: SemanticSettings = Field(default_factory=SemanticSettings)
    episodic: EpisodicSettings = Field(default_factory=EpisodicSettings)
    graph: GraphSettings = Field(default_factory=GraphSettings)
    mind: MindSettings = Field(default_factory=MindSettings)
    attachments: AttachmentSettings = Field(default_factory=AttachmentSettings)
    alerts: AlertSettings = Field(default_factory=AlertSettings)
    voice: VoiceSettings = Field(default_factory=VoiceSettings)
    review: ReviewSettings = Field(default_factory=ReviewSettings)
    people: PeopleSettings = Field(default_factory=PeopleSettings)
    telegram: TelegramSettings = Field(default_factory=TelegramSettings)
    slack: SlackSettings = Field(default_factory=SlackSettings)
    discord: DiscordSettings = Field(default_factory=DiscordSettings)
    matrix: MatrixSettings = Field(default_factory=MatrixSettings)
    email: EmailSettings = Field(default_factory=EmailSettings)
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    hooks: HooksSettings = Field(default_factory=HooksSettings)
    provider: ProviderSettings = Field(default_factory=ProviderSettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)
    secrets: Secrets = Field(default_factory=Secrets)


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """One setting: its name, its value as shown, where that came from, and what it means."""

    name: str
    value: object
    source: str
    meaning: str


def default_file() -> Path:
    """Return the path of the default settings file."""
    return Path(platformdirs.user_config_dir("everloom")) / _FILE_NAME


def load(
    file: Path | None = None, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Settings, list[SettingOrigin]]:
    """Read the settings and where each came from; `flags` maps dotted names to values."""
    env = os.environ if environ is None else environ
    path = file or (Path(env[f"{PREFIX}CONFIG"]) if f"{PREFIX}CONFIG" in env else default_file())
    # Only the default file may be missing: whoever names a file expects it to be read.
    layers = [
        (str(path), from_file(path, must_exist=path != default_file())),
        ("environment", from_environment(env)),
        ("flag", {name: value for name, value in (flags or {}).items() if value is not None}),
    ]
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, values in layers:
        merged |= values
        sources |= dict.fromkeys(values, source)
    settings = validated(merged, sources)
    return settings, _origins(settings, sources)


def from_file(path: Path, *, must_exist: bool) -> dict[str, Any]:
    """Read dotted names from a TOML file."""
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if must_exist:
            raise Rejected(f"there is no settings file {path}", hint="`everloom init` creates one") from None
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Rejected(f"cannot read {path}: {error}", hint="fix the file, or remove it to use the defaults") from error
    except OSError as error:
        raise Rejected(f"cannot read {path}: {error.strerror}", hint="make it readable to this user") from error
    # Settings files are copied, shared and put under version control; keys must not travel with them.
    if "secrets" in tree:
        raise Rejected(
            f"{path} contains secrets", hint="remove [secrets] and set OPENAI_API_KEY or ANTHROPIC_API_KEY instead"
        )
    return {name: value for name, value in dotted(tree).items() if name not in _RETIRED}


def dotted(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a tree of sections into dotted names."""
    flat: dict[str, Any] = {}
    for section, values in tree.items():
        if isinstance(values, dict):
            flat |= {f"{section}.{name}": value for name, value in values.items()}
        else:
            flat[section] = values
    return flat


def variable(name: str) -> str | None:
    """Read a variable that a setting refers to by its name; None if it is not set or empty."""
    return os.environ.get(name) or None


def from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """Read `EVERLOOM_SECTION_NAME` and the key variables of the providers; an unknown name is an error."""
    known = {_variable_of(name): name for name in _meanings()}
    # An empty variable counts as unset: shells and container files unset a variable that way.
    given = {name: value for name, value in env.items() if value}
    ignored = {f"{PREFIX}CONFIG", *map(_variable_of, _RETIRED)}
    for name, value in given.items():
        if name.startswith(PREFIX) and name not in known and name not in ignored and not _is_foreign(name, value):
            near = get_close_matches(name.upper(), known, 1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise Rejected(
                f"no setting is called {name}", hint=f"{meant}unset it; `everloom config` lists the settings"
            )
    own = {setting: given[name] for setting, name in _PROVIDERS_OWN.items() if name in given}
    return own | {known[name]: value for name, value in given.items() if name in known}


def _variable_of(name: str) -> str:
    section, key = name.split(".", 1)
    # Keys have the names that the tools of the providers read, so that one variable serves all programs.
    return key.upper() if section == "secrets" else f"{PREFIX}{section}_{key}".upper()


def _is_foreign(name: str, value: str) -> bool:
    """Return whether a variable has our prefix but belongs to the tests, or to the links that container engines set."""
    return _FOREIGN_VARIABLE.match(name) is not None or value.startswith(("tcp://", "udp://"))


@cache
def _meanings() -> dict[str, str]:
    """List every setting by its dotted name, each with what it means."""
    return {
        f"{section}.{key}": own.description or ""
        for section, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
        for key, own in field.annotation.model_fields.items()
    }


def known_names() -> list[str]:
    """List every setting by its dotted name."""
    return [*_meanings()]


def validated(values: Mapping[str, Any], sources: Mapping[str, str]) -> Settings:
    """Check every value; an error names the setting and where it was set."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        section, _, key = name.partition(".")
        if name not in _meanings():
            near = get_close_matches(name, known_names(), 1)
            meant = f"did you mean {near[0]}? " if near else ""
            hint = f"{meant}`everloom config` lists them; this one is set in {sources[name]}"
            raise Rejected(f"there is no setting {name!r}", hint=hint)
        tree.setdefault(section, {})[key] = value
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        # The chain is cut: pydantic's own message repeats the input, which may be a key.
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][:2])
        said = first["msg"].removeprefix("Value error, ")
        raise Rejected(f"{name}: {said}", hint=f"it is set in {sources.get(name, 'the defaults')}") from None


def _origins(settings: Settings, sources: Mapping[str, str]) -> list[SettingOrigin]:
    """List every value and where it came from; of a secret only whether it is set."""
    found = []
    for name, meaning in _meanings().items():
        section, key = name.split(".", 1)
        value = getattr(getattr(settings, section), key)
        shown = ("set" if value else "not set") if section == "secrets" else value
        found.append(SettingOrigin(name, shown, sources.get(name, "default"), meaning))
    return found
