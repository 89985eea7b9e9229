# SPDX-License-Identifier: Apache-2.0
"""GRIB messages for the tests: some made here with ecCodes, and those of public projects."""

import os
import pathlib

import eccodes
import numpy as np


def make(packing, rows=31, columns=40, decimals=2, missing=False, scan=0, first_longitude=0,
         base=280):
    """One edition 2 message on a regular grid that spans the globe."""
    handle = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
    try:
        for key, value in {
                "Ni": columns, "Nj": rows, "iDirectionIncrementInDegrees": 360 / columns,
                "jDirectionIncrementInDegrees": 180 / (rows - 1),
                "latitudeOfFirstGridPointInDegrees": -90 if scan & 0x40 else 90,
                "latitudeOfLastGridPointInDegrees": 90 if scan & 0x40 else -90,
                "longitudeOfFirstGridPointInDegrees": first_longitude,
                "longitudeOfLastGridPointInDegrees":
                    (first_longitude + 360 - 360 / columns) % 360,
                "scanningMode": scan}.items():
            eccodes.codes_set(handle, key, value)
        y, x = np.mgrid[0:rows, 0:columns]
        values = base + 15 * np.sin(x / 5.0) * np.cos(y / 7.0) + 0.01 * x
        if missing:
            eccodes.codes_set(handle, "bitmapPresent", 1)
            values[(x + y) % 7 == 0] = 9999
        eccodes.codes_set(handle, "packingType", "grid_simple")
        eccodes.codes_set(handle, "decimalPrecision", decimals)
        eccodes.codes_set_values(handle, values.ravel())
        if packing != "grid_simple":
            eccodes.codes_set(handle, "packingType", packing)
        return eccodes.codes_get_message(handle)
    finally:
        eccodes.codes_release(handle)


def made():
    """Name and bytes of the messages made here."""
    yield "simple", make("grid_simple")
    yield "simple-bitmap", make("grid_simple", missing=True)
    yield "simple-south-first", make("grid_simple", scan=0x40, first_longitude=180)
    yield "differences", make("grid_complex_spatial_differencing")
    yield "ccsds", make("grid_ccsds")


def split(data):
    """Offset and length of each message of a file."""
    at = data.find(b"GRIB")
    while at >= 0:
        edition = data[at + 7]
        length = int.from_bytes(data[at + 8:at + 16] if edition == 2 else data[at + 4:at + 7])
        if data[at + length - 4:at + length] == b"7777":
            yield at, length
            at = data.find(b"GRIB", at + length)
        else:
            at = data.find(b"GRIB", at + 4)


def public(per_file=3):
    """Name and bytes of the first messages of the files of public projects, if they are here."""
    folder = os.environ.get("REFMT_TEST_DATA")
    for path in sorted(pathlib.Path(folder, "grib").glob("*.grib*")) if folder else []:
        if path.suffix == ".idx":
            continue
        data = path.read_bytes()
        for number, (offset, length) in enumerate(split(data)):
            if number < per_file:
                yield f"{path.name}-{number}", data[offset:offset + length]


def n_points(message):
    """Rows and columns of the grid, or None where it has none."""
    handle = eccodes.codes_new_from_message(message)
    try:
        keys = ("Ny", "Nx") if eccodes.codes_is_defined(handle, "Ny") else ("Nj", "Ni")
        return tuple(eccodes.codes_get_long(handle, key) for key in keys)
    except eccodes.CodesInternalError:
        return None
    finally:
        eccodes.codes_release(handle)
