# SPDX-License-Identifier: Apache-2.0
"""How long mounting a repository of 180 arrays takes, on an S3 server of this machine.

Beside it three round trips to the same server: the repository object, its snapshot, and one to
spare.
"""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import obstore.store

ARRAYS = 180
ROUNDS = 9

url = os.environ["STORE_URL"]
refmt, refmtfs = os.environ["REFMT"], os.environ["REFMTFS"]


def document():
    return {"zarr_format": 3, "node_type": "array", "shape": [1000, 1059, 1799],
            "data_type": "float32", "fill_value": "NaN", "attributes": {"units": "K"},
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1059, 1799]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}


def make():
    operations = [{"op": "put", "key": "zarr.json",
                   "json": {"zarr_format": 3, "node_type": "group"}}]
    operations += [{"op": "put", "key": f"variable_{i}/zarr.json", "json": document()}
                   for i in range(ARRAYS)]
    subprocess.run([refmt, "repo", "init", url], check=True)
    subprocess.run([refmt, "repo", "apply", url, "-m", "arrays"], check=True,
                   input="\n".join(map(json.dumps, operations)).encode(),
                   stdout=subprocess.DEVNULL)


def mounted(folder):
    begin = time.perf_counter()
    subprocess.run([refmtfs, url, folder], check=True)
    seconds = time.perf_counter() - begin
    if len(os.listdir(folder)) < ARRAYS:
        raise SystemExit("arrays are missing")
    subprocess.run(["fusermount3", "-u", folder], check=True)
    return seconds


make()
store = obstore.store.from_url(url, client_options={"allow_http": True})
ours, floor = [], []
with tempfile.TemporaryDirectory(prefix="refmt-bench-") as folder:
    mount = pathlib.Path(folder) / "mount"
    mount.mkdir()
    for _ in range(ROUNDS):
        ours.append(mounted(str(mount)))
        begin = time.perf_counter()
        for _ in range(3):
            obstore.get(store, "repo").bytes()
        floor.append(time.perf_counter() - begin)
ours, floor = statistics.median(ours), statistics.median(floor)
print(f"mounted, 180 arrays on S3: {ours * 1e3:.1f} ms, three round trips {floor * 1e3:.1f} ms, "
      f"{(ours - floor) * 1e3:.1f} ms more (target 20"
      f"{', missed' if ours > floor + 0.020 else ''})")
