"""Writes the trees and blobs of a commit: what it costs follows the files that changed and their folders.

Knows how git words its objects, and runs git through what it is given. Refuses to know repositories, commits and
branches: `git.py` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

# Runs git and returns what it prints.
Run = Callable[..., str]

_TREE = "040000 tree"
# Up to so many entries of a folder are looked for one by one.
_FEW = 20
# What goes through one process at once.
_MOST_FILES, _MOST_BYTES = 10_000, 32_000_000


def write_tree(run: Run, head: str, form: str, blobs: Mapping[str, str | None]) -> str:
    """Write the tree of a commit in which these files are changed or, without a blob, gone; returns its hash.

    Only the folders of these files are read and written: an index of the whole tree would cost as much as the whole.
    `form` is how the repository names its objects. One process writes all folders, as starting one takes longer than
    the writing: each is an entry of the one around it, and so its hash is computed here.
    """
    folders: dict[str, dict[str, str | None]] = {"": {}}
    texts: list[str] = []
    hashes: list[str] = []
    for path, blob in blobs.items():
        folder, _, name = path.rpartition("/")
        _entries_of(folders, folder)[name] = None if blob is None else f"100644 blob {blob}"
    listings = _listings(run, head, folders)
    for folder in sorted(folders, key=_depth, reverse=True):
        listing = _with_entries(listings[folder], folders[folder])
        if listing or not folder:
            texts.append(listing)
            hashes.append(_hash_of(listing, form))
        if folder:
            around, _, name = folder.rpartition("/")
            folders[around][name] = f"{_TREE} {hashes[-1]}" if listing else None
    # `--missing`: the other entries come from a tree that is there, and looking each of them up would cost the most. It
    # brings the entries into order.
    several = ["--batch"] if len(texts) > 1 else []
    made = run("mktree", "-z", "--missing", *several, text="\0".join(texts)).split()
    if made != hashes:
        raise OSError("git made another tree of these files than was computed")
    return made[-1]


def _hash_of(listing: str, form: str) -> str:
    """Compute the hash that git gives to a tree with these entries."""
    entries = []
    for line in listing.split("\0")[:-1]:
        head, _, name = line.partition("\t")
        mode, kind, digest = head.split(" ")
        raw = name.encode("utf-8", "surrogateescape")
        entries.append(
            (raw + b"/" * (kind == "tree"), b"%b %b\0" % (mode.lstrip("0").encode(), raw) + bytes.fromhex(digest))
        )
    content = b"".join(entry for _, entry in sorted(entries))
    return hashlib.new(form, b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _depth(folder: str) -> int:
    return folder.count("/") if folder else -1


def _entries_of(folders: dict[str, dict[str, str | None]], folder: str) -> dict[str, str | None]:
    """Find the changes of a folder; the folders around it change with it."""
    if folder not in folders:
        folders[folder] = {}
        _entries_of(folders, folder.rpartition("/")[0])
    return folders[folder]


def _listings(run: Run, head: str, folders: Mapping[str, object]) -> dict[str, str]:
    """Read the entries of folders as they are in a commit; one that is not there has none."""
    found: dict[str, str] = {}
    for folder in sorted(folders, key=_depth):
        around, _, name = folder.rpartition("/")
        # One that the folder around it names must be readable: taken for empty, its files would be gone.
        is_there = bool(head) if not folder else _entry_in(found[around], name).startswith(_TREE)
        found[folder] = run("ls-tree", "-z", f"{head}:{folder}") if is_there else ""
    return found


def _with_entries(listing: str, changes: Mapping[str, str | None]) -> str:
    """Replace, add or remove entries of a listing."""
    added = "".join(f"{entry}\t{name}\0" for name, entry in changes.items() if entry is not None)
    if len(changes) > _FEW:
        lines = (line for line in listing.split("\0")[:-1] if line.partition("\t")[2] not in changes)
        return "".join(f"{line}\0" for line in lines) + added
    # Without taking all of it apart: a folder may have many thousands.
    for name in changes:
        start, end = _place_in(listing, name)
        listing = listing[:start] + listing[end:]
    return listing + added


def _entry_in(listing: str, name: str) -> str:
    """Find the mode, kind and hash of a name in a listing; nothing if it is not there."""
    start, end = _place_in(listing, name)
    return listing[start:end].partition("\t")[0]


def _place_in(listing: str, name: str) -> tuple[int, int]:
    """Find where the line of a name begins and ends; nowhere if it is not there."""
    wanted = f"\t{name}\0"
    at = listing.find(wanted)
    while at >= 0:
        start = listing.rfind("\0", 0, at) + 1
        # The end of a longer name with a tab in it may look the same.
        if "\t" not in listing[start:at]:
            return start, at + len(wanted)
        at = listing.find(wanted, at + 1)
    return 0, 0


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
