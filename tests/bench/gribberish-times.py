# SPDX-License-Identifier: Apache-2.0
"""Prints "file number seconds" for first messages of real files: gribberish's processor time."""

import pathlib
import statistics
import sys
import time

import gribberish

REPEAT = 15
WARM_UP = 2


def messages(data):
    """Whole messages, by the lengths in their section 0."""
    start = data.find(b"GRIB")
    while start >= 0:
        if data[start + 7] == 1:
            length = int.from_bytes(data[start + 4 : start + 7], "big")
        else:
            length = int.from_bytes(data[start + 8 : start + 16], "big")
        yield data[start : start + length]
        start = data.find(b"GRIB", start + length)


def seconds(message):
    times = []
    for i in range(WARM_UP + REPEAT):
        begin = time.thread_time()
        gribberish.parse_grib_array(message, 0)
        times.append(time.thread_time() - begin)
    return statistics.median(times[WARM_UP:])


for path in sorted(pathlib.Path(sys.argv[1]).glob("*.grib*")):
    if path.suffix == ".idx":
        continue
    for number, message in enumerate(messages(path.read_bytes()), 1):
        if number > 4:
            break
        print(path.name, number, seconds(message), flush=True)
