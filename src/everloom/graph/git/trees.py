"""Writes the trees and blobs of a commit: what it costs follows the files that changed and their folders.

Knows how git words its objects, and runs git through what it is given. Refuses to know repositories, commits and
branches: `git.py` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

# Runs git and returns what it prints.
Run = Callable[..., str]

_TREE = "040000 tree"
# What goes through one process at once.
_MOST_FILES, _MOST_BYTES = 10_000, 32_000_000


def write_tree(run: Run, head: str, blobs: Mapping[str, str | None]) -> str:
    """Write the tree of a commit in which these files are changed or, without a blob, gone; returns its hash.

    Only the folders of these files are read and written: an index of the whole tree would cost as much as the whole.
    """
    folders: dict[str, dict[str, str | None]] = {"": {}}
    for path, blob in blobs.items():
        folder, _, name = path.rpartition("/")
        _entries_of(folders, folder)[name] = None if blob is None else f"100644 blob {blob}"
    listings = _listings(run, head, folders)
    # From the innermost folder outwards, as each is an entry of the one around it.
    for folder in sorted(folders, key=lambda each: each.count("/") if each else -1, reverse=True):
        whole = {**listings[folder], **folders[folder]}
        lines = [f"{entry}\t{name}\0" for name, entry in whole.items() if entry is not None]
        if not folder:
            return _made(run, lines)
        around, _, name = folder.rpartition("/")
        folders[around][name] = f"{_TREE} {_made(run, lines)}" if lines else None
    raise AssertionError("the root is the last folder")


def _entries_of(folders: dict[str, dict[str, str | None]], folder: str) -> dict[str, str | None]:
    """Find the changes of a folder; the folders around it change with it."""
    if folder not in folders:
        folders[folder] = {}
        _entries_of(folders, folder.rpartition("/")[0])
    return folders[folder]


def _made(run: Run, lines: Sequence[str]) -> str:
    # `--missing`: the other entries come from a tree that is there, and looking each of them up would cost the most.
    return run("mktree", "-z", "--missing", text="".join(lines)).strip()


def _listings(run: Run, head: str, folders: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """Read the entries of folders as they are in a commit; one that is not there has none."""
    found: dict[str, dict[str, str]] = {}
    for folder in sorted(folders, key=lambda each: each.count("/") if each else -1):
        around, _, name = folder.rpartition("/")
        # One that the folder around it names must be readable: taken for empty, its files would be gone.
        is_there = bool(head) if not folder else found[around].get(name, "").startswith(_TREE)
        found[folder] = dict(_entries(run("ls-tree", "-z", f"{head}:{folder}"))) if is_there else {}
    return found


def _entries(told: str) -> Iterator[tuple[str, str]]:
    for line in told.split("\0")[:-1]:
        entry, _, name = line.partition("\t")
        yield name, entry


def pack_files(run: Run, root: Path, paths: Sequence[str], marks: Path) -> dict[str, str]:
    """Write many files as blobs, byte for byte, into a few packs instead of a file for each; returns their hashes."""
    found: dict[str, str] = {}
    for batch in _batches(root, paths):
        text = b"".join(
            b"blob\nmark :%d\ndata %d\n%b\n" % (number, len(data), data)
            for number, data in enumerate(batch.values(), 1)
        )
        run("fast-import", "--quiet", f"--export-marks={marks}", text=text.decode("utf-8", "surrogateescape"))
        hashes = dict(line.split(" ") for line in marks.read_text().splitlines())
        found |= {path: hashes[f":{number}"] for number, path in enumerate(batch, 1)}
    return found


def _batches(root: Path, paths: Sequence[str]) -> Iterator[dict[str, bytes]]:
    batch: dict[str, bytes] = {}
    size = 0
    for path in paths:
        batch[path] = (root / path).read_bytes()
        size += len(batch[path])
        if len(batch) >= _MOST_FILES or size >= _MOST_BYTES:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch
