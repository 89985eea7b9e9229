# SPDX-License-Identifier: Apache-2.0
"""Arrays written by the public zarr package, decoded by ours, encoded again, and read by it."""

import itertools
import json
import math
import shutil

import numpy as np
import zarr
from zarr.codecs import (BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ScaleOffset,
                         ShardingCodec, TransposeCodec, ZstdCodec)

import peer

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128", "U3", "S3", "V5",
         "datetime64[s]", "timedelta64[us]"]

COMPRESSORS = {
    "none": [],
    "zstd": [ZstdCodec(level=0, checksum=False)],
    "zstd-checksum": [ZstdCodec(level=7, checksum=True)],
    "gzip": [GzipCodec(level=5)],
    "crc32c": [Crc32cCodec()],
    "zstd-crc32c": [ZstdCodec(level=1), Crc32cCodec()],
    "gzip-zstd": [GzipCodec(level=1), ZstdCodec(level=1)],
    **{f"blosc-{cname}-{shuffle}": [BloscCodec(typesize=8, cname=cname, clevel=3, shuffle=shuffle)]
       for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
       for shuffle in ["noshuffle", "shuffle", "bitshuffle"]},
    "blosc-blocks": [BloscCodec(typesize=4, cname="zstd", clevel=9, shuffle="shuffle",
                                blocksize=512)],
}


def values(shape, dtype, seed=0):
    """Repeating and random parts, NaN and infinity where the type has them."""
    random = np.random.default_rng(seed)
    n = math.prod(shape)
    dtype = np.dtype(dtype)
    if dtype.kind in "USV":
        items = [str(i % 100)[:3].encode() for i in range(n)]
        array = np.array(items, dtype="S5" if dtype.kind == "V" else "S3")
        array = array.view("V5") if dtype.kind == "V" else array.astype(dtype)
        return array.reshape(shape)
    array = np.where(np.arange(n) % 3 == 0, random.integers(0, 100, n), np.arange(n) // 7 % 50)
    if dtype.kind in "fc":
        array = array + random.random(n).round(2)
        array[::11] = np.nan
        array[5::17] = np.inf
    return array.astype(dtype).reshape(shape)


class ZarrCodecs(peer.Case):
    programs = ("ZARR_CHUNK",)

    def setUp(self):
        super().setUp()
        self.lines = []
        self.checks = []

    def write(self, name, array, **options):
        """Writes @array with zarr and asks ours to decode, encode and decode every chunk of it."""
        path = self.folder / name
        options.setdefault("chunks", array.shape)
        options.setdefault("filters", None)
        options.setdefault("compressors", None)
        zarr.create_array(str(path), shape=array.shape, dtype=array.dtype, config={
            "write_empty_chunks": True}, **options)[...] = array
        ours = self.folder / f"{name}.ours"
        shutil.copytree(path, ours)
        for chunk in path.glob("c/**/*") if array.ndim else [path / "c"]:
            if chunk.is_dir():
                continue
            key = str(chunk.relative_to(path))
            index = key[2:].replace("/", ",") or "-"
            decoded = self.folder / f"{name}.{key.replace('/', '.')}"
            self.lines.append(f"decode {path}/zarr.json {index} {chunk} {decoded}")
            self.lines.append(f"encode {path}/zarr.json {index} {decoded} {ours}/{key}")
            self.checks.append((path, index, decoded))
        return path

    def ask(self):
        text = "".join(line + "\n" for line in self.lines)
        answers = peer.run(name="ZARR_CHUNK", text=text).decode().splitlines()
        self.assertEqual([line for line, answer in zip(self.lines, answers) if answer != "ok"], [],
                         answers)
        self.assertEqual(len(answers), len(self.lines))

    def finish(self):
        """Runs what was asked for and compares, in values and in bytes."""
        self.ask()
        self.assertTrue(self.checks)
        for path, index, decoded in self.checks:
            with self.subTest(path=path.name, index=index):
                theirs = zarr.open_array(str(path), mode="r")[...]
                ours = zarr.open_array(f"{path}.ours", mode="r")[...]
                np.testing.assert_array_equal(ours, theirs)
                self.assertEqual(np.asarray(ours).tobytes(), np.asarray(theirs).tobytes())
                self.compare_chunk(path, index, decoded, theirs)

    def compare_chunk(self, path, index, decoded, theirs):
        """The decoded chunk against the part of the array that it holds."""
        grid = json.loads((path / "zarr.json").read_text())["chunk_grid"]
        if grid["name"] != "regular":
            return
        shape = grid["configuration"]["chunk_shape"]
        chunk = np.frombuffer(decoded.read_bytes(), theirs.dtype).reshape(shape)
        starts = [int(i) * n for i, n in zip(index.split(","), shape)] if shape else []
        part = theirs[tuple(slice(s, s + n) for s, n in zip(starts, shape))]
        held = chunk[tuple(slice(0, n) for n in np.shape(part))]
        self.assertEqual(np.ascontiguousarray(held).tobytes(), np.ascontiguousarray(part).tobytes())

    def test_types(self):
        for dtype, endian in itertools.product(TYPES, ["little", "big"]):
            name = f"{dtype}-{endian}".replace("[", "").replace("]", "")
            self.write(name, values((4, 6), dtype), serializer=BytesCodec(endian=endian))
        self.finish()

    def test_compressors(self):
        for name, compressors in COMPRESSORS.items():
            self.write(name, values((30, 50), "float64"), compressors=compressors)
            self.write(name + "-small", values((3,), "int16"), compressors=compressors)
        self.finish()

    def test_shapes(self):
        self.write("scalar", np.array(7, dtype="int64"), compressors=COMPRESSORS["zstd"])
        self.write("edges", values((7, 5, 3), "float32"), chunks=(3, 2, 3),
                   compressors=COMPRESSORS["blosc-zstd-shuffle"], fill_value=np.nan)
        with zarr.config.set({"array.rectilinear_chunks": True}):
            self.write("rectilinear", values((10, 6), "int32"), chunks=[[3, 3, 4], [1, 5]],
                       compressors=COMPRESSORS["gzip"])
            self.finish()

    def test_transpose(self):
        for order in itertools.permutations(range(3)):
            self.write("transpose-%d%d%d" % order, values((4, 3, 5), "float32"),
                       filters=[TransposeCodec(order=order)])
        self.write("twice", values((4, 3, 5), "uint8"), filters=[
            TransposeCodec(order=(2, 0, 1)), TransposeCodec(order=(1, 0, 2))])
        self.finish()

    def test_sharding(self):
        for location in ["start", "end"]:
            for inner in [(2, 3), (4, 6), (1, 1)]:
                array = values((8, 12), "float64")
                array[:4, :6] = -999.0
                self.write("shard-%s-%d%d" % (location, *inner), array, chunks=(4, 12),
                           serializer=ShardingCodec(
                               chunk_shape=inner, codecs=[BytesCodec(), ZstdCodec(level=3)],
                               index_location=location), fill_value=-999.0)
        self.write("nested", values((8, 8), "int16"), chunks=(8, 8), serializer=ShardingCodec(
            chunk_shape=(4, 4), codecs=[ShardingCodec(
                chunk_shape=(2, 2), codecs=[TransposeCodec(order=(1, 0)), BytesCodec()])]))
        self.finish()

    def test_scale_offset(self):
        cases = {
            "celsius": ("float64", {"offset": -273.15}),
            "metres": ("float32", {"scale": 1000.0}),
            "height": ("float64", {"scale": 9.80665}),
            "both": ("float32", {"scale": 0.1, "offset": 3.7}),
            "half": ("float16", {"scale": 3.0, "offset": 0.1}),
            "whole": ("int32", {"scale": 3, "offset": -7}),
            "negative": ("int64", {"scale": -2, "offset": 5}),
            "unsigned": ("uint64", {"scale": 7}),
        }
        for name, (dtype, options) in cases.items():
            array = values((20, 30), dtype)
            fill = np.nan if array.dtype.kind == "f" else 0
            path = self.write(name, array, filters=[ScaleOffset(**options)], fill_value=fill,
                              compressors=COMPRESSORS["zstd"])
            self.lines.append(f"shown {path}/zarr.json {path}.shown")
        # What is not exact is no round trip: the decoded bytes are compared, and the shown document
        # over them.
        self.ask()
        for path, index, decoded in self.checks:
            with self.subTest(path=path.name):
                theirs = zarr.open_array(str(path), mode="r")[...]
                self.compare_chunk(path, index, decoded, theirs)
                view = self.folder / f"{path.name}.view"
                (view / "c" / "0").mkdir(parents=True)
                shutil.copy(f"{path}.shown", view / "zarr.json")
                shutil.copy(decoded, view / "c/0/0")
                shown = zarr.open_array(str(view), mode="r")
                self.assertEqual(shown[...].tobytes(), theirs.tobytes())
                self.assertEqual(shown.fill_value.tobytes(), zarr.open_array(
                    str(path), mode="r").fill_value.tobytes())

    def test_documents(self):
        group = zarr.create_group(str(self.folder / "g"), attributes={
            "text": "é€🌍\"\\\n\x1f\x7f", "numbers": [1e-7, 1e16, 0.1, -0.0, 1e300, 5, 2**64 - 1],
            "nested": {"a": [], "b": {}, "c": [None, True]}})
        group.create_array("a", shape=(3, 4), chunks=(1, 4), dtype="float64", fill_value=np.nan,
                           dimension_names=["y", None])
        group.create_group("h")
        zarr.consolidate_metadata(group.store)
        paths = list(self.folder.glob("g/**/zarr.json"))
        self.assertEqual(len(paths), 3)
        for number, path in enumerate(paths):
            compact = self.folder / f"{number}.json"
            compact.write_text(json.dumps(json.loads(path.read_text()), ensure_ascii=False,
                                          separators=(",", ":")), encoding="utf-8")
            self.lines.append(f"layout {compact} {compact}.ours")
        self.ask()
        for number, path in enumerate(paths):
            self.assertEqual((self.folder / f"{number}.json.ours").read_bytes(), path.read_bytes())


if __name__ == "__main__":
    peer.main()
