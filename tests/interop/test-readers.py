# SPDX-License-Identifier: Apache-2.0
"""Readers of Zarr that know nothing of us, through a mount: the arrays that icechunk and
gribberish give, bit for bit."""

import base64
import os
import subprocess
import unittest
import warnings

import dask
import dask.array
import numpy as np
import rasterio
import tensorstore
import zarr
import zarrs  # noqa: F401, registers its pipeline

import archive
import peer

# Reads arrays with zarrita and writes each as a line: path, data type, base64 of the bytes.
ZARRITA = """
import * as zarr from "zarrita";
import { FileSystemStore } from "@zarrita/storage";
const [root, ...paths] = process.argv.slice(2);
for (const path of paths) {
  const array = await zarr.open(new FileSystemStore(`${root}/${path}`), { kind: "array" });
  const { data } = await zarr.get(array);
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  console.log(`${path} ${array.dtype} ${bytes.toString("base64")}`);
}
"""


class Readers(peer.Case):
    programs = ("REFMT", "REFMTFS")

    def setUp(self):
        super().setUp()
        made = archive.Archive(self.folder)
        direct = zarr.open_group(made.session.store, mode="r")
        self.want = {path: direct[path][...] for path in made.fields
                     if path.endswith(("turned", "celsius", "single"))}
        for name in ("zstd", "gzip", "blosc", "none", "sharded"):
            self.want[f"plain/{name}"] = direct[f"plain/{name}"][...]
        self.mount = made.mount(self.folder / "mount", "-o", "decode=gribberish")

    def compare(self, path, got):
        want = self.want[path]
        got = np.asarray(got)
        self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype), path)
        self.assertEqual(got.tobytes(), want.tobytes(), path)

    def test_zarrs(self):
        with self.mount as root, zarr.config.set({"codec_pipeline.path":
                                                  "zarrs.ZarrsCodecPipeline"}):
            for path in self.want:
                self.compare(path, zarr.open_array(str(root / path), mode="r")[...])

    def test_dask(self):
        with self.mount as root, dask.config.set(scheduler="threads", num_workers=8):
            arrays = [dask.array.from_zarr(str(root / path)) for path in self.want]
            for path, got in zip(self.want, dask.compute(*arrays)):
                self.compare(path, got)

    def test_tensorstore(self):
        with self.mount as root:
            for path in self.want:
                opened = tensorstore.open({"driver": "zarr3", "kvstore": {
                    "driver": "file", "path": f"{root / path}/"}}, open=True, read=True)
                self.compare(path, opened.result().read().result())

    def test_gdal(self):
        with self.mount as root, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for path, want in self.want.items():
                if want.ndim == 3:
                    name = f'ZARR:"{root / path}":/{path.rsplit("/", 1)[1]}:0'
                    with rasterio.open(name) as opened:
                        got = opened.read(1)
                    self.assertEqual(got.tobytes(), want[0].tobytes(), path)

    def test_zarrita(self):
        servers = os.environ.get("REFMT_SERVERS", "")
        if not os.path.isdir(f"{servers}/node_modules/zarrita"):
            raise unittest.SkipTest("zarrita is not installed, see tests/interop/install-servers")
        script = self.folder / "read.mjs"
        script.write_text(ZARRITA)
        (self.folder / "node_modules").symlink_to(f"{servers}/node_modules")
        paths = [path for path, want in self.want.items() if want.size < 1_000_000]
        with self.mount as root:
            done = subprocess.run(["node", script, root, *paths], capture_output=True,
                                  text=True, timeout=peer.TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        lines = done.stdout.split("\n")[:-1]
        self.assertEqual(len(lines), len(paths))
        for line in lines:
            path, data_type, data = line.split(" ")
            self.compare(path, np.frombuffer(base64.b64decode(data), data_type)
                         .reshape(self.want[path].shape))


if __name__ == "__main__":
    peer.main()
