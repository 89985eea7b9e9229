# SPDX-License-Identifier: Apache-2.0
"""`refmt update` of the HRRR as it is: its definition, its keys, its folders, on an S3 server.

MAKE_PROVIDER writes the files; they are published one after another, with every fault that a
provider has, while the update is killed now and then.  Folders hold what else lies in them: the
other hours and products, so that a listing has many pages.
"""

import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import threading
import time
import unittest

import icechunk

import peer

ID, BUCKET = "noaa-hrrr-forecast-48-hour-virtual", "noaa-hrrr-bdp-pds"
DATASETS = pathlib.Path(__file__).resolve().parents[2] / "writer" / "datasets"
# Position 3600 and two more: the window of the fire of 2020-12-30 00:50.
FIRST, RUNS = 3600, [("20201229", 12), ("20201229", 18), ("20201230", 0)]
END, NOW = "2020-12-29T12:00", "2020-12-30T00:51:00Z"
FILES = 12  # of each run: 4 leads, 3 types


class Hrrr(peer.Case):
    programs = ("REFMT", "MAKE_PROVIDER")

    def setUp(self):
        super().setUp()
        if "SERVER_FOLDER" not in os.environ:
            raise unittest.SkipTest("SERVER_FOLDER is not set: run beside with-server s3")
        root = pathlib.Path(os.environ["SERVER_FOLDER"])
        self.bucket, self.stage = root / BUCKET, root / "stage"
        peer.make_public_bucket(self.bucket)
        for number in range(len(RUNS)):
            peer.run(DATASETS, ID, FIRST + number, FILES, "all", self.stage, name="MAKE_PROVIDER")
        self.names = sorted(str(path.relative_to(self.stage)) for path in self.stage.glob("*/*/*.grib2"))
        self.assertEqual(len(self.names), FILES * len(RUNS))
        self.fill_folders()
        self.url = os.environ["STORE_URL"]
        self.site = ["--store", self.url, "--path-style", "--source",
                     f"s3://{BUCKET}/={os.environ['AWS_ENDPOINT_URL']}/{BUCKET}/"]

    def fill_folders(self):
        """Every hour of the day but those of the window, and the products that nobody asked for."""
        for day in sorted({day for day, _ in RUNS}):
            folder = self.bucket / f"hrrr.{day}" / "conus"
            folder.mkdir(parents=True)
            for hour in range(24):
                ours = (day, hour) in RUNS
                for kind in ["subh"] if ours else ["nat", "prs", "sfc", "subh"]:
                    for lead in range(19):
                        name = folder / f"hrrr.t{hour:02}z.wrf{kind}f{lead:02}.grib2"
                        name.touch()
                        name.with_name(name.name + ".idx").touch()

    def index(self, name):
        return (self.stage / f"{name}.idx").read_text().splitlines(keepends=True)

    def show_index(self, name, lines=None):
        made = self.stage / "index"
        made.write_text("".join(self.index(name) if lines is None else lines))
        made.rename(self.bucket / f"{name}.idx")

    def show_data(self, name):
        made = self.stage / "data"
        os.link(self.stage / name, made)
        made.rename(self.bucket / name)

    def show_short_data(self, name, last=None, size=0):
        """Data of @size bytes, whose last message begins at @last; NULL: an empty object."""
        made = self.stage / "data"
        with open(made, "wb") as data:
            data.truncate(size)
            if last is not None:
                data.seek(last)
                data.write(b"GRIB\0\0\0\2" + (size - last).to_bytes(8, "big"))
        made.rename(self.bucket / name)

    def show_fault(self, fault, name):
        """Publishes @name as it should not be; returns how many references are right."""
        lines = self.index(name)
        offsets = [int(line.split(":")[1]) for line in lines]
        if fault == "cut together":
            self.show_short_data(name, offsets[99], offsets[100])
            self.show_index(name, lines[:100])
            return 100
        if fault == "empty":
            self.show_short_data(name)
            self.show_index(name)
            return 0
        self.show_data(name)
        if fault == "stale":
            self.show_index(name, [re.sub(r":(\d+):", lambda m: f":{int(m[1]) + 4}:", line, count=1)
                                   if i > 9 else line for i, line in enumerate(lines)])
        elif fault == "other run":
            self.show_index(name, [line.replace(":d=2020122918:", ":d=2020122912:")
                                   for line in lines])
        return 0

    def publish_all(self):
        """Everything that a fire may meet; @self.wanted are the files and their references."""
        faults = {"t18z.wrfsfcf00": "stale", "t18z.wrfsfcf01": "other run",
                  "t18z.wrfsfcf02": "empty", "t18z.wrfsfcf03": "no index",
                  "t12z.wrfnatf02": "cut together"}
        mended, healthy = "t00z.wrfprsf03", []
        for name in self.names:
            key = name.split("hrrr.")[-1].removesuffix(".grib2")
            if key in faults:
                count = self.show_fault(faults[key], name)
                if count:
                    self.wanted[f"s3://{BUCKET}/{name}"] = count
            elif key == mended:
                self.show_fault("empty", name)
                mended = name
            else:
                healthy.append(name)
        for number, name in enumerate(healthy[:6]):
            parts = [self.show_data, self.show_index]
            for show in parts[::-1] if number % 2 else parts:
                show(name)
                time.sleep(0.3)
        for name in [*healthy[6:], mended]:
            self.show_data(name)
            self.show_index(name)
        for name in [*healthy, mended]:
            self.wanted[f"s3://{BUCKET}/{name}"] = len(self.index(name))

    def repository(self):
        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        return icechunk.Repository.open(icechunk.s3_storage(
            bucket=bucket, prefix=prefix, endpoint_url=os.environ["AWS_ENDPOINT_URL"],
            region="us-east-1", from_env=True, allow_http=True, force_path_style=True))

    def files(self, repository, **at):
        """The source files of a snapshot and how many references each has."""
        session = repository.readonly_session(**(at or {"branch": "main"}))
        return collections.Counter(session.all_virtual_chunk_locations())

    def log(self):
        return peer.run_json("repo", "log", self.url, "--path-style")

    def start(self):
        return subprocess.Popen(
            [peer.program("REFMT"), "update", ID, "--now", NOW, *self.site],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_publishing(self):
        peer.run("backfill-local", ID, END, "--filter-start", "2020-12-29T06:00", *self.site)
        self.wanted = {}
        thread = threading.Thread(target=self.publish_all)
        thread.start()
        while thread.is_alive():
            process = self.start()
            time.sleep(random.uniform(0.3, 2.5))
            process.kill()
            process.communicate()
        process, repository = self.start(), self.repository()
        peer.wait_for(lambda: self.files(repository) == self.wanted, "all that is healthy")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 75)
        # Each commit has whole files.
        for entry in self.log():
            if entry["message"].startswith("Update"):
                files = self.files(repository, snapshot_id=entry["id"])
                self.assertLessEqual(files.items(), self.wanted.items())
        # A fire with nothing new makes no snapshot; its checks have no time and say so.
        before = self.log()
        peer.run("update", ID, "--now", NOW, "--deadline", 60, "--grace", 0, *self.site, status=3)
        self.assertEqual(self.log(), before)


peer.main()
