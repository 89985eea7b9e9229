# SPDX-License-Identifier: Apache-2.0
"""Repositories written by `refmt repo init` and `apply`, opened by the public icechunk package."""

import base64
import datetime
import json
import os

import icechunk
import numpy as np
import zarr

import peer
import repositories

GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {"title": "häusliche Welt"}}


def array(shape, chunks, data_type="float64", names=None, **more):
    document = {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {}, **more}
    if names:
        document["dimension_names"] = names
    return document


def put(key, document):
    return {"op": "put", "key": key, "json": document}


def put_chunk(key, values):
    return {"op": "put", "key": key, "base64": base64.b64encode(values.tobytes()).decode()}


class WriteRepositories(peer.Case):
    def initialized(self, spec):
        url = self.folder / f"spec-{spec}"
        configuration = self.folder / "config.json"
        configuration.write_text(json.dumps({
            "inline_chunk_threshold_bytes": 64,
            "virtual_chunk_containers": {repositories.PREFIX: {
                "url_prefix": repositories.PREFIX, "name": None,
                "store": {"s3": {"region": "us-east-1", "endpoint_url": None, "anonymous": True,
                                 "allow_http": False, "force_path_style": False}}}},
            "manifest": {"splitting": {"split_sizes": [
                [{"name_matches": {"regex": "split"}}, [{"condition": {"Axis": 0},
                                                         "num_chunks": 2}]]]}},
        }))
        peer.run("repo", "init", url, "--spec", spec, "--config", configuration)
        return url

    def test_written_here(self):
        for spec in (1, 2):
            with self.subTest(spec=spec):
                self.write_and_compare(spec)

    def write_and_compare(self, spec):
        url = self.initialized(spec)
        values = np.arange(24.0).reshape(6, 4)
        big = np.random.default_rng(2).normal(size=(10, 40))
        references = list(repositories.expected_virtual_refs())
        first = peer.apply(
            url, "everything",
            put("zarr.json", GROUP),
            put("split/zarr.json", array([6, 4], [1, 4], names=["y", "x"])),
            *(put_chunk(f"split/c/{i}/0", values[i]) for i in range(6)),
            put("deep/zarr.json", GROUP),
            put("deep/native/zarr.json", array([10, 40], [10, 40])),
            put_chunk("deep/native/c/0/0", big),
            put("scalar/zarr.json", array([], [], "int32")),
            put_chunk("scalar/c", np.array(7, "i4")),
            put("virtual/zarr.json", array([len(references)], [1])),
            {"op": "set_refs", "array": "/virtual", "refs": [
                {key: value for key, value in reference.items()
                 if key != "kind" and value is not None} for reference in references]},
        )
        second = peer.apply(
            url, "change",
            {"op": "resize", "array": "/split", "shape": [5, 4]},
            {"op": "delete", "key": "split/c/1/0"},
            {"op": "delete", "path": "/scalar"},
            put_chunk("split/c/2/0", -values[2]))
        peer.run("repo", "tag", "create", url, "v1", "--at", first)
        peer.run("repo", "branch", "create", url, "side", "--at", first)

        repository = peer.open_repository(url)
        self.assertEqual(repository.lookup_branch("main"), second)
        self.assertEqual(repository.lookup_branch("side"), first)
        self.assertEqual(repository.lookup_tag("v1"), first)
        log = list(repository.ancestry(branch="main"))
        self.assertEqual([entry.message for entry in log[:2]], ["change", "everything"])
        self.assertEqual([entry.parent_id for entry in log], [*(e.id for e in log[1:]), None])

        session = repository.readonly_session(tag="v1")
        root = zarr.open_group(session.store, mode="r")
        self.assertEqual(dict(root.attrs), GROUP["attributes"])
        np.testing.assert_array_equal(root["split"][:], values)
        np.testing.assert_array_equal(root["deep/native"][:], big)
        self.assertEqual(root["scalar"][()], 7)
        self.assertEqual(session.chunk_type("/deep/native", [0, 0]), icechunk.ChunkType.native)
        self.assertEqual(session.chunk_type("/split", [0, 0]), icechunk.ChunkType.inline)
        self.assertEqual(repositories.coordinates(session, "/virtual"),
                         [tuple(reference["index"]) for reference in references])
        self.assertEqual(sorted(session.all_virtual_chunk_locations()),
                         sorted(reference["location"] for reference in references))

        values = values[:5].copy()
        values[1] = 0
        values[2] *= -1
        session = repository.readonly_session("main")
        root = zarr.open_group(session.store, mode="r")
        np.testing.assert_array_equal(root["split"][:], values)
        self.assertNotIn("scalar", root)
        self.assertEqual(len(self.node(repository, session, "/split")["manifest_refs"]), 3)
        self.extend(url, repository, values)

    def node(self, repository, session, path):
        snapshot = repository.inspect_snapshot(session.snapshot_id)
        snapshot = json.loads(snapshot) if isinstance(snapshot, str) else snapshot
        return next(node for node in snapshot["nodes"] if node["path"] == path)

    def extend(self, url, repository, values):
        """The package commits on top of ours, and we on top of that."""
        session = repository.writable_session("main")
        zarr.open_array(session.store, path="split")[4] = 44
        theirs = session.commit("theirs")
        ours = peer.apply(url, "ours", put_chunk("split/c/3/0", np.full(4, 33.0)))

        values[4] = 44
        values[3] = 33
        self.assertEqual([entry["id"] for entry in peer.run_json("repo", "log", url)][:2],
                         [ours, theirs])
        repository = peer.open_repository(url)
        session = repository.readonly_session("main")
        np.testing.assert_array_equal(zarr.open_array(session.store, path="split", mode="r")[:],
                                      values)
        repository.garbage_collect(repositories.CHECKED_AT)
        self.assertEqual(repository.lookup_branch("main"), ours)

    def test_dictionary_kept(self):
        """Few references added to many: the old locations are copied as they were stored."""
        url = self.initialized(2)
        refs = [{"index": [i], "location": f"{repositories.PREFIX}{i * 7:05}/name.f{i % 49:02}.grib2",
                 "offset": i, "length": 5} for i in range(1600)]
        peer.apply(url, "many", put("zarr.json", GROUP),
                   put("virtual/zarr.json", array([2000], [1])),
                   {"op": "set_refs", "array": "/virtual", "refs": refs[:1500]})
        peer.apply(url, "few", {"op": "set_refs", "array": "/virtual", "refs": refs[1500:]})
        session = peer.open_repository(url).readonly_session("main")
        self.assertEqual(sorted(session.all_virtual_chunk_locations()),
                         sorted(ref["location"] for ref in refs))

    def test_outcomes_stay(self):
        """What writers note beside a repository is no garbage to either library."""
        url = self.initialized(2)
        note = url / "_refmt" / "outcomes" / "2025-01-02T00:00:00" / "0-1-1.jsonl.zst"
        note.parent.mkdir(parents=True)
        note.write_bytes(b"noted")
        os.utime(note, (0, 0))
        peer.apply(url, "one", put("zarr.json", GROUP), put("a/zarr.json", array([2], [1])))
        peer.run("repo", "verify", url)
        peer.run("repo", "gc", url, "--older-than", "0s")
        self.assertEqual(note.read_bytes(), b"noted")
        peer.open_repository(url).garbage_collect(datetime.datetime.now(datetime.timezone.utc))
        self.assertEqual(note.read_bytes(), b"noted")
        peer.run("repo", "verify", url)

    def test_move(self):
        url = self.initialized(2)
        peer.apply(url, "one", put("zarr.json", GROUP), put("a/zarr.json", array([2], [1])),
                   put_chunk("a/c/1", np.array([5.0])))
        peer.apply(url, "two", {"op": "move", "path": "/a", "to": "/b"})
        session = peer.open_repository(url).readonly_session("main")
        self.assertEqual(sorted(zarr.open_group(session.store, mode="r")), ["b"])
        np.testing.assert_array_equal(zarr.open_array(session.store, path="b", mode="r")[:], [0, 5])


if __name__ == "__main__":
    peer.main()
