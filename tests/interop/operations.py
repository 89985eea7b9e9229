# SPDX-License-Identifier: Apache-2.0
"""Operations of `refmt repo apply`, done through the public icechunk package."""

import asyncio
import base64
import datetime
import json

import icechunk
from zarr.core.buffer import cpu

PREFIX = "s3://example-bucket/data/"
GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def array(shape, chunks, names=None, **attributes):
    document = {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": attributes}
    if names is not None:
        document["dimension_names"] = names
    return document


def text_of(document):
    """The bytes that `refmt` stores for a document given as "json": those of the line."""
    return json.dumps(document)


def config(splitting, compressed):
    """The stored configuration, as JSON: every axis of it matters to what is written."""
    made = {"inline_chunk_threshold_bytes": 8,
            "virtual_chunk_containers": {PREFIX: {
                "name": "data", "url_prefix": PREFIX,
                "store": {"s3": {"region": "us-east-1", "anonymous": True, "allow_http": False}}}},
            "manifest": {"virtual_chunk_location_compression": {
                "min_num_chunks": 3 if compressed else 60000}}}
    if splitting:
        made["manifest"]["splitting"] = {"split_sizes": splitting}
    return made


SPLITTINGS = {
    "none": None,
    "dimension": [["any_array", [{"condition": {"DimensionName": "^t$"}, "num_chunks": 2},
                                 {"condition": {"Axis": 1}, "num_chunks": 1}]]],
    "regex": [[{"or": [{"path_matches": {"regex": "^/g/.*"}}, {"name_matches": {"regex": "a$"}}]},
               [{"condition": {"Axis": 0}, "num_chunks": 2},
                {"condition": "Any", "num_chunks": 3}]]],
}


def buffer(data):
    return cpu.Buffer.from_bytes(data)


def data_of(operation):
    if "json" in operation:
        return text_of(operation["json"]).encode()
    if "text" in operation:
        return operation["text"].encode()
    return base64.b64decode(operation["base64"])


def spec_of(ref):
    modified = ref.get("last_modified")
    return icechunk.VirtualChunkSpec(
        ref["index"], ref["location"], ref["offset"], ref["length"],
        etag_checksum=ref.get("etag"),
        last_updated_at_checksum=datetime.datetime.fromtimestamp(
            modified, datetime.timezone.utc) if modified else None)


class Writer:
    """One session; what it does is what apply does with the same lines."""

    def __init__(self, repository, branch="main", moves=False):
        self.session = (repository.rearrange_session(branch) if moves
                        else repository.writable_session(branch))

    async def documents(self):
        return {key: None async for key in self.session.store.list()}

    async def one(self, operation):
        store, kind = self.session.store, operation["op"]
        if kind == "put":
            await store.set(operation["key"], buffer(data_of(operation)))
        elif kind == "set_refs":
            failed = await store.set_virtual_refs_async(
                operation["array"][1:], [spec_of(ref) for ref in operation["refs"]],
                validate_containers=True)
            assert not failed, failed
        elif kind == "delete" and "key" in operation:
            await store.delete(operation["key"])
        elif kind == "delete":
            path = operation["path"]
            await store.delete("zarr.json" if path == "/" else f"{path[1:]}/zarr.json")
        elif kind == "resize":
            key = f"{operation['array'][1:]}/zarr.json"
            document = (await store.get(key, cpu.buffer_prototype)).to_bytes()
            await store.set(key, buffer(resized(document, operation["shape"])))
        elif kind == "move":
            self.session.move(operation["path"], operation["to"])
        else:
            raise AssertionError(operation)

    async def _apply(self, operations):
        for operation in operations:
            await self.one(operation)

    def apply(self, operations):
        asyncio.run(self._apply(operations))

    def commit(self, message, **options):
        return self.session.commit(message, **options)


def resized(document, shape):
    """The document with another shape; every other byte stays, as apply does it."""
    old = json.dumps(json.loads(document)["shape"]).encode()
    compact = json.dumps(shape, separators=(",", ":")).encode()
    marker = b'"shape": '
    for candidate in (old, old.replace(b" ", b"")):
        if marker + candidate in document:
            return document.replace(marker + candidate, marker + compact, 1)
    raise AssertionError(document)


def apply(repository, message, operations, branch="main"):
    moves = any(operation["op"] == "move" for operation in operations)
    writer = Writer(repository, branch, moves)
    writer.apply(operations)
    return writer.commit(message, rebase_with=icechunk.ConflictDetector())
