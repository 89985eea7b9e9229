# SPDX-License-Identifier: Apache-2.0
"""Each fault of a source, a repository or a decoder, at each moment, through each reader: it raises
or has right values, and never once a fill value, NaN or zero that is not in the data.

The readers run beside each other, each on an array of its own for every row of the table, so that
nothing that was read before stands in a cache.
"""

import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import threading
import unittest

import eccodes
import numpy as np

import messages
import peer

HERE = pathlib.Path(__file__).parent
READERS = ("zarr_python", "zarrs", "xarray", "dask", "tensorstore", "gdal", "zarrita")
N_CHUNKS = 3
LIMIT = 20
# Where: in the sources' server, but for the last two.  The first word when the fault is there from
# the beginning, the second when it comes during a read: for some chunks, or in the middle of each.
FAULTS = {
    "404": ("404", "404-later"),
    "403": ("403", "403-later"),
    "503": ("503", "503-later"),
    "reset": ("reset", "reset-middle"),
    "stall": ("stall", "stall-middle"),
    "short": ("short", "short-later"),
    "wrong": ("wrong", "wrong-middle"),
    "changed": ("changed", "changed-later"),
    "corrupt": ("corrupt", "corrupt-middle"),
    "manifest": None,
    "worker": None,
}
MOMENTS = ("before", "between", "during")
CODECS = [{"name": "gribberish", "configuration": {"var": "X"}}]


def array(shape, chunks):
    return {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": "NaN", "codecs": CODECS, "attributes": {}, "dimension_names": ["y", "x"]}


def values_of(message):
    handle = eccodes.codes_new_from_message(message)
    try:
        return eccodes.codes_get_values(handle)
    finally:
        eccodes.codes_release(handle)


class Reader:
    """A process that reads what it is told."""

    def __init__(self, name, folder):
        self.name = name
        command = [sys.executable, "-W", "ignore", str(HERE / "fault-reader.py"), name]
        if name == "zarrita":
            servers = os.environ.get("REFMT_SERVERS", "")
            if not os.path.isdir(f"{servers}/node_modules/zarrita"):
                raise unittest.SkipTest(
                    "zarrita is not installed, see tests/interop/install-servers")
            shutil.copy(HERE / "fault-reader.mjs", folder)
            (folder / "node_modules").symlink_to(f"{servers}/node_modules")
            command = ["node", str(folder / "fault-reader.mjs")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        """Its answer; a reader that hangs is an answer too."""
        if not select.select([self.process.stdout], [], [], LIMIT)[0]:
            self.process.kill()
            return f"HANGS for {LIMIT} s"
        return self.process.stdout.readline().rstrip("\n")

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Faults(peer.Case):
    programs = ("REFMT", "REFMTFS", "SERVE_FAULTS")

    def setUp(self):
        super().setUp()
        self.cases = [(fault, moment) for fault in FAULTS for moment in MOMENTS]
        self.make_sources()
        self.make_repository()
        self.control = self.folder / "control"
        self.server_says("none")
        self.server = subprocess.Popen(
            [peer.program("SERVE_FAULTS"), str(self.folder / "sources"), str(self.control)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.server.communicate)
        self.port = int(self.server.stdout.readline())
        self.killed = 0
        self.readers = []
        for name in READERS:
            try:
                self.readers.append(Reader(name, self.folder))
            except unittest.SkipTest as skip:
                print(f"SKIPPED: {skip}")
        for reader in self.readers:
            self.addCleanup(reader.end)

    def make_sources(self):
        """The messages of simple packing, which are decoded in the daemon, and those for workers."""
        for packing in ("grid_simple", "grid_ieee"):
            folder = self.folder / packing
            folder.mkdir()
            made = [messages.make(packing, base=base) for base in (280, 310, 340, 400)]
            for name, message in zip(("0", "1", "2", "changed"), made):
                (folder / name).write_bytes(message)
            want = [values_of(message) for message in made[:N_CHUNKS]]
            np.concatenate(want).tofile(self.folder / f"{packing}.want")
        (self.folder / "sources").mkdir()

    def want(self, fault):
        """The file with the values of the case's array."""
        return self.folder / f"{self.packing(fault)}.want"

    def packing(self, fault):
        return "grid_ieee" if fault == "worker" else "grid_simple"

    def make_repository(self):
        prefix = self.prefix = f"file://{self.folder}/sources/"
        url = self.url = self.folder / "repository"
        config = self.folder / "config.json"
        config.write_text(json.dumps({"virtual_chunk_containers": {prefix: {
            "url_prefix": prefix, "name": None,
            "store": {"local_file_system": f"{self.folder}/sources/"}}}}))
        peer.run("repo", "init", url, "--config", config)
        operations = [{"op": "put", "key": "zarr.json",
                       "json": {"zarr_format": 3, "node_type": "group"}}]
        for reader in READERS:
            for fault, moment in self.cases:
                operations += self.operations(f"{reader}/{fault}-{moment}", self.packing(fault))
        peer.apply(url, "one array a case", *operations)

    def operations(self, path, packing):
        source = self.folder / "sources" / path.replace("/", "-")
        source.symlink_to(self.folder / packing)
        group = {"zarr_format": 3, "node_type": "group"}
        refs = [{"index": [i, 0], "location": f"{self.prefix}{source.name}/{i}", "offset": 0,
                 "length": (self.folder / packing / str(i)).stat().st_size, "etag": "e"}
                for i in range(N_CHUNKS)]
        return [{"op": "put", "key": f"{path}/zarr.json", "json": group},
                {"op": "put", "key": f"{path}/t/zarr.json",
                 "json": array([31 * N_CHUNKS, 40], [31, 40])},
                {"op": "set_refs", "array": f"/{path}/t", "refs": refs}]

    def server_says(self, word):
        new = self.folder / "control.new"
        new.write_text(word)
        new.rename(self.control)

    @contextlib.contextmanager
    def fault_there(self, fault, moment):
        """The fault, while the block runs."""
        if fault == "manifest":
            with self.no_manifests():
                yield
        elif fault == "worker":
            with self.killed_workers():
                yield
        else:
            self.server_says(FAULTS[fault][moment == "during"])
            yield
        self.server_says("none")

    @contextlib.contextmanager
    def no_manifests(self):
        folder = self.url / "manifests"
        away = self.folder / "manifests-away"
        folder.rename(away)
        yield
        away.rename(folder)

    def kill_workers(self):
        """Kills the decode workers of the mount, which have its command line."""
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if ((path / "comm").read_text() == "grib-worker\n" and
                        str(self.url) in (path / "cmdline").read_text()):
                    os.kill(int(path.name), signal.SIGKILL)
                    self.killed += 1

    @contextlib.contextmanager
    def killed_workers(self):
        """Workers are killed as soon as they are seen."""
        end = threading.Event()

        def run():
            while not end.wait(0.005):
                self.kill_workers()

        killer = threading.Thread(target=run)
        killer.start()
        yield
        end.set()
        killer.join()

    def all_do(self, line):
        for reader in self.readers:
            reader.tell(line(reader))
        return {reader.name: reader.answer() for reader in self.readers}

    def run_case(self, root, fault, moment):
        """What each reader said about its array of the case."""
        def folder(reader):
            return f"{root}/{reader.name}/{fault}-{moment}"

        there = self.fault_there(fault, moment)
        with contextlib.ExitStack() as stack:
            if moment == "before":
                stack.enter_context(there)
            self.all_do(lambda reader: f"open {folder(reader)}")
            if moment == "between":
                for reader in self.readers:
                    for i in range(N_CHUNKS):
                        os.stat(f"{folder(reader)}/t/c/{i}/0")
            if moment != "before":
                stack.enter_context(there)
            return self.all_do(lambda reader: f"read {self.want(fault)}")

    def check_case(self, fault, moment, answers):
        for reader, answer in answers.items():
            with self.subTest(reader=reader, fault=fault, moment=moment):
                self.assertRegex(answer, "^(right$|raised )")
        # The fault must have been felt, or this has tested nothing.  A manifest that was loaded
        # does not need its file, and workers are not caught every time.
        if fault not in ("manifest", "worker") or (fault, moment) == ("manifest", "before"):
            self.assertNotIn("right", answers.values(), f"{fault} {moment}")

    def chunk_bytes(self, path):
        """The bytes of a chunk file, once a fault that is over is not remembered any more."""
        got = []

        def read():
            with contextlib.suppress(OSError):
                got.append(path.read_bytes())
            return got
        peer.wait_for(read, f"{path} to be readable again")
        return got[0]

    def check_all_healed(self, root):
        """Nothing that a fault left behind is told later."""
        for reader in self.readers:
            for fault, moment in self.cases:
                want = np.fromfile(self.want(fault))
                folder = root / reader.name / f"{fault}-{moment}/t/c"
                got = b"".join(self.chunk_bytes(folder / f"{i}/0") for i in range(N_CHUNKS))
                np.testing.assert_allclose(np.frombuffer(got), want, rtol=1e-9, atol=0)

    def test_matrix(self):
        with peer.mounted(self.url, self.folder / "mount", "--allow", self.prefix, "--container",
                          f"{self.prefix}=http://127.0.0.1:{self.port}/", "--quiet", "-o",
                          "timeout=1") as root:
            for fault, moment in self.cases:
                self.check_case(fault, moment, self.run_case(root, fault, moment))
            self.assertGreater(self.killed, 0)
            self.check_all_healed(root)


if __name__ == "__main__":
    peer.main()
