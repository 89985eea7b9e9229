# SPDX-License-Identifier: Apache-2.0
"""Datasets written by `refmt backfill-local`, opened by the public icechunk, zarr and xarray packages.

What they see is compared with the reference system's own trees and references (REFMT_TEST_DATA).
"""

import json
import os
import pathlib
import re
import shutil
import unittest

import icechunk
import numpy as np
import xarray as xr
import zarr

import peer

HRRR = "noaa-hrrr-forecast-48-hour-virtual"
# Dataset, folder of its tree, end of a backfill with one position, container of its sources.
DATASETS = [
    (HRRR, HRRR, "2018-07-13T18:00", "s3://noaa-hrrr-bdp-pds/"),
    ("noaa-hrrr-forecast-18-hour-virtual", "noaa-hrrr-forecast-18-hour-virtual",
     "2018-07-13T13:00", "s3://noaa-hrrr-bdp-pds/"),
    ("noaa-hrrr-analysis-virtual", "UNMERGED-noaa-hrrr-analysis-virtual", "2014-10-01T01:00",
     "s3://noaa-hrrr-bdp-pds/"),
    ("noaa-gefs-forecast-10-day-spatial-dev", "noaa-gefs-forecast-10-day-spatial-dev",
     "2020-10-01T06:00", "s3://noaa-gefs-pds/"),
    ("ecmwf-aifs-single-forecast-virtual", "ecmwf-aifs-single-forecast-virtual",
     "2024-04-01T06:00", "s3://ecmwf-forecasts/"),
]
LARGE = ("latitude", "longitude")
# Golden references: dataset, container, first position and end, files, arrays that they reach.
GOLDEN = [
    (HRRR, "s3://noaa-hrrr-bdp-pds/", "2025-08-01", "2025-08-01T06:00",
     [f"hrrr_sfc_f{lead}.refs.tsv" for lead in ("00", "08", "24")], 142),
    ("noaa-gefs-forecast-10-day-spatial-dev", "s3://noaa-gefs-pds/", "2025-08-01",
     "2025-08-01T06:00", ["gefs_gep01_s_f015.refs.tsv"], 20),
    ("ecmwf-aifs-single-forecast-virtual", "s3://ecmwf-forecasts/", "2025-03-01",
     "2025-03-01T06:00", [f"aifs_single_20250301_00z_{lead}h.refs.tsv" for lead in (0, 6)], 34),
]


def test_data():
    root = os.environ.get("REFMT_TEST_DATA")
    if not root:
        raise unittest.SkipTest("REFMT_TEST_DATA is not set")
    return pathlib.Path(root)


def open_repository(url):
    return icechunk.Repository.open(icechunk.local_filesystem_storage(str(url)))


def walk(group, path=""):
    """Every node below a group: path and node."""
    yield path, group
    for name in sorted(group.keys()):
        node = group[name]
        if isinstance(node, zarr.Group):
            yield from walk(node, f"{path}/{name}")
        else:
            yield f"{path}/{name}", node


class Datasets(peer.Case):
    def backfill(self, dataset, end, container, *more):
        url, source = self.folder / "store", self.folder / "source"
        source.mkdir(exist_ok=True)
        peer.run("backfill-local", dataset, end, "--store", url, "--source", f"{container}={source}",
                 *more)
        return url

    def test_structure(self):
        for dataset, folder, end, container in DATASETS:
            with self.subTest(dataset=dataset):
                shutil.rmtree(self.folder / "store", ignore_errors=True)
                url = self.backfill(dataset, end, container)
                store = open_repository(url).readonly_session("main").store
                ours = dict(walk(zarr.open_group(store, mode="r")))
                tree = test_data() / "templates" / folder
                theirs = dict(walk(zarr.open_group(tree, mode="r")))
                self.assertEqual(ours.keys(), theirs.keys())
                for path, node in theirs.items():
                    self.assertEqual(dict(ours[path].attrs), dict(node.attrs), path)
                    if isinstance(node, zarr.Group):
                        self.assert_equal_in_xarray(
                            xr.open_zarr(store, group=path, consolidated=False, chunks=None),
                            xr.open_zarr(tree, group=path, consolidated=False, chunks=None))
                        continue
                    self.assertEqual(ours[path].metadata, node.metadata, path)
                    if "coordinates" not in node.attrs and path.split("/")[-1] not in LARGE:
                        np.testing.assert_array_equal(ours[path][...], node[...], path)

    def assert_equal_in_xarray(self, ours, theirs):
        """Attributes, dimensions, encodings and coordinates; data variables have no data."""
        self.assertEqual(ours.attrs, theirs.attrs)
        self.assertEqual(set(ours.variables), set(theirs.variables))
        self.assertEqual(set(ours.coords), set(theirs.coords))
        for name, variable in theirs.variables.items():
            self.assertEqual(ours[name].attrs, variable.attrs, name)
            self.assertEqual(ours[name].dims, variable.dims, name)
            encoding = {key: value for key, value in ours[name].encoding.items() if key != "source"}
            wanted = {key: value for key, value in variable.encoding.items() if key != "source"}
            self.assertEqual(repr(encoding), repr(wanted), name)
        for name in theirs.coords:
            if name not in LARGE:
                np.testing.assert_array_equal(ours[name].values, theirs[name].values, name)

    def test_two_positions(self):
        """A store longer than the tree: in xarray the first position is the tree's."""
        url = self.backfill(HRRR, "2018-07-14T00:00", "s3://noaa-hrrr-bdp-pds/")
        store = open_repository(url).readonly_session("main").store
        ours = xr.open_zarr(store, consolidated=False, chunks=None)
        theirs = xr.open_zarr(test_data() / "templates" / HRRR, chunks=None)
        self.assertEqual(ours.sizes["init_time"], 2)
        self.assert_equal_in_xarray(ours.isel(init_time=[0]), theirs)
        for name in LARGE:
            np.testing.assert_array_equal(ours[name].values, theirs[name].values, name)
        np.testing.assert_array_equal(
            ours.valid_time.values, ours.init_time.values[:, None] + ours.lead_time.values[None, :])

    def publish(self, index, key):
        """A file as the index has it, and just as long; nothing but its last message begins."""
        text = (test_data() / "fixtures" / index).read_text()
        path = self.folder / "source" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("{"):
            rows = [json.loads(line) for line in text.splitlines()]
            last, length = max((row["_offset"], row["_length"]) for row in rows)
            path.with_suffix(".index").write_text(text)
        else:
            last, length = int(text.splitlines()[-1].split(":")[1]), None
            path.with_name(path.name + ".idx").write_text(text)
        return path, last, length

    def publish_golden(self, golden, container):
        """The file that a golden set of references is of; the references."""
        lines = (test_data() / "golden" / golden).read_text().splitlines()
        index, size = re.match(r"# index=(\S+) file_size=(\d+)", lines[0]).groups()
        refs = [line.split("\t") for line in lines
                if not line.startswith(("#", "var_path"))]
        path, last, length = self.publish(index, refs[0][2].removeprefix(container))
        length = length or int(size) - last
        with open(path, "wb") as data:
            data.truncate(int(size))
            data.seek(last)
            data.write(b"GRIB\0\0\0\x02" + length.to_bytes(8, "big"))
        return refs

    @staticmethod
    def place(group, dimension, label):
        """Where a label is along a dimension."""
        values = group[dimension][...]
        if dimension.endswith("_time") and dimension != "lead_time":
            label = np.datetime64(label).astype("datetime64[s]").astype("int64")
        elif dimension == "lead_time":
            label = int(label.removesuffix("h")) * 3600
        return int(np.flatnonzero(values == float(label))[0])

    def build_with_icechunk(self, ours, refs, container):
        """The same references put together by the public package from the golden files."""
        config = icechunk.RepositoryConfig.default()
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(
            container, icechunk.s3_store(region="us-east-1", anonymous=True)))
        repository = icechunk.Repository.create(
            icechunk.local_filesystem_storage(str(self.folder / "theirs")), config=config)
        session = repository.writable_session("main")
        group, specs = zarr.create_group(session.store), {}
        for path, labels, location, offset, length in refs:
            label = dict(pair.split("=") for pair in labels.split(","))
            parent = ours[path.rpartition("/")[0]] if "/" in path else ours
            index = [self.place(parent, dimension, label[dimension]) if dimension in label else 0
                     for dimension in ours[path].metadata.dimension_names]
            specs.setdefault(path, []).append(
                icechunk.VirtualChunkSpec(index, location, int(offset), int(length)))
        for path, items in specs.items():
            group.create_array(path, shape=ours[path].shape, chunks=ours[path].chunks,
                               dtype="float64")
            self.assertIsNone(session.store.set_virtual_refs(f"/{path}", items,
                                                             validate_containers=True))
        session.commit("golden")
        return self.folder / "theirs", sorted(specs)

    def test_references(self):
        for dataset, container, first, end, goldens, n_paths in GOLDEN:
            with self.subTest(dataset=dataset):
                for name in ("store", "theirs", "source"):
                    shutil.rmtree(self.folder / name, ignore_errors=True)
                refs = [ref for golden in goldens for ref in self.publish_golden(golden, container)]
                url = self.backfill(dataset, end, container, "--filter-start", first)
                session = open_repository(url).readonly_session("main")
                theirs, paths = self.build_with_icechunk(
                    zarr.open_group(session.store, mode="r"), refs, container)
                self.assertEqual(len(paths), n_paths)
                for path in paths:
                    self.assertEqual(peer.run_lines("repo", "refs", url, f"/{path}"),
                                     peer.run_lines("repo", "refs", theirs, f"/{path}"), path)
                self.assertEqual(len(session.all_virtual_chunk_locations()), len(refs))


peer.main()
