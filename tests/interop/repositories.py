# SPDX-License-Identifier: Apache-2.0
"""Repositories that the public icechunk package makes, and what it says about them."""

import asyncio
import datetime
import json

import icechunk
import numpy as np
import zarr
from zarr.core.buffer import default_buffer_prototype

PREFIX = "s3://example-bucket/data/"
N_VIRTUAL = 2500  # enough for the package to compress the locations with a dictionary
CHECKED_AT = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)


def virtual_specs():
    """References of every form: with an ETag, with a time, with none, and keys with odd letters."""
    odd = ["a b", "a%20b", "c#1", "q?x", "é", "a+b", "'quoted'", "//double"]
    for i in range(N_VIRTUAL):
        name = odd[i] if i < len(odd) else f"forecast/2024/{i // 100:04d}/message-{i}.grib2"
        yield icechunk.VirtualChunkSpec(
            [i], PREFIX + name, i * 1000, i + 1,
            etag_checksum=f"etag-{i}" if i % 3 == 0 else None,
            last_updated_at_checksum=CHECKED_AT if i % 3 == 1 else None)


def expected_virtual_refs():
    for spec in virtual_specs():
        yield {"index": list(spec.index), "kind": "virtual", "location": spec.location,
               "offset": spec.offset, "length": spec.length, "etag": spec.etag_checksum,
               "last_modified": int(CHECKED_AT.timestamp()) if spec.last_updated_at_checksum
               else None}


def config():
    condition = icechunk.ManifestSplitCondition
    dimension = icechunk.ManifestSplitDimCondition
    made = icechunk.RepositoryConfig.default()
    made.inline_chunk_threshold_bytes = 64
    made.set_virtual_chunk_container(icechunk.VirtualChunkContainer(
        PREFIX, icechunk.s3_store(region="us-east-1")))
    made.manifest = icechunk.ManifestConfig(
        splitting=icechunk.ManifestSplittingConfig.from_dict(
            {condition.name_matches("split"): {dimension.DimensionName("y"): 2,
                                               dimension.DimensionName("x"): 1}}))
    return made


def make(folder, spec):
    """A repository with every kind of reference, four commits, branches and tags."""
    repository = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(folder)), config(), spec_version=spec)

    session = repository.writable_session("main")
    root = zarr.create_group(session.store, attributes={"title": "häusliche Welt", "n": 1e300})
    root.create_array("scalar", shape=(), dtype="f4", compressors=None)[...] = 2.5
    root.create_array("empty", shape=(0, 3), chunks=(1, 3), dtype="i2")
    split = root.create_array("split", shape=(6, 4), chunks=(1, 2), dtype="f8",
                              dimension_names=["y", "x"])
    split[:] = np.arange(24).reshape(6, 4)
    native = root.create_group("deep/er").create_array(
        "native", shape=(30, 40), chunks=(10, 40), dtype="f8", compressors=None)
    native[:] = np.random.default_rng(1).normal(size=(30, 40))
    root.create_array("virtual", shape=(N_VIRTUAL,), chunks=(1,), dtype="f8", compressors=None)
    session.store.set_virtual_refs("virtual", list(virtual_specs()))
    first = session.commit("everything", metadata={"author": "me", "list": [1, 2.5, None]})
    repository.create_tag("v1", first)
    # Specification 1 keeps branches as folders, where the package allows no slash.
    side = "side/way é%" if spec == 2 else "side way é%"
    repository.create_branch(side, first)

    session = repository.writable_session("main")
    split = zarr.open_array(session.store, path="split")
    split[2:4] = -1
    split.resize((5, 4))
    session.commit("shrink")

    session = repository.writable_session("main")
    group = zarr.open_group(session.store)
    del group["deep/er/native"]
    group.create_array("inline", shape=(4,), chunks=(1,), dtype="i4", compressors=None)[1:3] = 7
    repository.create_tag("doomed", session.commit("delete one, add one"))
    repository.delete_tag("doomed")

    session = repository.writable_session(side)
    zarr.open_group(session.store).create_array(
        "only-here", shape=(2,), chunks=(2,), dtype="u1", compressors=None)[:] = [1, 2]
    session.commit("on another branch")
    return repository


def nodes(repository, session):
    """What `refmt repo ls` should tell of a snapshot, as far as the package tells it."""
    snapshot = repository.inspect_snapshot(session.snapshot_id)
    if isinstance(snapshot, str):
        snapshot = json.loads(snapshot)
    for node in sorted(snapshot["nodes"], key=lambda node: node["path"].encode()):
        told = {"path": node["path"], "type": node["node_type"]}
        if node["node_type"] == "array":
            document = json.loads(get(session, key_of(node["path"], "zarr.json")))
            grid = document["chunk_grid"]
            told["shape"] = document["shape"]
            told["chunk_shape"] = (grid["configuration"]["chunk_shape"]
                                   if grid["name"] == "regular" else None)
            told["data_type"] = document["data_type"]
            told["dimension_names"] = document.get("dimension_names")
            told["n_refs"] = len(coordinates(session, node["path"]))
        yield told


def key_of(path, name):
    return f"{path[1:]}/{name}" if path != "/" else name


def chunk_key(path, index):
    return key_of(path, "/".join(["c", *map(str, index)]))


def coordinates(session, path):
    """The indices of the chunks that an array has references for, sorted."""
    async def collect():
        return sorted([tuple(index) async for index in session.chunk_coordinates(path)])
    return asyncio.run(collect())


def get(session, key):
    """The bytes of a key, or None."""
    async def one():
        found = await session.store.get(key, default_buffer_prototype())
        return None if found is None else found.to_bytes()
    return asyncio.run(one())
