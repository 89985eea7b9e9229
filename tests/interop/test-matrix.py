# SPDX-License-Identifier: Apache-2.0
"""Both libraries write one repository, alone and by turns, in every form; after each commit both
must see the same nodes, references, values and history, and the package's own checks must agree."""

import base64
import datetime
import itertools
import json
import os

import icechunk

import operations as ops
import peer
import repositories
import server

KINDS = ("inline", "native", "virtual", "mixed")
WRITERS = ("ours", "theirs", "alternating")
ALTERNATING = int(os.environ.get("REFMT_MATRIX_COMMITS", "20"))
ALONE = 3
# Each process does its share: the cells from the first number on, in steps of the second.
PART, PARTS = map(int, os.environ.get("REFMT_PART", "0/1").split("/"))
SHAPE = [8, 6]


def width_before(number):
    """Length of the axis x of /g/a that commit @number finds; see the resize in commit_of()."""
    resized = [n for n in range(1, number) if n % 5 == 3]
    return 5 + resized[-1] % 2 if resized else SHAPE[1]


def chunk(number, kind, width=SHAPE[1]):
    """One chunk of /g/a, @width chunks wide, in one of the three kinds."""
    i, j = number % SHAPE[0], number // SHAPE[0] % width
    if kind == "mixed":
        kind = KINDS[number % 3]
    if kind == "virtual":
        ref = {"index": [i, j], "location": f"{ops.PREFIX}cycle/{number:06d}.grib2",
               "offset": number, "length": number + 1}
        if number % 3 == 0:
            ref["etag"] = f'"{number}"'
        if number % 3 == 1:
            ref["last_modified"] = 1700000000 + number
        return {"op": "set_refs", "array": "/g/a", "refs": [ref]}
    size = 6 if kind == "inline" else 30
    return {"op": "put", "key": f"g/a/c/{i}/{j}", "text": f"{number:0{size}d}"}


def commit_of(number, kind):
    """The operations of one commit."""
    if number == 0:
        first = [{"op": "put", "key": "zarr.json", "json": ops.GROUP},
                 {"op": "put", "key": "g/zarr.json", "json": ops.GROUP},
                 {"op": "put", "key": "g/a/zarr.json",
                  "json": ops.array(SHAPE, [1, 1], ["t", "x"])},
                 {"op": "put", "key": "scalar/zarr.json", "json": ops.array([], [])},
                 {"op": "put", "key": "scalar/c", "text": "7"}]
        return first + [chunk(n, kind) for n in range(20)]
    made = [chunk(number * 7 + n, kind, width_before(number)) for n in range(4)]
    made.append({"op": "delete", "key": f"g/a/c/{number % SHAPE[0]}/0"})
    if number % 5 == 2:
        made.append({"op": "put", "key": f"extra-{number}/zarr.json", "json": ops.GROUP})
    if number % 5 == 3:
        made.append({"op": "resize", "array": "/g/a", "shape": [8, 5 + number % 2]})
    if number % 5 == 4 and number >= 7:
        made.append({"op": "delete", "path": f"/extra-{number - 2}"})
    return made


class Matrix(peer.Case):
    programs = ()

    def setUp(self):
        super().setUp()
        self.refmt = server.Server()
        self.addCleanup(self.refmt.close)

    def create(self, name, spec, writer, config):
        url = self.folder / name
        if writer == "theirs":
            made = icechunk.RepositoryConfig.default()
            repository = icechunk.Repository.create(
                icechunk.local_filesystem_storage(str(url)), made, spec_version=spec)
            self.refmt.run("repo", "config", "set", url, text=json.dumps(config))
        else:
            self.refmt.run("repo", "init", url, "--spec", spec, "--config", "-",
                           text=json.dumps(config))
        return url

    def compare(self, url):
        repository = peer.open_repository(url)
        session = repository.readonly_session("main")
        ours = self.refmt.dump(url)
        told = [(node["path"], node["node_type"]) for node in nodes_of(repository)]
        self.assertEqual(
            [(node["path"], json.loads(node["document"])["node_type"]) for node in ours],
            sorted(told, key=lambda item: item[0].encode()))
        for node in ours:
            key = repositories.key_of(node["path"], "zarr.json")
            self.assertEqual(node["document"].encode(), repositories.get(session, key))
            if json.loads(node["document"])["node_type"] == "array":
                self.compare_array(session, node)
        self.compare_history(url, repository)

    def compare_array(self, session, node):
        indices = [tuple(ref["index"]) for ref in node["refs"]]
        self.assertEqual(indices, repositories.coordinates(session, node["path"]))
        for ref in node["refs"]:
            kind = str(session.chunk_type(node["path"], ref["index"])).rpartition(".")[2]
            self.assertEqual(kind, ref["kind"])
            if ref["kind"] != "virtual":
                key = repositories.chunk_key(node["path"], ref["index"])
                self.assertEqual(repositories.get(session, key), base64.b64decode(ref["data"]))
        locations = sorted(ref["location"] for ref in node["refs"] if ref["kind"] == "virtual")
        if locations:
            self.assertEqual(sorted(set(locations)),
                             sorted(set(session.all_virtual_chunk_locations())))

    def compare_history(self, url, repository):
        ours = self.refmt.json("repo", "log", url)
        theirs = list(repository.ancestry(branch="main"))
        self.assertEqual([(entry["id"], entry["parent"], entry["message"], entry["metadata"])
                          for entry in ours],
                         [(entry.id, entry.parent_id, entry.message, entry.metadata)
                          for entry in theirs])
        if len(ours) < 3:
            return
        diff = repository.diff(from_snapshot_id=theirs[1].id, to_snapshot_id=theirs[0].id)
        told = self.refmt.ask(diff=url, **{"from": theirs[1].id, "to": theirs[0].id})
        self.assertEqual({path: [list(index) for index in sorted(chunks)]
                          for path, chunks in diff.updated_chunks.items()},
                         {item["path"]: item["chunks"] for item in told["updated_chunks"]})
        for name in ("new_groups", "new_arrays", "deleted_groups", "deleted_arrays",
                     "updated_groups", "updated_arrays"):
            self.assertEqual(sorted(getattr(diff, name)), sorted(told[name]))

    def check_end(self, url):
        """Nothing is garbage, and each can rebase over the other."""
        repository = peer.open_repository(url)
        now = datetime.datetime.now(datetime.timezone.utc)
        summary = repository.garbage_collect(now, dry_run=True)
        self.assertEqual((summary.chunks_deleted, summary.manifests_deleted,
                          summary.snapshots_deleted, summary.transaction_logs_deleted),
                         self.ours_would_collect(url))
        theirs = ops.Writer(repository)
        theirs.apply([{"op": "put", "key": "g/a/c/0/0", "text": "theirs"}])
        base = repository.lookup_branch("main")
        self.refmt.apply(url, "in between",
                         [{"op": "put", "key": "g/a/c/7/4", "text": "ours"}])
        theirs.commit("theirs over ours", rebase_with=icechunk.ConflictDetector())
        self.refmt.apply(url, "ours over theirs",
                         [{"op": "put", "key": "g/a/c/1/1", "text": "ours 2"}], "--base", base)
        self.compare(url)
        status, _, text = self.refmt.run(
            "repo", "apply", url, "-m", "conflict", "--base", base, status=None,
            text='{"op":"put","key":"g/a/c/0/0","text":"clash"}\n')
        self.assertEqual(status, 1, text)
        self.assertIn("chunk 0/0", text)
        clash = ops.Writer(peer.open_repository(url))
        clash.apply([{"op": "put", "key": "g/a/c/2/2", "text": "a"}])
        self.refmt.apply(url, "ours first", [{"op": "put", "key": "g/a/c/2/2", "text": "b"}])
        with self.assertRaises(icechunk.RebaseFailedError):
            clash.commit("too late", rebase_with=icechunk.ConflictDetector())
        self.assertEqual(self.refmt.ask(verify=url), [])

    def ours_would_collect(self, url):
        text = self.refmt.run("repo", "gc", url, "--older-than", "0s", "--dry-run").decode()
        lines = [line.split()[1] for line in text.splitlines() if line.startswith("goes")]
        return tuple(sum(line.startswith(folder + "/") for line in lines)
                     for folder in ("chunks", "manifests", "snapshots", "transactions"))

    def one(self, spec, writer, kind, splitting, compressed):
        name = f"{spec}-{writer}-{kind}-{splitting}-{compressed}"
        url = self.create(name, spec, writer, ops.config(ops.SPLITTINGS[splitting], compressed))
        for number in range(ALTERNATING if writer == "alternating" else ALONE):
            made = commit_of(number, kind)
            if writer == "ours" or (writer == "alternating" and number % 2 == 0):
                self.refmt.apply(url, f"commit {number}", made)
            else:
                ops.apply(peer.open_repository(url), f"commit {number}", made)
            self.compare(url)
        self.check_end(url)

    def test_every_form(self):
        forms = [form for form in itertools.product((1, 2), WRITERS, KINDS, ops.SPLITTINGS,
                                                    (False, True))
                 if form[0] == 2 or not form[4]]  # 1 has no compressed locations
        for form in forms[PART::PARTS]:
            with self.subTest(form=form):
                self.one(*form)


def nodes_of(repository):
    snapshot = repository.inspect_snapshot(repository.lookup_branch("main"))
    return (json.loads(snapshot) if isinstance(snapshot, str) else snapshot)["nodes"]


if __name__ == "__main__":
    peer.main()
