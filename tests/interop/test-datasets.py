# SPDX-License-Identifier: Apache-2.0
"""Datasets written by `refmt backfill-local`, opened by the public icechunk, zarr and xarray packages.

What they see is compared with the reference system's own trees and references (REFMT_TEST_DATA).
"""

import os
import pathlib
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
                theirs = dict(walk(zarr.open_group(test_data() / "templates" / folder, mode="r")))
                self.assertEqual(ours.keys(), theirs.keys())
                for path, node in theirs.items():
                    self.assertEqual(dict(ours[path].attrs), dict(node.attrs), path)
                    if isinstance(node, zarr.Group):
                        continue
                    self.assertEqual(ours[path].metadata, node.metadata, path)
                    if "coordinates" not in node.attrs and path.split("/")[-1] not in LARGE:
                        np.testing.assert_array_equal(ours[path][...], node[...], path)

    def test_xarray(self):
        url = self.backfill(HRRR, "2018-07-14T00:00", "s3://noaa-hrrr-bdp-pds/")
        store = open_repository(url).readonly_session("main").store
        ours = xr.open_zarr(store, consolidated=False, chunks=None)
        theirs = xr.open_zarr(test_data() / "templates" / HRRR, chunks=None)
        self.assertEqual(ours.attrs, theirs.attrs)
        self.assertEqual(set(ours.variables), set(theirs.variables))
        self.assertEqual(ours.sizes["init_time"], 2)
        for name, variable in theirs.variables.items():
            self.assertEqual(ours[name].attrs, variable.attrs, name)
            self.assertEqual(ours[name].dims, variable.dims, name)
            encoding = {key: value for key, value in ours[name].encoding.items() if key != "source"}
            wanted = {key: value for key, value in variable.encoding.items() if key != "source"}
            self.assertEqual(repr(encoding), repr(wanted), name)
        for name in theirs.coords:
            first = ours[name].isel(init_time=[0]) if "init_time" in ours[name].dims else ours[name]
            np.testing.assert_array_equal(first.values, theirs[name].values, name)
        np.testing.assert_array_equal(
            ours.valid_time.values, ours.init_time.values[:, None] + ours.lead_time.values[None, :])

    def publish_fixtures(self):
        """The surface files that the reference system has indexes of; data that is just long enough."""
        folder = self.folder / "source" / "hrrr.20250801" / "conus"
        folder.mkdir(parents=True)
        for lead in ("00", "08", "24"):
            name = f"hrrr.t00z.wrfsfcf{lead}.grib2"
            index = (test_data() / "fixtures" / "noaa" / f"{name}.idx").read_text()
            (folder / f"{name}.idx").write_text(index)
            last, length = int(index.splitlines()[-1].split(":")[1]), 1500000
            with open(folder / name, "wb") as data:
                data.truncate(last + length)
                data.seek(last)
                data.write(b"GRIB\0\0\0\x02" + length.to_bytes(8, "big"))

    def build_with_icechunk(self, shapes):
        """The same references put together by the public package from the golden files."""
        container = icechunk.VirtualChunkContainer(
            "s3://noaa-hrrr-bdp-pds/", icechunk.s3_store(region="us-east-1", anonymous=True))
        config = icechunk.RepositoryConfig.default()
        config.set_virtual_chunk_container(container)
        repository = icechunk.Repository.create(
            icechunk.local_filesystem_storage(str(self.folder / "theirs")), config=config)
        session = repository.writable_session("main")
        group = zarr.create_group(session.store)
        specs = {}
        for lead in ("00", "08", "24"):
            golden = (test_data() / "golden" / f"hrrr_sfc_f{lead}.refs.tsv").read_text()
            for line in golden.splitlines():
                if line.startswith("#") or line.startswith("var_path"):
                    continue
                path, labels, location, offset, length = line.split("\t")
                label = dict(pair.split("=") for pair in labels.split(","))
                since = np.datetime64(label["init_time"]) - np.datetime64("2018-07-13T12:00:00")
                index = [int(since / np.timedelta64(6, "h")), int(label["lead_time"][:-1]), 0, 0]
                specs.setdefault(path, []).append(
                    icechunk.VirtualChunkSpec(index, location, int(offset), int(length)))
        for path, refs in specs.items():
            group.create_array(path, shape=shapes[path], chunks=(1, 1, *shapes[path][2:]),
                               dtype="float64")
            self.assertIsNone(session.store.set_virtual_refs(f"/{path}", refs,
                                                             validate_containers=True))
        session.commit("golden")
        return self.folder / "theirs", sorted(specs)

    def test_references(self):
        self.publish_fixtures()
        url = self.backfill(HRRR, "2025-08-01T06:00", "s3://noaa-hrrr-bdp-pds/",
                            "--filter-start", "2025-08-01")
        store = open_repository(url).readonly_session("main").store
        shapes = {path[1:]: node.shape for path, node in walk(zarr.open_group(store, mode="r"))
                  if path and not isinstance(node, zarr.Group)}
        theirs, paths = self.build_with_icechunk(shapes)
        self.assertEqual(len(paths), 142)
        for path in paths:
            self.assertEqual(peer.run_lines("repo", "refs", url, f"/{path}"),
                             peer.run_lines("repo", "refs", theirs, f"/{path}"), path)
        locations = open_repository(url).readonly_session("main").all_virtual_chunk_locations()
        self.assertEqual(len(set(locations)), 3)


peer.main()
