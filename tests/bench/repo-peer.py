# SPDX-License-Identifier: Apache-2.0
"""What repo-times and repo-race measure, done by the public icechunk package.

repo-peer.py write|append|nodes|lookup FOLDER N, or repo-peer.py race FOLDER|s3://BUCKET/PREFIX
PROCESSES COMMITS; prints the same lines.
"""

import asyncio
import json
import multiprocessing
import os
import resource
import statistics
import sys
import time
import urllib.parse

import icechunk
from zarr.core.buffer import cpu

icechunk.set_logs_filter("error")

PREFIX = "s3://example-bucket/data/"
TO_A_LOCATION = 170
ROW = 1000


def document(shape):
    return json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular",
                       "configuration": {"chunk_shape": [1] * len(shape)}},
        "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": {}}).encode()


def config(split=False):
    made = icechunk.RepositoryConfig.default()
    made.set_virtual_chunk_container(icechunk.VirtualChunkContainer(
        PREFIX, icechunk.s3_store(region="us-east-1", anonymous=True)))
    if split:
        made.manifest = icechunk.ManifestConfig(
            splitting=icechunk.ManifestSplittingConfig.from_dict(
                {icechunk.ManifestSplitCondition.AnyArray():
                 {icechunk.ManifestSplitDimCondition.Axis(0): 1}}))
    return made


def storage(url):
    if not url.startswith("s3://"):
        return icechunk.local_filesystem_storage(url)
    parts = urllib.parse.urlsplit(url)
    return icechunk.s3_storage(
        bucket=parts.netloc, prefix=parts.path.strip("/"), region=os.environ["AWS_REGION"],
        endpoint_url=os.environ["AWS_ENDPOINT_URL"], allow_http=True, force_path_style=True,
        access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
        secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"])


def put(session, documents):
    async def every():
        for key, value in documents.items():
            await session.store.set(key, cpu.Buffer.from_bytes(value))
    asyncio.run(every())


def specs(first, n):
    return [icechunk.VirtualChunkSpec(
        [i // ROW, i % ROW, 0, 0],
        f"{PREFIX}forecast/{i // TO_A_LOCATION // 100:04d}/file-{i // TO_A_LOCATION:06d}.grib2",
        i % TO_A_LOCATION * 1000000, 900000 + i * 7919 % 100000) for i in range(first, first + n)]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def tell(**values):
    print(json.dumps(values), flush=True)


def time_commit(name, repository, refs):
    before, start = peak(), time.perf_counter()
    session = repository.writable_session("main")
    session.store.set_virtual_refs("a", refs, validate_containers=True)
    session.commit("bench")
    tell(name=name, seconds=time.perf_counter() - start,
         bytes_a_reference=(peak() - before) / len(refs))


def write(folder, n):
    repository = icechunk.Repository.create(storage(folder), config())
    session = repository.writable_session("main")
    put(session, {"a/zarr.json": document([20000, 1000, 1, 1])})
    session.commit("array")
    time_commit("write", repository, specs(0, n))


def append(folder, n):
    time_commit("append", icechunk.Repository.open(storage(folder)), specs(1000000, n))


def nodes(folder, n):
    repository = icechunk.Repository.create(storage(folder), config())
    session = repository.writable_session("main")
    put(session, {f"group-{i % 100:02d}/array-{i:05d}/zarr.json":
                  document([20000, 1000, 1, 1]) for i in range(n)})
    session.commit("nodes")

    async def listed():
        opened = await icechunk.Repository.open_async(storage(folder))
        session = await opened.readonly_session_async("main")
        # The documents of all nodes come before the first chunk.
        return len([key async for key in session.store.list_prefix("")])
    times = []
    for _ in range(5):
        start = time.perf_counter()
        assert asyncio.run(listed()) >= n
        times.append(time.perf_counter() - start)
    tell(name="nodes", seconds=statistics.median(times))


def lookup(folder, n):
    async def found(store, index):
        return await store.exists("a/c/" + "/".join(map(str, index)))

    async def once():
        opened = await icechunk.Repository.open_async(storage(folder))
        store = (await opened.readonly_session_async("main")).store
        start = time.perf_counter()
        assert await found(store, (500, 500, 0, 0))
        cold = time.perf_counter() - start
        start = time.perf_counter()
        for i in range(5000):
            number = i * 7919 % 1000000
            assert await found(store, (number // ROW, number % ROW, 0, 0))
        return cold, (time.perf_counter() - start) / 5000
    results = [asyncio.run(once()) for _ in range(3)]
    tell(name="lookup", cold=statistics.median(cold for cold, _ in results),
         warm=statistics.median(warm for _, warm in results))


def racer(url, who, processes, commits, barrier, results):
    repository = icechunk.Repository.open(storage(url))
    barrier.wait()
    for window in range(who, commits, processes):
        session = repository.writable_session("main")
        session.store.set_virtual_refs(
            "a", [icechunk.VirtualChunkSpec([window, j], PREFIX + "some/file.grib2", j, 1)
                  for j in range(100)], validate_containers=True)
        start = time.perf_counter()
        session.commit("race", rebase_with=icechunk.ConflictDetector())
        results.put(time.perf_counter() - start)


def race(url, processes, commits):
    repository = icechunk.Repository.create(storage(url), config(split=True))
    session = repository.writable_session("main")
    put(session, {"a/zarr.json": document([4096, 100])})
    session.commit("array")
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes + 1), context.Queue()
    racers = [context.Process(target=racer,
                              args=(url, who, processes, commits, barrier, results))
              for who in range(processes)]
    for one in racers:
        one.start()
    barrier.wait()
    start = time.perf_counter()
    seconds = sorted(results.get() for _ in range(commits))
    total = time.perf_counter() - start
    for one in racers:
        one.join()
    landed = len(list(repository.ancestry(branch="main"))) - 2
    tell(processes=processes, commits=commits, commits_a_second=commits / total,
         median=statistics.median(seconds), p99=seconds[(commits - 1) * 99 // 100],
         lost=commits - landed)


if __name__ == "__main__":
    works = {"write": write, "append": append, "nodes": nodes, "lookup": lookup, "race": race}
    works[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
