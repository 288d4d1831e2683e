"""Commits the files of an operation with the git program, if the directory is a repository.

A commit is optional: a failure is reported and never blocks or undoes an operation. Only the operation's own files are
committed; anything else that a person staged or changed stays as it is. The repository may be anybody's, so nothing
that it contains or configures is ever run: no hook, no filter, no monitor, no helper. Commits are therefore put
together from blobs and trees; `git add` and `git commit` would run filters and hooks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from everloom.clock import from_seconds
from everloom.errors import StoreError
from everloom.graph.git.trees import pack_files, write_tree
from everloom.graph.results import FileVersion
from everloom.store.claims import CORNER

# The slowest step is to read a large tree; one that hangs must not hold the graph's lock for ever.
_SECONDS = 60
# For a whole history.
_LONG_SECONDS = 3_600
_CHUNK = 1 << 20
# Nothing is taken over from how the repository has packed its objects, so that the same history is the same bytes.
_PLAIN_PACK = (
    "--revs",
    "--stdout",
    "-q",
    "--threads=1",
    "--window=0",
    "--no-reuse-delta",
    "--no-reuse-object",
    "--compression=6",
)
# Another git process in the same repository holds its lock only briefly: these tries span one second.
_TRIES = 5
PAUSE_SECONDS = 0.1
# Up to so many files are objects of their own, named as arguments of one command; more are packed.
_MANY = 200
_MOST_CONFLICTS = 127
_NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
_NAME, _EMAIL = "everloom", "everloom@localhost"
_FILE_MODE, _GONE_MODE = "100644", "0"
# Operations of the person that a commit must not fall into; each leaves such a file in the repository.
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
# The command line is stronger than every file of the repository, included ones as well. Most of these settings concern
# commands that are never called here; they are set because a later version of git may read them earlier.
_NEUTRAL = (
    "core.quotepath=false",
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    f"core.attributesFile={os.devnull}",
    "core.pager=cat",
    "core.editor=true",
    "core.askPass=",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=true",
    "credential.helper=",
    "diff.external=",
    "commit.gpgSign=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
# What a program needs to run at all and to find the person's own settings. Everything else stays here: keys of
# providers, our own secrets, and variables that would lead git to another repository or program.
_PASSED = ("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE")
# One commit: hash, time, author and subject; a sign before each that no name contains.
_FORM = "%x1e%H%x1f%ct%x1f%an%x1f%s"
_IDENTITY = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")


class Git:
    """The git repository in one directory, if there is one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity: dict[str, str] | None = None
        self._neutral: tuple[str, ...] = _NEUTRAL

    @property
    def is_repository(self) -> bool:
        """Check whether the directory itself is a repository; a directory inside another repository is not."""
        return (self._root / ".git").exists()

    @property
    def has_commits(self) -> bool:
        """Check whether the directory has a history, and git is there to read it."""
        return self.is_repository and _has_git() and bool(self._run("for-each-ref", "--count=1", fails=True))

    @property
    def is_unreadable(self) -> bool:
        """Check whether the directory is a repository, and there is no git to read it."""
        return self.is_repository and not _has_git()

    def begin(self) -> str | None:
        """Make the directory a repository, unless it is one; returns what went wrong, or None."""
        if self.is_repository:
            return None
        if not _has_git():
            return "no history: git is not installed"
        try:
            # Without a template, which could bring hooks along.
            self._run("init", "-q", "--template=", "--initial-branch=main")
            # Written because the tree is named in the variables; a directory that is moved must take it along.
            self._run("config", "--unset", "core.worktree", fails=True)
        except (subprocess.SubprocessError, OSError, _GitRefused) as error:
            return f"no history: {str(error).strip()[:300]}"
        return None

    def bundle(self, put: Callable[[bytes], None]) -> str | None:
        """Write all branches and tags with their whole history as a bundle; returns the current branch, None if empty.

        The same history is the same bytes, however the repository has packed its objects.
        """
        if not self.has_commits:
            return None
        try:
            return self._bundle(put)
        except (subprocess.SubprocessError, OSError, _GitRefused) as error:
            hint = "`git fsck` there tells more"
            raise StoreError(
                f"cannot read the history of {self._root}: {str(error).strip()[:300]}", hint=hint
            ) from error

    def _bundle(self, put: Callable[[bytes], None]) -> str:
        branch = self._run("symbolic-ref", "-q", "HEAD", fails=True).strip() or "refs/heads/main"
        refs = sorted(self._run("for-each-ref", "--format=%(objectname) %(refname)").splitlines(), key=_ref_name)
        # So that whoever clones the bundle gets the files, too.
        if head := self._run("rev-parse", "-q", "--verify", "HEAD", fails=True).strip():
            refs.append(f"{head} HEAD")
        # Longer hashes need the newer form of a bundle.
        is_long = len(refs[0].split(" ", 1)[0]) > 40
        put(b"# v3 git bundle\n@object-format=sha256\n" if is_long else b"# v2 git bundle\n")
        put("".join(f"{line}\n" for line in refs).encode("utf-8", "surrogateescape") + b"\n")
        tips = "".join(f"{line.split(' ', 1)[0]}\n" for line in refs)
        self._pipe(("pack-objects", *_PLAIN_PACK), tips.encode(), put)
        return branch

    def unbundle(self, bundle: Path, branch: str) -> None:
        """Make the directory a repository with the history of a bundle; its files stay as they are."""
        if (problem := self.begin()) is not None:
            raise StoreError(f"the history of {self._root} was not restored: {problem}", hint="install git")
        try:
            told = self._run("bundle", "unbundle", str(bundle), seconds=_LONG_SECONDS)
            for line in told.splitlines():
                number, _, name = line.partition(" ")
                if name.startswith("refs/"):
                    self._run("update-ref", name, number)
            if branch.startswith("refs/heads/"):
                self._run("symbolic-ref", "HEAD", branch)
            if self._run("rev-parse", "-q", "--verify", "HEAD", fails=True):
                self._run("read-tree", "HEAD")
        except (subprocess.SubprocessError, OSError, _GitRefused) as error:
            raise StoreError(f"the history of {self._root} was not restored: {str(error).strip()[:300]}") from error

    def _pipe(self, arguments: Sequence[str], text: bytes, put: Callable[[bytes], None]) -> None:
        """Run git, and pass its output on as it comes."""
        settings = [part for each in self._neutral for part in ("-c", each)]
        with subprocess.Popen(
            [shutil.which("git") or "git", "--no-pager", *settings, *arguments],
            cwd=self._root,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            running.stdin.write(text)
            running.stdin.close()
            while chunk := running.stdout.read(_CHUNK):
                put(chunk)
        if running.returncode:
            raise StoreError(f"git cannot pack the history of {self._root}", hint="`git fsck` there tells more")

    def commit(self, paths: Sequence[str], message: str, at: datetime | None = None) -> str | None:
        """Commit only these files, as of a time, by default now; returns what went wrong, or None."""
        if not self.is_repository:
            return None
        if not _has_git():
            return "not committed: git is not installed"
        try:
            self._commit(list(dict.fromkeys(paths)), message, at)
        except (subprocess.SubprocessError, OSError, _GitRefused) as error:
            return f"not committed: {str(error).strip()[:300]}"
        return None

    def has_file(self, path: str) -> bool:
        """Check whether the newest commit has a file of this name."""
        try:
            return _has_git() and bool(self._run("ls-tree", "--name-only", "HEAD", "--", path, fails=True).strip())
        except (subprocess.SubprocessError, OSError):
            return False

    @property
    def root(self) -> Path:
        """Return the directory."""
        return self._root

    def attempt(self, act: Callable[[], None]) -> str | None:
        """Do something with git; returns what went wrong, or None."""
        if not self.is_repository or not _has_git():
            return None
        try:
            act()
        except (subprocess.SubprocessError, OSError, _GitRefused) as error:
            return str(error).strip()[:300]
        return None

    def set_value(self, name: str, value: str) -> None:
        """Set a value in the settings of this clone; fail if other settings are stronger."""
        if self._value(name) == value:
            return
        if self.path_of("config").is_symlink():
            raise _GitRefused("its settings are a link to another file")
        self._run("config", "--local", "--replace-all", name, value)
        if self._value(name) != value:
            raise _GitRefused(f"{name} is set in another file, too")

    def _value(self, name: str) -> str:
        return self._run("config", "--get", name, fails=True).removesuffix("\n")

    def path_of(self, name: str) -> Path:
        """Return where a file of the repository's settings is."""
        return self._root / self._run("rev-parse", "--git-path", name).removesuffix("\n")

    def history(self, path: str, limit: int, *, within: int) -> tuple[FileVersion, ...]:
        """List the commits that changed a file, newest first, sought among so many of the newest ones."""
        if not self.is_repository or not _has_git():
            return ()
        try:
            before = self._run("rev-list", f"--skip={within}", "--max-count=1", "HEAD", fails=True).split()
            asked = ("--follow", "--name-only", "--no-show-signature", f"--max-count={limit}", f"--format={_FORM}")
            bounds = ("HEAD", *(f"^{each}" for each in before))
            told = self._run("log", *asked, *bounds, "--", path, fails=True)
        except (subprocess.SubprocessError, OSError):
            return ()
        return tuple(_version_from(each) for each in told.split("\x1e")[1:])

    def text_at(self, commit: str, path: str) -> str | None:
        """Read a file as it was in a commit; None if it was not there."""
        try:
            # `cat-file` shows the bytes as they are, without any filter.
            return _readable(self._run("cat-file", "blob", f"{commit}:{path}"))
        except (subprocess.SubprocessError, OSError, _GitRefused):
            return None

    def _commit(self, paths: Sequence[str], message: str, at: datetime | None) -> None:
        self._neutral = (*_NEUTRAL, *self._without_filters())
        asked = [part for name in _UNDER_WAY for part in ("--git-path", name)]
        form, *marks = self._run("rev-parse", "--show-object-format", *asked).splitlines()
        if found := next((mark for mark in marks if (self._root / mark).exists()), None):
            raise _GitRefused(f"{found} shows that a merge or the like is under way")
        nothing = "0" * (64 if form == "sha256" else 40)
        blobs = self._blobs(paths)
        entries = "".join(
            f"{_GONE_MODE} {nothing}\t{path}\0" if blob is None else f"{_FILE_MODE} {blob}\t{path}\0"
            for path, blob in blobs.items()
        )
        for attempt in range(_TRIES):
            head, before = self._run("rev-parse", "HEAD^{commit}", "HEAD^{tree}", fails=True).split() or ("", "")
            tree = write_tree(self._run, head, form, blobs)
            # The index comes first: if it is locked, nothing is committed. The person's own changes in it stay.
            self._run("update-index", "-z", "--index-info", text=entries)
            if tree == before:
                return
            parent = ("-p", head) if head else ()
            said, dates = f"{message}\n", _dates(at)
            done = self._run("commit-tree", "--no-gpg-sign", *parent, "-F", "-", tree, text=said, more=dates).strip()
            try:
                self._run("update-ref", "-m", f"commit: {message}", "HEAD", done, head or nothing)
                return
            except _GitRefused:
                # Somebody else committed in between, and their commit must be the parent of ours.
                if attempt == _TRIES - 1:
                    raise

    def _without_filters(self) -> list[str]:
        """Return settings that turn off every filter that any settings define."""
        # Even writing the index runs them: git compares files again that changed in the second it was written.
        found = self._run("config", "-z", "--name-only", "--get-regexp", r"^filter\.", fails=True).split("\0")
        names = {name.removeprefix("filter.").rpartition(".")[0] for name in found if name}
        if odd := next((name for name in names if "=" in name or "\n" in name), None):
            raise _GitRefused(f"the filter {odd!r} has a name that cannot be turned off")
        parts = ("clean=", "smudge=", "process=", "required=false")
        return [f"filter.{name}.{part}" for name in sorted(names) for part in parts]

    def _blobs(self, paths: Sequence[str]) -> dict[str, str | None]:
        """Write the files as objects, byte for byte, and return their hashes; None for one that is gone."""
        there = [path for path in paths if (self._root / path).is_file() and not (self._root / path).is_symlink()]
        found: dict[str, str | None] = {path: None for path in paths if not os.path.lexists(self._root / path)}
        if len(there) > _MANY:
            marks = self._root / CORNER / f"{uuid4().hex}.marks"
            try:
                return {**found, **pack_files(self._run, self._root, there, marks)}
            finally:
                marks.unlink(missing_ok=True)
        if there:
            hashes = self._run("hash-object", "-w", "--no-filters", "--", *there).split()
            found |= zip(there, hashes, strict=True)
        return found

    def _as_somebody(self) -> Mapping[str, str]:
        """Return the author as variables, but only if the person has not configured one."""
        if self._identity is None:
            self._identity = {}
            if not self._run("var", "GIT_COMMITTER_IDENT", fails=True):
                self._identity = {name: _NAME if name.endswith("NAME") else _EMAIL for name in _IDENTITY}
        return self._identity

    def _environment(self) -> dict[str, str]:
        """Choose the variables that git sees."""
        known = {name: os.environ[name] for name in (*_PASSED, *_IDENTITY) if name in os.environ}
        return {
            **known,
            # Named, because the repository's own settings may say that its files are somewhere else.
            "GIT_DIR": str(self._root / ".git"),
            "GIT_WORK_TREE": str(self._root),
            "GIT_CONFIG_NOSYSTEM": "1",
            # No prompt may wait for a person, no object may be fetched, messages must be in English to be recognised,
            # and a file name that contains a star or a bracket must not be read as a pattern.
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_PAGER": "cat",
            "LC_ALL": "C",
            "GIT_LITERAL_PATHSPECS": "1",
        }

    def _run(
        self,
        *arguments: str,
        text: str = "",
        more: Mapping[str, str] | None = None,
        fails: bool = False,
        seconds: float = _SECONDS,
    ) -> str:
        """Run git; if another process holds the lock on its index, wait and try again. `fails`: failing says no."""
        settings = [part for each in self._neutral for part in ("-c", each)]
        author = self._as_somebody() if arguments[0] in ("commit-tree", "update-ref") else {}
        for attempt in range(_TRIES):
            done = subprocess.run(
                [shutil.which("git") or "git", "--no-pager", *settings, *arguments],
                cwd=self._root,
                env={**self._environment(), **author, **(more or {})},
                input=text.encode("utf-8", "surrogateescape"),
                capture_output=True,
                timeout=seconds,
                check=False,
            )
            if done.returncode == 0:
                return done.stdout.decode("utf-8", "surrogateescape")
            said = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace")
            if "index.lock" not in said or attempt == _TRIES - 1:
                if fails:
                    return ""
                raise _GitRefused(said or f"git exited with status {done.returncode}")
            time.sleep(PAUSE_SECONDS * (attempt + 1))
        raise _GitRefused("git is busy")


def merge_lines(ours: Path, base: Path, theirs: Path, marker: int) -> tuple[bytes, bool]:
    """Merge three versions of a file line by line; returns the result, and whether it is free of conflicts."""
    if not _has_git():
        raise StoreError("git is not installed", hint="install git")
    names = ("-L", "ours", "-L", "base", "-L", "theirs")
    done = subprocess.run(
        [shutil.which("git") or "git", "merge-file", "-p", f"--marker-size={marker}", *names, ours, base, theirs],
        # In no repository and with nobody's settings: the files are all that it needs.
        env={"PATH": os.environ.get("PATH", ""), "GIT_DIR": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **_NO_SETTINGS},
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    # The status is the number of conflicts; a negative one, which arrives as a large number, is an error.
    if done.returncode > _MOST_CONFLICTS:
        raise StoreError("git cannot merge the lines", hint=done.stderr.decode("utf-8", "replace").strip()[:200])
    return done.stdout, done.returncode == 0


def _has_git() -> bool:
    """Check whether git is installed; one named by a relative path could be a file of the repository."""
    program = shutil.which("git")
    # A relative one comes from an entry of PATH such as ".".
    return program is not None and Path(program).is_absolute()


def _ref_name(line: str) -> str:
    return line.split(" ", 1)[1]


def _version_from(told: str) -> FileVersion:
    head, _, path = told.strip("\n").partition("\n\n")
    commit, at, author, message = _readable(head).split("\x1f", 3)
    moment = from_seconds(int(at))
    return FileVersion(commit=commit, at=moment, author=author, message=message, path=path)


def _readable(text: str) -> str:
    """Replace the halves of surrogate pairs that stand for bytes that are no text."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _dates(at: datetime | None) -> dict[str, str]:
    """Return the time of a commit as variables."""
    moment = None if at is None else f"{int(at.timestamp())} +0000"
    return {} if moment is None else {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}


class _GitRefused(Exception):
    """A git command that failed, with its message."""
