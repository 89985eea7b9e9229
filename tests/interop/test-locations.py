# SPDX-License-Identifier: Apache-2.0
"""A location names an object byte for byte.  The public package takes it for a URL and reads another
object, or none, where it holds what URLs decode; each difference is stated here.

Containers are folders, and buckets where with-server runs a server."""

import os
import pathlib

import icechunk

import operations as ops
import peer
import repositories

# Name of an object, and what the package makes of it: the object that it asks for.
NAMES = {
    "plain": "plain",
    "c#1": "c",
    "q?x": "q",
    "a%20b": "a b",
    "p%2523": "p%23",
    "a b": "a b",
    "a+b": "a+b",
    "é": "é",
}
DECOYS = ("c", "q", "p%23")
SIZE = 16


def content(name):
    return name.encode().ljust(SIZE)


class Locations(peer.Case):
    def make(self, container, put):
        """A repository of one array whose chunks are the objects; each holds its own name."""
        for name in {*NAMES, *DECOYS}:
            put(name, content(name))
        config = icechunk.RepositoryConfig.default()
        config.set_virtual_chunk_container(container)
        url = self.folder / "repository"
        icechunk.Repository.create(icechunk.local_filesystem_storage(str(url)), config)
        peer.apply(
            url, "names",
            {"op": "put", "key": "zarr.json", "json": ops.GROUP},
            {"op": "put", "key": "a/zarr.json", "json": ops.array([len(NAMES)], [1])},
            {"op": "set_refs", "array": "/a", "refs": [
                {"index": [i], "location": container.url_prefix + name, "offset": 0,
                 "length": SIZE} for i, name in enumerate(NAMES)]})
        return url

    def compare(self, url, prefix, credential, allow):
        repository = peer.open_repository(
            url, authorize_virtual_chunk_access=icechunk.containers_credentials(
                {prefix: credential}))
        session = repository.readonly_session("main")
        self.assertEqual([ref["location"] for ref in peer.run_lines(
            "repo", "refs", url, "/a", "--jsonl")], [prefix + name for name in NAMES])
        for i, (name, other) in enumerate(NAMES.items()):
            with self.subTest(name=name):
                got = peer.run("repo", "cat", url, f"a/c/{i}", "--allow", prefix + allow)
                self.assertEqual(got, content(name))
                self.assertEqual(repositories.get(session, f"a/c/{i}"), content(other))

    def test_files(self):
        folder = self.folder / "objects"
        folder.mkdir()
        prefix = f"file://{folder}/"
        url = self.make(peer.container(prefix)[0],
                        lambda name, data: (folder / name).write_bytes(data))
        self.compare(url, prefix, None, "")

    def test_bucket(self):
        if "SERVER_FOLDER" not in os.environ:
            self.skipTest("no server (with-server s3)")
        prefix = "s3://bucket/objects/"
        folder = pathlib.Path(os.environ["SERVER_FOLDER"], "bucket", "objects")
        folder.mkdir(exist_ok=True)
        store = icechunk.s3_store(region="us-east-1", endpoint_url=os.environ["AWS_ENDPOINT_URL"],
                                  allow_http=True, force_path_style=True)
        url = self.make(icechunk.VirtualChunkContainer(prefix, store),
                        lambda name, data: (folder / name).write_bytes(data))
        self.compare(url, prefix, icechunk.s3_from_env_credentials(), "=env")


if __name__ == "__main__":
    peer.main()
