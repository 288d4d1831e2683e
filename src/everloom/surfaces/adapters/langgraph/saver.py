"""Checkpoints of LangGraph's threads as records: the state, the values of its channels, and pending writes.

A thread is everything whose namespace begins with its id. What is kept is bytes that only LangGraph's serializer reads.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from everloom.kernel.records import ProgramRecord, RecordReader, Records, RecordWriter
from everloom.surfaces.adapters.local import in_thread, missing, opened
from everloom.workspace import Workspace

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
except ModuleNotFoundError as error:
    raise missing("langgraph", error) from error

_CHECKPOINTS, _BLOBS, _WRITES = "checkpoints", "blobs", "writes"
_EMPTY = "empty"


class EverloomSaver(BaseCheckpointSaver[str]):
    """Checkpoints of LangGraph's threads, with the values of their channels and the writes that are pending."""

    def __init__(self, workspace: Workspace, *, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self._workspace = opened(workspace)

    @property
    def _records(self) -> Records:
        return self._workspace.records("langgraph.threads")

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint, or the last one of its thread."""
        thread, space = _place(config)
        with self._records.read() as reader:
            wanted = get_checkpoint_id(config)
            latest = [wanted] if wanted else reader.greatest((thread, _CHECKPOINTS, space), 1)
            return self._tuple(reader, thread, space, latest[0]) if latest else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Read checkpoints one by one, the last first."""
        return islice(self._listed(config, filter or {}, before and get_checkpoint_id(before)), limit)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint with the values that are new in it."""
        thread, space = _place(config)
        bare: dict[str, Any] = {**checkpoint}
        values = bare.pop("channel_values", {})
        known = get_checkpoint_metadata(config, metadata)
        form, data = self.serde.dumps_typed({"checkpoint": bare, "metadata": known})
        blobs = {
            _blob_key(channel, version): self.serde.dumps_typed(values[channel]) if channel in values else (_EMPTY, b"")
            for channel, version in new_versions.items()
        }
        value = {"form": form, "parent": get_checkpoint_id(config), "run": known.get("run_id")}
        with self._records.write() as writer:
            for key, (kind, content) in blobs.items():
                writer.put((thread, _BLOBS, space), key, {"form": kind}, data=content)
            writer.put((thread, _CHECKPOINTS, space), checkpoint["id"], value, data=data)
        return _config(thread, space, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after a checkpoint; what is there stays, except for errors and interrupts."""
        thread, space = _place(config)
        namespace = (thread, _WRITES, space, config["configurable"]["checkpoint_id"])
        ready = []
        for place, (channel, value) in enumerate(writes):
            at = WRITES_IDX_MAP.get(channel, place)
            form, data = self.serde.dumps_typed(value)
            told = {"task": task_id, "at": at, "path": task_path, "channel": channel, "form": form}
            ready.append((f"{task_id}:{at}", at, told, data))
        with self._records.write() as writer:
            for key, at, told, data in ready:
                if at < 0 or writer.get(namespace, key) is None:
                    writer.put(namespace, key, told, data=data)

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything about a thread."""
        with self._records.write() as writer:
            writer.drop_below((str(thread_id),))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs, and what only they needed."""
        runs = {str(each) for each in run_ids}
        with self._records.write() as writer:
            for namespace in [each for each in writer.namespaces() if each[1] == _CHECKPOINTS]:
                of_runs = {each.key for each in writer.last(namespace) if str(each.value["run"]) in runs}
                self._drop(writer, namespace, of_runs)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy everything about a thread to another one."""
        with self._records.write() as writer:
            for each in list(writer.below((str(source_thread_id),))):
                writer.put((str(target_thread_id), *each.namespace[1:]), each.key, each.value, data=each.data)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads but the last, and those that the last one is rebuilt from, or all."""
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"Unknown strategy: {strategy}")
        with self._records.write() as writer:
            for thread in map(str, thread_ids):
                if strategy == "delete":
                    writer.drop_below((thread,))
                    continue
                for namespace in writer.namespaces((thread, _CHECKPOINTS)):
                    needed = self._needed(writer, namespace)
                    self._drop(writer, namespace, {each.key for each in writer.last(namespace)} - needed)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002  LangGraph's signature
        """Return a later version; two branches of a thread never share one."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint in a thread."""
        return await in_thread(lambda: self.get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Read checkpoints one by one, each in a thread."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (each := await in_thread(lambda: next(found, None))) is not None:
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint in a thread."""
        return await in_thread(lambda: self.put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep pending writes in a thread."""
        await in_thread(lambda: self.put_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread in a thread."""
        await in_thread(lambda: self.delete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs in a thread."""
        await in_thread(lambda: self.delete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread in a thread."""
        await in_thread(lambda: self.copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete older checkpoints in a thread."""
        await in_thread(lambda: self.prune(thread_ids, strategy=strategy))

    def _listed(
        self, config: RunnableConfig | None, wanted: Mapping[str, Any], before: str | None
    ) -> Iterator[CheckpointTuple]:
        only = None if config is None else get_checkpoint_id(config)
        space = None if config is None else config["configurable"].get("checkpoint_ns")
        prefix = () if config is None else (str(config["configurable"]["thread_id"]), _CHECKPOINTS)
        with self._records.read() as reader:
            places = [
                each
                for each in reader.places(prefix)
                if each.namespace[1] == _CHECKPOINTS
                and space in (None, each.namespace[2])
                and only in (None, each.key)
                and (before is None or each.key < before)
            ]
        # One by one, so that no snapshot is held while the caller works with what it has.
        for place in sorted(places, key=lambda each: each.key, reverse=True):
            with self._records.read() as reader:
                found = self._tuple(reader, place.namespace[0], place.namespace[2], place.key)
            if found is not None and all(found.metadata.get(key) == each for key, each in wanted.items()):
                yield found

    def _tuple(self, reader: RecordReader, thread: str, space: str, checkpoint_id: str) -> CheckpointTuple | None:
        record = reader.get((thread, _CHECKPOINTS, space), checkpoint_id)
        if record is None:
            return None
        kept = self._loaded(record)
        pending = sorted(
            reader.last((thread, _WRITES, space, checkpoint_id)),
            key=lambda each: (each.value["path"], each.value["task"], each.value["at"]),
        )
        parent = record.value["parent"]
        return CheckpointTuple(
            config=_config(thread, space, checkpoint_id),
            checkpoint={
                **kept["checkpoint"],
                "channel_values": self._values(reader, thread, space, kept["checkpoint"]["channel_versions"]),
            },
            metadata=kept["metadata"],
            parent_config=_config(thread, space, parent) if parent else None,
            pending_writes=[(each.value["task"], each.value["channel"], self._loaded(each)) for each in pending],
        )

    def _values(self, reader: RecordReader, thread: str, space: str, versions: ChannelVersions) -> dict[str, Any]:
        found = {}
        for channel, version in versions.items():
            blob = reader.get((thread, _BLOBS, space), _blob_key(channel, version))
            if blob is not None and blob.value["form"] != _EMPTY:
                found[channel] = self._loaded(blob)
        return found

    def _loaded(self, record: ProgramRecord) -> Any:
        return self.serde.loads_typed((record.value["form"], record.data))

    def _needed(self, reader: RecordReader, namespace: tuple[str, ...]) -> set[str]:
        """Return the last checkpoint, and those before it from which channels that keep only changes are rebuilt."""
        thread, _, space = namespace
        keys = reader.greatest(namespace, 1)
        place: str | None = keys[0] if keys else None
        needed: set[str] = set()
        open_channels: set[str] | None = None
        while place is not None and (found := self._tuple(reader, thread, space, place)) is not None:
            needed.add(place)
            if open_channels is None:
                open_channels = set(found.metadata.get("counters_since_delta_snapshot") or ())
            open_channels -= set(found.checkpoint["channel_values"])
            parent = found.parent_config
            place = parent["configurable"]["checkpoint_id"] if parent and open_channels else None
        return needed

    def _drop(self, writer: RecordWriter, namespace: tuple[str, ...], keys: Iterable[str]) -> None:
        """Delete checkpoints of a namespace, and what only they needed."""
        thread, _, space = namespace
        gone = [*keys]
        for key in gone:
            writer.drop(namespace, key)
            writer.drop_below((thread, _WRITES, space, key))
        if not gone:
            return
        used = {
            _blob_key(channel, version)
            for each in writer.last(namespace)
            for channel, version in self._loaded(each)["checkpoint"]["channel_versions"].items()
        }
        for blob in writer.places((thread, _BLOBS, space)):
            if blob.key not in used:
                writer.drop(blob.namespace, blob.key)


def _place(config: RunnableConfig) -> tuple[str, str]:
    return str(config["configurable"]["thread_id"]), config["configurable"].get("checkpoint_ns") or ""


def _config(thread: str, space: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": checkpoint_id}}


def _blob_key(channel: str, version: str | float) -> str:
    return json.dumps([channel, version])
