# SPDX-License-Identifier: Apache-2.0
"""Random sequences of operations, done by `refmt` and by the public package, give equal
repositories: equal after renaming ids in order of creation and dropping times."""

import json
import os
import random
import shutil

import icechunk

import operations as ops
import peer
import server

SEEDS = int(os.environ.get("REFMT_PROPERTY_SEEDS", "1000"))
FIRST = int(os.environ.get("REFMT_PROPERTY_FIRST", "0"))
COMMITS = 4
# Each process does its share: the seeds from the first number on, in steps of the second.
PART, PARTS = map(int, os.environ.get("REFMT_PART", "0/1").split("/"))


class Model:
    """Just enough of the state to make operations that both take."""

    def __init__(self, rng, spec):
        self.rng, self.spec = rng, spec
        self.nodes = {}  # path: None for a group, else (shape, chunks, names)
        self.serial = 0

    def groups(self):
        return [path for path, array in self.nodes.items() if array is None]

    def arrays(self):
        return [path for path, array in self.nodes.items() if array is not None]

    def grid(self, path):
        shape, chunks, _ = self.nodes[path]
        return [-(-length // chunk) if chunk else 0 for length, chunk in zip(shape, chunks)]

    def index(self, path):
        grid = self.grid(path)
        return [self.rng.randrange(n) for n in grid] if all(grid) else None

    def document(self, path):
        self.serial += 1
        array = self.nodes[path]
        if array is None:
            return dict(ops.GROUP, attributes={"serial": self.serial})
        shape, chunks, names = array
        return ops.array(shape, chunks, names, serial=self.serial)

    def put_document(self, path):
        return {"op": "put", "key": "zarr.json" if path == "/" else f"{path[1:]}/zarr.json",
                "json": self.document(path)}

    def new_node(self):
        parent = self.rng.choice(self.groups())
        name = self.rng.choice(["a", "a-b", "b", "g", "temp", "é", "x y", "c"])
        path = (parent if parent != "/" else "") + "/" + name
        if path in self.nodes:
            return None
        if self.rng.random() < 0.3:
            self.nodes[path] = None
        else:
            rank = self.rng.choice([0, 1, 1, 2, 2, 3])
            names = self.rng.choice([None, ["t", "x", None][:rank]])
            self.nodes[path] = ([self.rng.randrange(8) for _ in range(rank)],
                                [self.rng.randrange(1, 4) for _ in range(rank)], names)
        return self.put_document(path)

    def change_document(self):
        return self.put_document(self.rng.choice(list(self.nodes)))

    def resize(self):
        # An array that shrinks and grows in one session shows cut off chunks again in the package,
        # unless its caller deletes them (zarr does); with us they are gone.
        arrays = [path for path in self.arrays()
                  if self.nodes[path][0] and path not in self.resized]
        if not arrays:
            return None
        path = self.rng.choice(arrays)
        shape, chunks, names = self.nodes[path]
        self.resized.add(path)
        shape = [max(0, length + self.rng.randrange(-4, 5)) for length in shape]
        self.nodes[path] = (shape, chunks, names)
        return {"op": "resize", "array": path, "shape": shape}

    def chunk_key(self):
        arrays = self.arrays()
        path = self.rng.choice(arrays) if arrays else None
        index = self.index(path) if path else None
        return None if index is None else "/".join([path[1:], "c", *map(str, index)])

    def put_chunk(self):
        key = self.chunk_key()
        self.serial += 1
        size = self.rng.choice([1, 8, 9, 40])
        return key and {"op": "put", "key": key, "text": f"{self.serial:0{size}d}"[:size]}

    def delete_chunk(self):
        key = self.chunk_key()
        return key and {"op": "delete", "key": key}

    def set_refs(self):
        arrays = self.arrays()
        path = self.rng.choice(arrays) if arrays else None
        if not path or self.index(path) is None:
            return None
        refs = {}
        for _ in range(self.rng.randrange(1, 12)):
            self.serial += 1
            index = self.index(path)
            ref = {"index": index, "length": self.rng.randrange(1, 100),
                   "location": f"{ops.PREFIX}some/long/name/{self.serial % 7:05d}.grib2",
                   "offset": self.rng.randrange(1 << 40)}
            extra = self.rng.randrange(4)
            if extra == 0:
                ref["etag"] = f'"{self.serial}"'
            elif extra == 1:
                ref["last_modified"] = 1700000000 + self.serial
            refs[tuple(index)] = ref
        return {"op": "set_refs", "array": path, "refs": list(refs.values())}

    def below(self, path):
        return [other for other in self.nodes
                if other == path or other.startswith(path + "/")]

    def delete_node(self):
        paths = [path for path in self.nodes if path != "/"]
        if not paths:
            return None
        path = self.rng.choice(paths)
        for other in self.below(path):
            del self.nodes[other]
        return {"op": "delete", "path": path}

    def move(self):
        paths = [path for path in self.nodes if path != "/"]
        if not paths:
            return None
        path = self.rng.choice(paths)
        groups = [group for group in self.groups() if group not in self.below(path)]
        parent = self.rng.choice(groups)
        self.serial += 1
        to = (parent if parent != "/" else "") + f"/moved-{self.serial}"
        self.nodes = {to + other[len(path):] if other in self.below(path) else other: array
                      for other, array in self.nodes.items()}
        return {"op": "move", "path": path, "to": to}

    def commit(self):
        self.resized = set()
        if not self.nodes:
            self.nodes["/"] = None
            made = [self.put_document("/")]
        elif self.spec == 2 and self.rng.random() < 0.15 and len(self.nodes) > 1:
            return [move for move in (self.move() for _ in range(2)) if move]
        else:
            made = [self.put_document("/")]
        for _ in range(self.rng.randrange(1, 10)):
            make = self.rng.choices(
                [self.new_node, self.put_chunk, self.set_refs, self.delete_chunk, self.resize,
                 self.change_document, self.delete_node],
                [5, 5, 5, 2, 3, 1, 1])[0]
            made.append(make())
        return [operation for operation in made if operation]


class Property(peer.Case):
    programs = ()

    def one(self, refmt, seed):
        rng = random.Random(seed)
        spec = rng.choice([1, 2, 2])
        model = Model(rng, spec)
        config = ops.config(ops.SPLITTINGS[rng.choice(list(ops.SPLITTINGS))], rng.random() < 0.5)
        ours, theirs = self.folder / f"ours-{seed}", self.folder / f"theirs-{seed}"
        for folder in (ours, theirs):
            refmt.run("repo", "init", folder, "--spec", spec, "--config", "-",
                      text=json.dumps(config))
        repository = peer.open_repository(theirs)
        before = [None, None]
        for number in range(COMMITS):
            made = model.commit()
            message = f"commit {number}"
            tips = [refmt.apply(ours, message, made), ops.apply(repository, message, made)]
            with self.subTest(seed=seed, commit=number, operations=made):
                self.compare(refmt, (ours, theirs), before, tips)
            before = tips
        with self.subTest(seed=seed):
            self.assertEqual(*[history(refmt, folder) for folder in (ours, theirs)])
            self.check_by_package(repository, ours)
            self.assertEqual([refmt.ask(verify=folder) for folder in (ours, theirs)], [[], []])
        for folder in (ours, theirs):
            shutil.rmtree(folder)

    def compare(self, refmt, folders, before, after):
        self.assertEqual(*[refmt.dump(folder) for folder in folders])
        if all(before):
            diffs = [refmt.ask(diff=folder, **{"from": old, "to": new})
                     for folder, old, new in zip(folders, before, after)]
            for diff in diffs:
                del diff["from"], diff["to"]
            self.assertEqual(*diffs)

    def check_by_package(self, theirs, folder):
        ours = peer.open_repository(folder)
        listed = [sorted((node["path"], node["node_type"]) for node in nodes_of(repository))
                  for repository in (ours, theirs)]
        self.assertEqual(*listed)

    def test_sequences(self):
        refmt = server.Server()
        self.addCleanup(refmt.close)
        for seed in range(FIRST + PART, FIRST + SEEDS, PARTS):
            self.one(refmt, seed)


def nodes_of(repository):
    snapshot = repository.inspect_snapshot(repository.lookup_branch("main"))
    return (json.loads(snapshot) if isinstance(snapshot, str) else snapshot)["nodes"]


def history(refmt, folder):
    return [(entry["message"], entry["metadata"]) for entry in refmt.json("repo", "log", folder)]


if __name__ == "__main__":
    peer.main()
