# SPDX-License-Identifier: Apache-2.0
"""`refmt backfill-local` of 400 HRRR surface files from an S3 server on loopback, beside a plain
Python parser that feeds the public icechunk package; and what a reference costs in memory.

Runs beside with-server s3.
"""

import datetime
import http.client
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.parse

import icechunk
import zarr

ID, BUCKET, TYPE = "noaa-hrrr-forecast-48-hour-virtual", "noaa-hrrr-bdp-pds", "sfc"
FILES, POSITION, LEADS = 400, 3600, 49
START, STEP = datetime.datetime(2018, 7, 13, 12), datetime.timedelta(hours=6)
PREFIX = f"s3://{BUCKET}/"
DATASETS = pathlib.Path(sys.argv[1])
TARGET = 3.0  # seconds, on two cores
FASTER = 10
RUNS, WORKER_MEMORY = 120, 1 << 30  # about 10^7 references


def label(position):
    return (START + position * STEP).isoformat()


def backfill(store, source, end, *more):
    """Seconds, the peak of the process's memory, and references."""
    start = time.monotonic()
    process = subprocess.Popen(
        [os.environ["REFMT"], "backfill-local", ID, end, "--datasets", DATASETS, "--store", store,
         "--path-style", "--source", f"{PREFIX}={source}", *more], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status:
        sys.exit(f"backfill-local: {errors.decode()}")
    refs = re.search(r"with (\d+) references written, 0 were there, 0 skipped", errors.decode())
    if not refs:
        sys.exit(f"backfill-local: {errors.decode()}")
    return seconds, usage.ru_maxrss << 10, int(refs.group(1))


def publish(folder, files, kind):
    subprocess.run([os.environ["MAKE_PROVIDER"], DATASETS, ID, str(POSITION), str(files), kind,
                    folder], check=True)


class Plain:
    """What a person writes who knows the index format and the public package."""

    def __init__(self, endpoint):
        self.server = urllib.parse.urlsplit(endpoint).netloc
        definition = json.loads((DATASETS / ID / "dataset.json").read_text())
        self.variables = {}
        for variable in definition["variables"]:
            if variable["file"] != TYPE:
                continue
            elements, levels = (variable["match"][name] for name in ("element", "level"))
            for element in [elements] if isinstance(elements, str) else elements:
                for level in [levels] if isinstance(levels, str) else levels:
                    self.variables.setdefault((element, level), []).append(
                        (variable["path"], variable["attributes"]["step_type"]))
        self.paths = sorted({path for paths in self.variables.values() for path, _ in paths})

    def fetch(self, number):
        position, lead = POSITION + number // LEADS, number % LEADS
        time_ = START + position * STEP
        key = f"hrrr.{time_:%Y%m%d}/conus/hrrr.t{time_:%H}z.wrf{TYPE}f{lead:02}.grib2"
        connection = http.client.HTTPConnection(self.server)
        connection.request("GET", f"/{BUCKET}/{key}.idx")
        index = connection.getresponse().read().decode()
        connection.request("HEAD", f"/{BUCKET}/{key}")
        answer = connection.getresponse()
        answer.read()
        size = int(answer.headers["Content-Length"])
        last = int(index.splitlines()[-1].split(":")[1])
        connection.request("GET", f"/{BUCKET}/{key}", headers={"Range": f"bytes={last}-{last + 15}"})
        if connection.getresponse().read(4) != b"GRIB":
            sys.exit(f"{key} has no message at its last offset")
        connection.close()
        return position, lead, key, index, size

    @staticmethod
    def is_wanted(step, text):
        kind = re.search(r" (acc|ave|max|min) ", text)
        wanted = {"accum": "acc", "avg": "ave", "max": "max", "min": "min"}.get(step)
        return (kind.group(1) if kind else None) == wanted

    def add(self, store, position, lead, key, index, size):
        rows = [line.split(":") for line in index.splitlines()]
        offsets = [int(row[1]) for row in rows] + [size]
        n_refs = 0
        for i, row in enumerate(rows):
            for path, step in self.variables.get((row[3], row[4]), ()):
                if self.is_wanted(step, row[5]):
                    store.set_virtual_ref(f"{path}/c/{position}/{lead}/0/0", PREFIX + key,
                                          offset=offsets[i], length=offsets[i + 1] - offsets[i])
                    n_refs += 1
        return n_refs

    def prepare(self, url):
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        config = icechunk.RepositoryConfig.default()
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(
            PREFIX, icechunk.s3_store(region="us-east-1", anonymous=True)))
        repository = icechunk.Repository.create(icechunk.s3_storage(
            bucket=bucket, prefix=prefix, endpoint_url=os.environ["AWS_ENDPOINT_URL"],
            region="us-east-1", from_env=True, allow_http=True, force_path_style=True),
            config=config)
        session = repository.writable_session("main")
        group = zarr.create_group(session.store)
        for path in self.paths:
            group.create_array(path, shape=(POSITION + 9, LEADS, 1059, 1799),
                               chunks=(1, 1, 1059, 1799), dtype="float64")
        session.commit("arrays")
        return repository

    def run(self, repository):
        session = repository.writable_session("main")
        n_refs = sum(self.add(session.store, *self.fetch(number)) for number in range(FILES))
        session.commit("plain")
        return n_refs


def times():
    """On stores that have their arrays already: what is timed is indexes and references."""
    endpoint, url = os.environ["AWS_ENDPOINT_URL"], os.environ["STORE_URL"]
    end, bucket = label(POSITION + 9), pathlib.Path(os.environ["SERVER_FOLDER"]) / BUCKET
    more = ["--filter-start", label(POSITION), "--jobs-per-pod", "100"]
    publish(bucket, 0, TYPE)
    for i in range(3):
        backfill(f"{url}-{i}", f"{endpoint}/{BUCKET}/", end, *more)
    plain = Plain(endpoint)
    repository = plain.prepare(f"{url}-plain")
    publish(bucket, FILES, TYPE)
    ours = min(backfill(f"{url}-{i}", f"{endpoint}/{BUCKET}/", end, *more)[0] for i in range(3))
    start = time.monotonic()
    n_refs = plain.run(repository)
    theirs = time.monotonic() - start
    print(f"backfill of {FILES} files, {n_refs} references: {ours:.2f} s (target {TARGET:.0f}), "
          f"plain Python {theirs:.2f} s, {theirs / ours:.1f} x (target {FASTER})")


def memory(folder):
    """A worker as large as they come: sums of small ones do not show what the log takes."""
    source = folder / "source" / BUCKET
    source.mkdir(parents=True)
    publish(source, RUNS * LEADS * 3, "all")
    seconds, peak, refs = backfill(folder / "store", source, label(POSITION + RUNS),
                                   "--filter-start", label(POSITION), "--jobs-per-pod", "1000")
    print(f"memory of a worker of {refs} references: {peak / 1e6:.0f} MB "
          f"(target {WORKER_MEMORY / 1e6:.0f} for 10^7), {seconds:.0f} s")


times()
with tempfile.TemporaryDirectory() as name:
    memory(pathlib.Path(name))
