# SPDX-License-Identifier: Apache-2.0
"""xarray on a mount beside xarray on icechunk with gribberish in process.

open-zarr.py MOUNT REPOSITORY SOURCES: opens the root group and takes the mean of one field.  Cold: a
field that nobody has read; warm: the same field again.  Opening is part of both.
"""

import statistics
import sys
import time

import gribberish.zarr  # registers the codec
import icechunk
import xarray

icechunk.set_logs_filter("off")

ROUNDS = 8

mount, repository, sources = sys.argv[1:]
prefix = f"file://{sources}/"
permission = icechunk.containers_credentials({prefix: None})


def open_zarr(store):
    # Arrays of so many chunks would make dask's graph what is measured.
    return xarray.open_zarr(store, consolidated=False, drop_variables=["many", "some"])


def open_mount():
    return open_zarr(mount)


def open_peer():
    opened = icechunk.Repository.open(icechunk.local_filesystem_storage(repository),
                                      authorize_virtual_chunk_access=permission)
    return open_zarr(opened.readonly_session("main").store)


def seconds(open_it, field):
    begin = time.perf_counter()
    value = float(open_it()["field"][field].mean())
    return time.perf_counter() - begin, value


cold, warm = ([], []), ([], [])
last = open_mount().sizes["t"] - 1
for i in range(ROUNDS + 1):  # the first one loads libraries
    for k, open_it in enumerate((open_mount, open_peer)):
        first, value = seconds(open_it, last - i)
        again, same = seconds(open_it, last - i)
        if value != same:
            sys.exit(f"field {last - i} has the mean {value}, then {same}")
        if i:
            cold[k].append(first)
            warm[k].append(again)
for name, times, target in (("cold", cold, 1.0), ("warm", warm, 0.2)):
    ours, theirs = (statistics.median(t) for t in times)
    print(f"open_zarr and the mean of a field, {name}: {ours * 1e3:.1f} ms, icechunk and gribberish "
          f"{theirs * 1e3:.1f} ms, {ours / theirs:.2f} x (target {target:.2f}"
          f"{', missed' if ours > target * theirs else ''})")
