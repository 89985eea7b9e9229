# SPDX-License-Identifier: Apache-2.0
"""Decoding beside the gribberish package: real messages, made ones and their coordinates."""

import os
import pathlib

import gribberish
import numpy as np

import peer

FLAGS = [(False, False), (True, False), (False, True), (True, True)]


def messages(data):
    """(offset, length) of whole messages, by the lengths in their section 0."""
    start = data.find(b"GRIB")
    while start >= 0:
        if data[start + 7] == 1:
            length = int.from_bytes(data[start + 4 : start + 7], "big")
        else:
            length = int.from_bytes(data[start + 8 : start + 16], "big")
        yield start, length
        start = data.find(b"GRIB", start + length)


def decode(path, offset, length, *options, dtype="<f8"):
    bytes_ = peer.run(
        "grib", "decode", str(path), "--offset", str(offset), "--length", str(length), *options
    )
    return np.frombuffer(bytes_, dtype)


def flags(adjust, north_up):
    options = []
    if adjust:
        options.append("--adjust-longitude-range")
    if north_up:
        options.append("--north-up")
    return options


def equal_bits(a, b):
    return a.shape == b.shape and np.array_equal(a.view("u8"), b.view("u8"))


class RealMessages(peer.Case):
    """Every message of the shared data has the bits that gribberish gives."""

    # Constant fields whose decimal scale the codec forgets, and rows that it leaves alternating.
    DIFFERENT = {
        "s2s-pdt9-pdt10-pdt12.grib2": 10,
        "nbm-asnow-prob-thresholds.grib2": 2,  # the third is zero everywhere
        "nbm-multilevel-tcdc.grib2": 2,
        "nbm-pwat-prob-above.grib2": 6,
    }

    def files(self):
        root = os.environ.get("REFMT_TEST_DATA", "")
        folder = pathlib.Path(root) / "grib"
        if not root or not folder.is_dir():
            self.skipTest("no real messages, REFMT_TEST_DATA names no folder with them")
        return sorted(p for p in folder.glob("*.grib*") if p.suffix != ".idx")

    def test_as_gribberish(self):
        for path in self.files():
            data = path.read_bytes()
            for number, (offset, length) in enumerate(messages(data)):
                # All four in the first message of a file, both in the others; of the 160 like
                # messages of a reanalysis some.
                if number > 20 and number % 10:
                    continue
                some = FLAGS if number == 0 and length < 1400000 else FLAGS[3:]
                for adjust, north_up in some:
                    with self.subTest(file=path.name, message=number, flags=(adjust, north_up)):
                        want = gribberish.parse_grib_array(
                            data[offset : offset + length], 0, adjust, north_up
                        ).ravel()
                        have = decode(path, offset, length, "--decode", "gribberish",
                                      *flags(adjust, north_up))
                        self.assertTrue(equal_bits(have, want))

    def test_float32(self):
        for path in self.files():
            data = path.read_bytes()
            offset, length = next(messages(data))
            want = gribberish.parse_grib_array(data[offset : offset + length], 0).ravel()
            have = decode(path, offset, length, "--decode", "gribberish", "--type", "float32",
                          dtype="<f4")
            with self.subTest(file=path.name):
                self.assertTrue(np.array_equal(have, want.astype("f4"), equal_nan=True))

    def test_wmo_differs_where_the_table_says(self):
        for path in self.files():
            data = path.read_bytes()
            different = 0
            for offset, length in list(messages(data))[:10]:
                want = gribberish.parse_grib_array(data[offset : offset + length], 0).ravel()
                different += not equal_bits(decode(path, offset, length), want)
            with self.subTest(file=path.name):
                self.assertEqual(different, self.DIFFERENT.get(path.name, 0))

    def test_coordinates(self):
        for path in self.files():
            data = path.read_bytes()
            offset, length = next(messages(data))
            message = data[offset : offset + length]
            try:
                metadata = gribberish.parse_grib_message_metadata(message, 0)
            except Exception:  # a parameter that it does not know
                continue
            for adjust, north_up in FLAGS:
                want = metadata.latlng(adjust, north_up)
                for name, values in zip(("latitude", "longitude"), want):
                    have = decode(path, offset, length, "--var", name,
                                  *flags(adjust, north_up))
                    with self.subTest(file=path.name, name=name, flags=(adjust, north_up)):
                        # The last bits of projections depend on the mathematics library.
                        self.assertEqual(have.shape, values.ravel().shape)
                        self.assertLess(np.abs(have - values.ravel()).max(), 1e-7)
                        if len(have) < 10000:
                            self.assertTrue(equal_bits(have, values.ravel()))


if __name__ == "__main__":
    peer.main()
