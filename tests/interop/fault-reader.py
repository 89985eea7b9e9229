# SPDX-License-Identifier: Apache-2.0
"""One reader of Zarr, told by lines on standard input what to do: "open FOLDER" opens the array t
in it, "read WANT" reads it whole and compares with the float64 values in a file.

Answers each with a line: "opened", "right", "raised TEXT" or "WRONG TEXT".
"""

import sys
import warnings

import numpy as np


def zarr_python(folder):
    import zarr
    array = zarr.open_array(f"{folder}/t", mode="r")
    return lambda: array[...]


def zarrs(folder):
    import zarr
    import zarrs  # noqa: F401, registers its pipeline
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    return zarr_python(folder)


def xarray(folder):
    import xarray
    array = xarray.open_zarr(folder, consolidated=False, chunks=None)["t"]
    return lambda: array.values


def dask(folder):
    import dask
    import dask.array
    array = dask.array.from_zarr(f"{folder}/t")

    def read():
        with dask.config.set(scheduler="threads", num_workers=8):
            return array.compute()
    return read


def tensorstore(folder):
    import tensorstore
    array = tensorstore.open({"driver": "zarr3", "kvstore": {
        "driver": "file", "path": f"{folder}/t/"}}, open=True, read=True).result()
    return lambda: array.read().result()


def gdal(folder):
    import rasterio
    array = rasterio.open(f'ZARR:"{folder}/t":/t')
    return lambda: array.read(1)


def compare(got, want):
    got = np.asarray(got).ravel()
    if got.shape == want.shape and np.allclose(got, want, rtol=1e-9, atol=0):
        return "right"
    return f"WRONG {np.unique(got)[:3]}... instead of {np.unique(want)[:3]}..."


def main():
    warnings.simplefilter("ignore")
    reader = globals()[sys.argv[1]]
    read = None
    for line in sys.stdin:
        word, argument = line.rstrip("\n").split(" ", 1)
        try:
            if word == "open":
                read = None
                read = reader(argument)
                answer = "opened"
            elif read is None:
                answer = "raised when it was opened"
            else:
                answer = compare(read(), np.fromfile(argument))
        except Exception as error:
            answer = "raised " + " ".join(f"{type(error).__name__}: {error}".split())[:300]
        print(answer, flush=True)


main()
