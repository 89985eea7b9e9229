# SPDX-License-Identifier: Apache-2.0
"""Decoding beside the gribberish package, and GDAL where that is wrong: real messages."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import gribberish
import numpy as np

import peer

FLAGS = [(False, False), (True, True), (True, False), (False, True)]  # adjust, north_up
LARGE = {"MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2"}  # 24 million points


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


def grid(message):
    """Section 3 of a message; of edition 1 all of it, which no other is like."""
    start = 16
    while message[7] == 2 and message[start + 4] != 3:
        start += int.from_bytes(message[start : start + 4], "big")
    if message[7] == 1:
        return message
    return message[start : start + int.from_bytes(message[start : start + 4], "big")]


class Values:
    """Values of messages from one process that stays (grib-values.c)."""

    def __init__(self, folder):
        path = os.environ.get("GRIB_VALUES")
        if not path or not os.access(path, os.X_OK):
            raise unittest.SkipTest("GRIB_VALUES does not name a program")
        self.message, self.out = folder / "message", folder / "values"
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.wait() != 0:
            raise AssertionError(f"grib-values: exit status {self.process.returncode}")

    def decode(self, message, mode="wmo", adjust=False, north_up=False, dtype="f8", var="-"):
        self.message.write_bytes(message)
        flags = "a" * adjust + "n" * north_up or "-"
        self.process.stdin.write(f"{self.message} {mode} {dtype} {var} {flags} {self.out}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "ok":
            raise AssertionError(answer or "grib-values has ended")
        return np.fromfile(self.out, dtype)


def equal_bits(a, b):
    return a.shape == b.shape and np.array_equal(a.view("u8"), b.view("u8"))


class RealMessages(peer.Case):
    """Every message of the shared data has the bits that gribberish gives."""

    programs = ()

    # Constant fields whose decimal scale the codec forgets, and rows that it leaves alternating.
    DIFFERENT = {
        "s2s-pdt9-pdt10-pdt12.grib2": 10,
        "nbm-asnow-prob-thresholds.grib2": 2,  # the third is zero everywhere
        "nbm-multilevel-tcdc.grib2": 2,
        "nbm-pwat-prob-above.grib2": 6,
    }

    def setUp(self):
        super().setUp()
        root = os.environ.get("REFMT_TEST_DATA", "")
        data = pathlib.Path(root) / "grib"
        if not root or not data.is_dir():
            self.skipTest("no real messages, REFMT_TEST_DATA names no folder with them")
        self.files = sorted(p for p in data.glob("*.grib*") if p.suffix != ".idx")
        values = Values(self.folder)
        self.addCleanup(values.close)
        self.decode = values.decode

    def test_values(self):
        for path in self.files:
            different = 0
            for number, message in enumerate(messages(path.read_bytes())):
                # One flag alone in the first message of a file.
                for flags in FLAGS[:2] if number or path.name in LARGE else FLAGS:
                    with self.subTest(file=path.name, message=number, flags=flags):
                        want = gribberish.parse_grib_array(message, 0, *flags).ravel()
                        have = self.decode(message, "gribberish", *flags)
                        self.assertTrue(equal_bits(have, want))
                        if flags == FLAGS[0]:
                            different += not equal_bits(self.decode(message), want)
            with self.subTest(file=path.name):
                self.assertEqual(different, self.DIFFERENT.get(path.name, 0))

    def test_float32(self):
        for path in self.files:
            message = next(messages(path.read_bytes()))
            want = self.decode(message, "gribberish").astype("f4")
            have = self.decode(message, "gribberish", dtype="f4")
            with self.subTest(file=path.name):
                self.assertTrue(np.array_equal(have, want, equal_nan=True))

    def gdal(self, path, number):
        """Band @number as Debian's GDAL has it, and its value for a missing point."""
        raw = self.folder / "gdal.raw"
        subprocess.run(["gdal_translate", "-q", "--config", "GRIB_NORMALIZE_UNITS", "NO", "-of",
                        "ENVI", "-ot", "Float64", "-b", str(number), str(path), str(raw)],
                       check=True)
        header = raw.with_suffix(".hdr").read_text()
        missing = re.search(r"^data ignore value = (.*)$", header, re.MULTILINE)
        return np.fromfile(raw), float(missing[1]) if missing else None

    def test_different_ones_as_gdal(self):
        """What is not the codec's value is GDAL's: rows from the north, float32 inside."""
        if not shutil.which("gdal_translate"):
            self.skipTest("no gdal_translate, it is in Debian's gdal-bin")
        for path in self.files:
            if path.name not in self.DIFFERENT:
                continue
            for number, message in enumerate(messages(path.read_bytes()), 1):
                want, missing = self.gdal(path, number)
                want[want == missing] = np.nan
                have = self.decode(message, north_up=True)
                with self.subTest(file=path.name, message=number):
                    self.assertEqual(have.shape, want.shape)
                    np.testing.assert_array_equal(np.isnan(have), np.isnan(want))
                    np.testing.assert_allclose(have, want, rtol=2**-22, atol=0)

    def test_coordinates(self):
        seen = set()
        for path in self.files:
            message = next(messages(path.read_bytes()))
            if grid(message) in seen:
                continue
            seen.add(grid(message))
            try:
                metadata = gribberish.parse_grib_message_metadata(message, 0)
            except Exception:  # a parameter that it does not know
                continue
            for flags in FLAGS[:2] if path.name in LARGE else FLAGS:
                for name, values in zip(("latitude", "longitude"), metadata.latlng(*flags)):
                    want, have = values.ravel(), self.decode(message, "wmo", *flags, var=name)
                    with self.subTest(file=path.name, name=name, flags=flags):
                        # The last bits of projections depend on the mathematics library.
                        self.assertEqual(have.shape, want.shape)
                        self.assertLess(np.abs(have - want).max(), 1e-7)
                        if len(have) < 10000:
                            self.assertTrue(equal_bits(have, want))


if __name__ == "__main__":
    peer.main()
