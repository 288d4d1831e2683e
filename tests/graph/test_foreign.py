"""A repository that somebody else made: whatever it contains or configures, nothing of it runs and nothing leaks."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from everloom.graph import Graph
from tests.graph.ground import commits, git, keep, open_with

HOOKS = (
    "applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change "
    "post-merge post-rewrite pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase "
    "prepare-commit-msg push-to-checkout reference-transaction sendemail-validate"
).split()
# Settings whose value is a program; each of them is set to one that leaves a trace.
PROGRAMS = (
    "core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy core.alternateRefsCommand "
    "credential.helper diff.external gpg.program gpg.ssh.program gpg.x509.program sequence.editor "
    "uploadpack.packObjectsHook "
    "filter.evil.clean filter.evil.smudge filter.evil.process filter.pipe.clean filter.pipe.process "
    "diff.evil.textconv diff.evil.command merge.evil.driver mergetool.evil.cmd remote.origin.uploadpack"
).split()
# Names of commands that are called; git does not let an alias hide them, and must not begin to.
CALLED = "rev-parse read-tree update-index write-tree commit-tree update-ref hash-object var".split()


class Trap:
    """A directory with programs that leave a trace when they run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.traces = place / "traces"
        self.traces.mkdir(parents=True)

    def program(self, name: str) -> Path:
        """Write a program that leaves a trace under its name, with the variables it was given."""
        file = self.place / name
        file.write_text(f'#!/bin/sh\nenv > "{self.traces}/{name}.$$"\ncat\n')
        file.chmod(0o755)
        return file

    def sprung(self) -> set[str]:
        """List the programs that ran."""
        return {trace.name.rsplit(".", 1)[0] for trace in self.traces.iterdir()}


def lay(trap: Trap, directory: Path) -> None:
    """Make a repository that runs a trap in every way that git knows of."""
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    # The filters are named by attributes in the tree and in the repository; a hostile one has both.
    (directory / ".gitattributes").write_text("*.md filter=evil diff=evil merge=evil\n*.txt filter=pipe\n")
    git(directory, "add", ".gitattributes")
    git(directory, "commit", "-q", "-m", "Everything is fine")
    (directory / ".git" / "info").mkdir(exist_ok=True)
    (directory / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    hooks = directory / "tools" / "hooks"
    for folder in (directory / ".git" / "hooks", hooks):
        folder.mkdir(parents=True, exist_ok=True)
        for name in HOOKS:
            shutil.copy(trap.program(f"hook-{name}"), folder / name)
    settings = {name: str(trap.program(name)) for name in PROGRAMS}
    settings |= {f"alias.{name}": f"!{trap.program(f'alias-{name}')}" for name in CALLED}
    settings |= {
        "core.hooksPath": str(hooks),
        "filter.evil.required": "true",
        "commit.gpgSign": "true",
        "tag.gpgSign": "true",
        "core.worktree": str(trap.place),
        "remote.origin.url": f"ext::{trap.program('transport')} %S",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "protocol.ext.allow": "always",
        "submodule.recurse": "true",
        "core.splitIndex": "true",
    }
    for name, value in settings.items():
        git(directory, "config", name, value)
    # Included files are read as well, and later ones win.
    (directory / ".git" / "more").write_text(f"[core]\n\tfsmonitor = {trap.program('included')}\n")
    git(directory, "config", "include.path", "more")
    git(directory, "config", "core.repositoryFormatVersion", "1")


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    """Programs that must not run."""
    return Trap(tmp_path / "trap")


def work(graph: Graph) -> list[str]:
    """Use everything that commits; returns what git complained about."""
    one, two = keep(graph, "One", "problem"), keep(graph, "Two", "fix")
    answers = [one, two, graph.relate(two.id, one.id, "SOLVES"), graph.update(two.id, title="Renamed")]
    answers += [graph.pin(one.id), graph.episode("It happened"), graph.core(), graph.reflection()]
    answers += [graph.merge(one.id, two.id), graph.delete(one.id)]
    graph.follow()
    return [notice for answer in answers for notice in answer.notices]  # type: ignore[attr-defined]


@pytest.mark.promise("files.foreign-git-runs-nothing")
def test_a_repository_of_somebody_else_runs_nothing(tmp_path: Path, trap: Trap) -> None:
    directory = tmp_path / "memories"
    lay(trap, directory)
    before = set(trap.sprung())
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        assert work(loom.workspace().graph) == []
        loom.workspace().graph.reindex()
    assert trap.sprung() == before
    for name in ("core.worktree", "extensions.partialClone", "remote.origin.promisor", "filter.evil.required"):
        git(directory, "config", "--unset", name)
    plain = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
    said = git(directory, *plain, "log", "--reverse", "--format=%s").splitlines()
    assert said[:3] == ["Everything is fine", "store: One", "store: Two"]
    assert len(said) == 11
    shown = git(directory, *plain, "show", "--no-ext-diff", "--no-textconv", "HEAD~8:./").splitlines()
    assert "graph/" in shown
    # The traps work: git itself steps into them.
    git(directory, "config", "commit.gpgSign", "false")
    (directory / "by-hand.md").write_text("By hand.\n")
    git(directory, "add", "by-hand.md")
    git(directory, "commit", "-q", "-m", "By hand")
    assert {"filter.evil.clean", "hook-pre-commit", "included"} & (trap.sprung() - before)


@pytest.mark.promise("files.foreign-git-runs-nothing")
def test_an_object_that_is_missing_is_not_fetched(tmp_path: Path, trap: Trap) -> None:
    directory = tmp_path / "memories"
    lay(trap, directory)
    missing = git(directory, "rev-parse", "HEAD:.gitattributes").strip()
    (directory / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    # Without an answer: git would wait for one.
    transport = trap.program("transport")
    transport.write_text(transport.read_text().replace("cat\n", "exit 1\n"))
    before = trap.sprung()
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        assert keep(loom.workspace().graph, "One", "problem").id
    assert trap.sprung() == before
    # The trap works: git itself would fetch it.
    with suppress(Exception):
        git(directory, "cat-file", "-p", missing)
    assert "transport" in trap.sprung()


@pytest.mark.promise("files.foreign-git-runs-nothing")
def test_git_is_given_no_keys_and_no_variables_that_lead_elsewhere(
    tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "memories"
    directory.mkdir()
    git(directory, "init", "-q")
    real = shutil.which("git")
    watched = tmp_path / "bin"
    watched.mkdir()
    (watched / "git").write_text(f'#!/bin/sh\nenv > "{trap.traces}/git.$$"\nexec {real} "$@"\n')
    (watched / "git").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{watched}{os.pathsep}{os.environ['PATH']}")
    secrets = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TELEGRAM_BOT_TOKEN", "EVERLOOM_WEBHOOK_SECRET", "AWS_SECRET_KEY")
    for name in secrets:
        monkeypatch.setenv(name, "a-secret-value")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TRACE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        assert keep(loom.workspace().graph, "One").notices == ()
    given = [trace.read_text() for trace in trap.traces.iterdir()]
    assert given
    for text in given:
        assert "a-secret-value" not in text
        assert str(tmp_path / "elsewhere") not in text
        assert "GIT_SSH_COMMAND" not in text
        assert "GIT_TERMINAL_PROMPT=0" in text
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TRACE"):
        monkeypatch.delenv(name)
    assert commits(directory) == ["store: One"]


@pytest.mark.promise("files.foreign-git-runs-nothing")
def test_a_git_that_lies_in_the_directory_is_not_the_program(
    tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "memories"
    directory.mkdir()
    git(directory, "init", "-q")
    shutil.copy(trap.program("git"), directory / "git")
    monkeypatch.setenv("PATH", ".")
    monkeypatch.chdir(directory)
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        assert keep(loom.workspace().graph, "One").notices == ("not committed: git is not installed",)
    assert trap.sprung() == set()


@pytest.mark.promise("graph.4-git")
def test_a_repository_of_either_object_format_and_a_linked_tree_are_committed_to(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    git(first, "init", "-q", "-b", "main", "--object-format=sha256")
    with open_with(f"sqlite:///{tmp_path}/first.db", first) as loom:
        stored = keep(loom.workspace().graph, "One")
        assert loom.workspace().graph.delete(stored.id).notices == stored.notices == ()
    assert commits(first) == ["store: One", "delete: One"]
    git(first, "worktree", "add", "-q", str(tmp_path / "linked"))
    with open_with(f"sqlite:///{tmp_path}/linked.db", tmp_path / "linked") as loom:
        assert keep(loom.workspace().graph, "Two").notices == ()
    assert commits(tmp_path / "linked")[-1] == "store: Two"
    assert commits(first)[-1] == "delete: One"
    assert git(first, "status", "--porcelain", "graph") == ""
