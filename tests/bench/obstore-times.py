# SPDX-License-Identifier: Apache-2.0
"""obstore-times.py URL SIZE COUNT AT_ONCE: seconds that obstore needs for COUNT small ranges."""

import asyncio
import sys
import time

import obstore
from obstore.store import HTTPStore

OBJECT_SIZE = 64 << 20


async def main():
    url, size, count, at_once = sys.argv[1], *map(int, sys.argv[2:])
    store = HTTPStore.from_url(url, client_options={"allow_http": True})
    left = iter(range(count))

    async def worker():
        for i in left:
            start = i * size % (OBJECT_SIZE - size)
            data = await obstore.get_range_async(store, "object", start=start, length=size)
            assert len(data) == size

    await obstore.get_range_async(store, "object", start=0, length=size)
    begin = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    print(time.perf_counter() - begin)


asyncio.run(main())
