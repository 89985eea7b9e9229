# SPDX-License-Identifier: Apache-2.0
"""`refmt update` against a provider that publishes while it runs, both on a real S3 server.

The provider's folder also has what real ones have: thousands of objects that nobody asked for, so
that listings come in pages.  It publishes data before index and index before data, bursts, and
every kind of unusable file; one never comes.
"""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import threading
import time
import unittest

import icechunk

import peer
import repositories

BUCKET, NOW = "small", "2025-01-02T12:31:00Z"
WINDOW = [("20250102", hour) for hour in (0, 6, 12)]
FIRST = 4  # number of the window's first position
FILLERS = 1500
MESSAGE = 32


def definition():
    def variable(path, file, element, level, **more):
        return {"path": path, "file": file, "match": {"element": element, "level": level},
                "data_type": "float64", "fill_value": "NaN",
                "attributes": {"step_type": "accum" if "reset" in more else "instant"}, **more}

    dims = ["init_time", "lead_time", "y", "x"]
    return {
        "format": 1, "id": "small", "version": "1",
        "attributes": {"dataset_id": "small", "dataset_version": "1"},
        "append": {"dim": "init_time", "start": "2025-01-01", "step": "6h"},
        "dims": {"init_time": {"chunk": 1}, "lead_time": {"size": 4, "chunk": 1},
                 "y": {"size": 2}, "x": {"size": 3}, "level": {"size": 2, "chunk": 1}},
        "groups": [{"path": "", "dims": dims}, {"path": "level", "dims": [*dims, "level"]}],
        "coordinates": [
            {"name": "init_time", "dims": ["init_time"], "data_type": "int64", "chunks": [100],
             "fill_value": 0, "values": {"kind": "append"},
             "attributes": {"units": "seconds since 1970-01-01"}},
            {"name": "lead_time", "dims": ["lead_time"], "data_type": "float64", "chunks": [4],
             "fill_value": "NaN", "values": {"kind": "range", "start": 0, "step": 3600},
             "attributes": {"units": "seconds", "dtype": "timedelta64[us]"}},
            {"name": "level", "dims": ["level"], "data_type": "int64", "chunks": [2],
             "fill_value": -1, "values": {"kind": "list", "values": [1000, 500]},
             "attributes": {}}],
        "variables": [variable("a", "sfc", "AAA", "surface"),
                      variable("b", "sfc", "BBB", "surface", reset="never",
                               leads={"first": "1h"}),
                      variable("level/t", "prs", "TMP", "{level} mb")],
        "files": {"kind": "noaa_idx", "container": f"s3://{BUCKET}/", "dims": ["lead_time"],
                  "lead": "lead_time", "types": [{"name": "prs"}, {"name": "sfc"}],
                  "url": f"s3://{BUCKET}/{{init:%Y%m%d}}/t{{init:%H}}z.{{type}}f{{lead:02}}",
                  "index_url": "{url}.idx"},
        "completeness": "tolerant",
        "containers": [{"prefix": f"s3://{BUCKET}/", "store": {"s3": {
            "region": "us-east-1", "anonymous": True, "allow_http": False}}}],
        "splits": [["^/level/", 2], [None, 3]],
        "schedule": {"update": "30 0,6,12,18 * * *", "deadline_s": 3600, "window_s": 64800}}


class File:
    def __init__(self, day, hour, lead, kind):
        self.day, self.hour, self.lead, self.kind = day, hour, lead, kind
        self.name = f"{day}/t{hour:02}z.{kind}f{lead:02}"

    def records(self):
        time = f"{self.lead} hour fcst" if self.lead else "anl"
        if self.kind == "prs":
            return [("TMP", f"{level} mb", time) for level in (1000, 500)]
        rows = [("AAA", "surface", time)]
        return rows + [("BBB", "surface", f"0-{self.lead} hour acc fcst")] if self.lead else rows

    def index(self, offsets=None, date=None, rows=None):
        rows = self.records() if rows is None else rows
        date = date or f"{self.day}{self.hour:02}"
        return "".join(f"{i + 1}:{(offsets or range(0, 999, MESSAGE))[i]}:d={date}:{':'.join(row)}:\n"
                       for i, row in enumerate(rows)).encode()

    def data(self):
        message = (b"GRIB\0\0\0\2" + MESSAGE.to_bytes(8, "big")).ljust(MESSAGE, b"\0")
        return message * len(self.records())

    def cells(self):
        """What readers see of the file: array, index and place of each reference."""
        position = FIRST + (int(self.day) - 20250102) * 4 + self.hour // 6
        if self.kind == "prs":
            return {("/level/t", (position, self.lead, 0, 0, i), i * MESSAGE) for i in (0, 1)}
        return {("/" + name, (position, self.lead, 0, 0), i * MESSAGE)
                for i, name in enumerate("ab"[:len(self.records())])}


class Update(peer.Case):
    def setUp(self):
        super().setUp()
        if "SERVER_FOLDER" not in os.environ:
            raise unittest.SkipTest("SERVER_FOLDER is not set: run beside with-server s3")
        self.bucket = pathlib.Path(os.environ["SERVER_FOLDER"]) / BUCKET
        self.make_public_bucket()
        (self.folder / "small").mkdir()
        (self.folder / "small" / "dataset.json").write_text(json.dumps(definition()))
        self.url = f"{os.environ['STORE_URL']}-{random.randrange(1 << 30)}"
        self.site = ["--datasets", self.folder, "--store", self.url, "--path-style",
                     "--source", f"s3://{BUCKET}/={os.environ['AWS_ENDPOINT_URL']}/{BUCKET}/"]

    def make_public_bucket(self):
        peer.make_public_bucket(self.bucket)
        for path in sorted(self.bucket.glob("**/*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for day, hour in WINDOW:
            (self.bucket / day).mkdir(exist_ok=True)
            for i in range(FILLERS):
                (self.bucket / day / f"t{hour:02}z.nat{i:05}").touch()

    def put(self, name, data):
        """An object appears at once, as on a real store."""
        (self.folder / "object").write_bytes(data)
        (self.folder / "object").rename(self.bucket / name)

    def publish(self, file):
        self.put(file.name, file.data())
        self.put(file.name + ".idx", file.index())

    def publish_all(self):
        """Everything that a fire may meet; returns the files that are healthy in the end."""
        files = [File(*place, lead, kind) for place in WINDOW for lead in range(4)
                 for kind in ("prs", "sfc")]
        stale, other, empty, cut, never, mended, *rest = (
            [file for file in files if (file.hour, file.kind) == (6, "sfc")]
            + [file for file in files if (file.hour, file.kind) == (12, "sfc")][1:]
            + [file for file in files if file.hour == 0 or file.kind == "prs"
               or (file.hour, file.lead) == (12, 0)])
        self.put(stale.name, stale.data())
        self.put(stale.name + ".idx", stale.index(offsets=[MESSAGE - 8, MESSAGE + 4]))
        self.put(other.name, other.data())
        self.put(other.name + ".idx", other.index(date="2025010200"))
        self.put(empty.name, b"")
        self.put(empty.name + ".idx", empty.index())
        self.put(cut.name, cut.data()[:MESSAGE])
        self.put(cut.name + ".idx", cut.index(rows=cut.records()[1:]))
        self.put(never.name, never.data())
        self.put(mended.name, b"")
        self.put(mended.name + ".idx", mended.index())
        for number, file in enumerate(rest[:6]):
            parts = [(file.name, file.data()), (file.name + ".idx", file.index())]
            for name, data in parts[::-1] if number % 2 else parts:
                self.put(name, data)
                time.sleep(0.3)
        for file in rest[6:]:
            self.publish(file)
        self.publish(mended)
        return [*rest, mended]

    def backfill(self):
        peer.run("backfill-local", "small", "2025-01-02", *self.site)

    def start(self):
        return subprocess.Popen(
            [peer.program("REFMT"), "update", "small", "--now", NOW, *map(str, self.site)],
            stderr=subprocess.PIPE)

    def cells(self, *at):
        return {(array, tuple(ref["index"]), ref["offset"])
                for array in ("/a", "/b", "/level/t")
                for ref in peer.run_lines("repo", "refs", self.url, array, "--path-style", *at)}

    def open_repository(self):
        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        return icechunk.Repository.open(icechunk.s3_storage(
            bucket=bucket, prefix=prefix, endpoint_url=os.environ["AWS_ENDPOINT_URL"],
            region="us-east-1", from_env=True, allow_http=True, force_path_style=True))

    @contextlib.contextmanager
    def watching(self):
        """Looks at main while the block runs; @states are the sets of chunks that were seen."""
        states, stop = [], threading.Event()

        def watch():
            while not stop.is_set():
                session = self.open_repository().readonly_session("main")
                states.append({(array, index) for array in ("/a", "/b", "/level/t")
                               for index in repositories.coordinates(session, array)})

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield states
        finally:
            stop.set()
            thread.join()

    def check_states(self, states, files):
        """Each state holds none or all of each file."""
        self.assertGreater(len(states), 2)
        for state in states:
            for file in files:
                chunks = {(array, index) for array, index, _ in file.cells()}
                self.assertIn(len(chunks & state), (0, len(chunks)), file.name)

    def check_history(self, files):
        """Every state of main holds whole files only."""
        for entry in peer.run_json("repo", "log", self.url, "--path-style"):
            if not entry["message"].startswith("Update"):
                continue
            cells = self.cells("--snapshot", entry["id"])
            for file in files:
                self.assertIn(len(file.cells() & cells), (0, len(file.cells())), file.name)

    def test_publishing(self):
        self.backfill()
        process = self.start()
        with self.watching() as states:
            files = self.publish_all()
            wanted = set().union(*(file.cells() for file in files))
            end = time.monotonic() + 60
            while self.cells() != wanted and time.monotonic() < end:
                time.sleep(0.5)
        self.check_states(states, files)
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=30)[1].decode()
        self.assertEqual(process.returncode, 75, errors)
        self.assertEqual(self.cells(), wanted, errors)
        for reason in ("stale_index", "other_run", "probe_missing"):
            self.assertIn(reason, errors)
        self.check_history(files)
        before = peer.run_json("repo", "log", self.url, "--path-style")
        peer.run("update", "small", "--now", NOW, "--deadline", 60, "--grace", 0, *self.site)
        self.assertEqual(peer.run_json("repo", "log", self.url, "--path-style"), before)

    def test_killed(self):
        self.backfill()
        files, thread = [], None
        thread = threading.Thread(target=lambda: files.extend(self.publish_all()))
        thread.start()
        while thread.is_alive():
            process = self.start()
            time.sleep(random.uniform(0.1, 1.5))
            process.kill()
            process.communicate()
        peer.run("update", "small", "--now", NOW, "--deadline", 60, "--grace", 0, *self.site)
        self.assertEqual(self.cells(), set().union(*(file.cells() for file in files)))
        self.check_history(files)

    def test_stopped_at_once(self):
        """A second SIGTERM does not wait for anything, and what was committed stays."""
        self.backfill()
        process = self.start()
        publishing = threading.Timer(0, lambda: files.extend(self.publish_all()))
        files = []
        publishing.start()
        peer.wait_for(self.cells, "the first commit")
        before = self.cells()
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        start = time.monotonic()
        errors = process.communicate(timeout=30)[1].decode()
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(process.returncode, 75, errors)
        self.assertLessEqual(before, self.cells())
        publishing.join()
        self.check_history(files)
        peer.run("update", "small", "--now", NOW, "--deadline", 60, "--grace", 0, *self.site)
        self.assertEqual(self.cells(), set().union(*(file.cells() for file in files)))


peer.main()
