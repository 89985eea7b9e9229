# SPDX-License-Identifier: Apache-2.0
"""A repository with plain arrays and with references to GRIB messages, made by the public packages."""

import icechunk
import numpy as np
import zarr
from gribberish.zarr import GribberishCodec
from zarr.codecs import BloscCodec, GzipCodec, ScaleOffset, ZstdCodec

import messages
import peer

CHAINS = {
    "bare": {},
    "turned": {"adjust_longitude_range": True, "north_up": True},
}


class Archive:
    """A folder of GRIB files, and a repository with arrays of both kinds."""

    def __init__(self, folder):
        self.files = folder / "files"
        self.files.mkdir()
        self.url = folder / "repository"
        self.prefix = f"file://{self.files}/"
        holder, self.permission = peer.container(self.prefix)
        config = icechunk.RepositoryConfig.default()
        config.inline_chunk_threshold_bytes = 64
        config.set_virtual_chunk_container(holder)
        self.repository = icechunk.Repository.create(
            icechunk.local_filesystem_storage(str(self.url)), config,
            authorize_virtual_chunk_access=self.permission)
        self.fields = []
        session = self.repository.writable_session("main")
        root = zarr.create_group(session.store, attributes={"title": "both kinds"})
        self.add_plain(root)
        for name, message in [*messages.made(), *messages.public()]:
            self.add_field(session, root, name, message)
        session.commit("everything")
        self.session = self.repository.readonly_session("main")

    def add_plain(self, root):
        values = np.random.default_rng(3).normal(size=(100, 120)).astype("f4")
        for name, compressors in {"zstd": ZstdCodec(), "gzip": GzipCodec(), "none": None,
                                  "blosc": BloscCodec(cname="zstd", shuffle="shuffle")}.items():
            array = root.create_array(f"plain/{name}", shape=(100, 120), chunks=(30, 50),
                                      dtype="f4", compressors=compressors, fill_value=7,
                                      dimension_names=["y", "x"])
            array[:60] = values[:60]
        root.create_array("plain/sharded", shape=(100, 120), chunks=(10, 10), shards=(50, 60),
                          dtype="f4", dimension_names=["y", "x"])[:] = values
        root.create_array("plain/scalar", shape=(), dtype="i8")[...] = 42
        root.create_array("plain/names", shape=(3,), dtype="<U8")[:] = ["a", "ß", "long name"]

    def add_field(self, session, root, name, message):
        shape = messages.n_points(message)
        if not shape or shape[0] * shape[1] > 3_000_000:
            return
        (self.files / name).write_bytes(b"front" + message + b"back")
        for chain, flags in CHAINS.items():
            self.add_array(session, root, f"fields/{name}/{chain}", shape, name, len(message),
                           GribberishCodec("X", **flags), "f8", "auto")
        self.add_array(session, root, f"fields/{name}/single", shape, name, len(message),
                       GribberishCodec("X"), "f4", "auto")
        self.add_array(session, root, f"fields/{name}/celsius", shape, name, len(message),
                       GribberishCodec("X"), "f8", [ScaleOffset(offset=-273.15, scale=1.0)])

    def add_array(self, session, root, path, shape, file, length, codec, dtype, filters):
        root.create_array(path, shape=(2, *shape), chunks=(1, *shape), dtype=dtype,
                          serializer=codec, filters=() if filters == "auto" else filters,
                          compressors=None, fill_value=np.nan, dimension_names=["t", "y", "x"])
        session.store.set_virtual_ref(f"{path}/c/0/0/0", f"{self.prefix}{file}", offset=5,
                                      length=length)
        self.fields.append(path)

    def mount(self, folder, *options):
        return peer.mounted(self.url, folder, "--allow", self.prefix, *options)
