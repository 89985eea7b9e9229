# SPDX-License-Identifier: Apache-2.0
"""A mount, read by zarr, xarray and the tools of the system: what icechunk and gribberish give.

The repository is made by the public packages and opened by them directly; the mount must show the
same arrays, bit for bit, to readers that know nothing of Icechunk or GRIB.
"""

import errno
import mmap
import os
import pathlib
import signal
import subprocess
import sys
import time

import eccodes
import numpy as np
import xarray
import zarr

import archive
import peer
import repositories


READ_WHEN_TOLD = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.write(1, b"x")
os.read(0, 1)
data = os.read(fd, 100000)
os.write(2, b"got %d bytes" % len(data))
"""


def states(group):
    """The states of all threads of a process group, as letters."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        try:
            state, _, pgrp = path.read_text().rsplit(")", 1)[1].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(pgrp) == group:
            found.add(state)
    return found


class Mount(peer.Case):
    programs = ("REFMT", "REFMTFS")

    def setUp(self):
        super().setUp()
        self.archive = archive.Archive(self.folder)
        self.mountpoint = self.folder / "mount"

    def test_arrays_are_bit_equal(self):
        direct = zarr.open_group(self.archive.session.store, mode="r")
        with self.archive.mount(self.mountpoint, "-o", "decode=gribberish") as root:
            shown = zarr.open_group(str(root), mode="r")
            self.assertEqual(dict(shown.attrs), dict(direct.attrs))
            compared = 0
            for path, array in sorted(dict(direct.members(max_depth=None)).items()):
                if not isinstance(array, zarr.Array):
                    continue
                try:
                    want = array[...]
                except Exception as error:
                    # What the public codec cannot read is not ours to compare.
                    print(f"{path}: {type(error).__name__}: {str(error).splitlines()[:1]}")
                    continue
                got = shown[path]
                self.assertEqual((got.shape, got.dtype, got.chunks),
                                 (array.shape, array.dtype, array.chunks), path)
                self.assertEqual(dict(got.attrs), dict(array.attrs), path)
                np.testing.assert_array_equal(got[...], want, path)
                if want.dtype.kind in "fiu":
                    self.assertEqual(np.asarray(got[...]).tobytes(), want.tobytes(), path)
                compared += 1
            self.assertGreater(compared, 20)

    def test_xarray(self):
        group = self.archive.fields[0].rsplit("/", 1)[0]
        with self.archive.mount(self.mountpoint, "-o", "decode=gribberish") as root:
            direct = xarray.open_zarr(self.archive.session.store, group=group, consolidated=False)
            shown = xarray.open_zarr(str(root), group=group, consolidated=False)
            xarray.testing.assert_identical(shown.load(), direct.load())

    def test_files_are_those_of_the_store(self):
        with self.archive.mount(self.mountpoint) as root:
            found = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
            listed = subprocess.run(["find", ".", "-type", "f"], cwd=root, check=True,
                                    capture_output=True, text=True).stdout.split("\n")
            self.assertEqual(found, {line[2:] for line in listed if line})
            subprocess.run(["ls", "-lR", "."], cwd=root, check=True, stdout=subprocess.DEVNULL)
            keys = {repositories.key_of("/", "zarr.json")}
            for node in repositories.nodes(self.archive.repository, self.archive.session):
                keys.add(repositories.key_of(node["path"], "zarr.json"))
                if node["type"] == "array":
                    for index in repositories.coordinates(self.archive.session, node["path"]):
                        keys.add(repositories.chunk_key(node["path"], index))
            self.assertEqual(found, keys)
            for key in sorted(keys):
                if key.startswith("plain/"):
                    self.compare_file(root / key, repositories.get(self.archive.session, key))

    def compare_file(self, path, want):
        """The same bytes however they are read."""
        self.assertEqual(path.stat().st_size, len(want), path)
        self.assertEqual(path.read_bytes(), want)
        copy = self.folder / "copy"
        copy.write_bytes(want)
        subprocess.run(["cmp", path, copy], check=True)
        subprocess.run(["dd", f"if={path}", f"of={copy}", "bs=777", "status=none"], check=True)
        self.assertEqual(copy.read_bytes(), want)
        with open(path, "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                self.assertEqual(mapped[:], want)
            self.assertEqual(os.pread(file.fileno(), 10, len(want)), b"")
            self.assertEqual(os.pread(file.fileno(), 100, len(want) - 1), want[-1:])
            self.assertEqual(os.pread(file.fileno(), 1, len(want) // 2),
                             want[len(want) // 2:len(want) // 2 + 1])

    def test_absent_and_read_only(self):
        with self.archive.mount(self.mountpoint) as root:
            self.assertFalse((root / "plain/zstd/c/3/2").exists())
            self.assertFalse((root / self.archive.fields[0] / "c/1/0/0").exists())
            for attempt in (lambda: (root / "new").write_bytes(b""), lambda: (root / "new").mkdir(),
                            lambda: (root / "zarr.json").unlink()):
                with self.assertRaises(OSError) as caught:
                    attempt()
                self.assertEqual(caught.exception.errno, errno.EROFS)

    def test_attributes(self):
        path = self.archive.fields[0]
        with self.archive.mount(self.mountpoint) as root:
            chunk = root / path / "c/0/0/0"
            told = {name: os.getxattr(chunk, name).decode() for name in os.listxattr(chunk)}
            file = path.split("/")[1]
            self.assertEqual(told["user.refmt.kind"], "virtual")
            self.assertEqual(told["user.refmt.location"], self.archive.prefix + file)
            self.assertEqual(told["user.refmt.offset"], "5")
            self.assertEqual(int(told["user.refmt.length"]),
                             (self.archive.files / file).stat().st_size - len("frontback"))
            self.assertEqual(told["user.refmt.snapshot"], self.archive.session.snapshot_id)
            self.assertEqual(told["user.refmt.state"], "present")
            with self.assertRaises(OSError) as caught:
                os.getxattr(chunk, "security.selinux")
            self.assertEqual(caught.exception.errno, errno.EOPNOTSUPP)

    def test_a_lost_source_is_an_error(self):
        path = self.archive.fields[0]
        (self.archive.files / path.split("/")[1]).unlink()
        with self.archive.mount(self.mountpoint) as root:
            chunk = root / path / "c/0/0/0"
            self.assertTrue(chunk.exists())
            with self.assertRaises(OSError) as caught:
                chunk.read_bytes()
            self.assertEqual(caught.exception.errno, errno.EIO)
            with self.assertRaises(Exception):
                zarr.open_array(str(root / path), mode="r")[...]
            # A mapped page that cannot be had is SIGBUS, in a process of its own.
            code = ("import mmap, os, resource, sys\n"
                    "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
                    "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
                    "mmap.mmap(fd, 0, access=mmap.ACCESS_READ)[0]\n")
            done = subprocess.run([sys.executable, "-c", code, chunk], capture_output=True)
            self.assertEqual(done.returncode, -signal.SIGBUS, done.stderr)

    def test_killed_while_reading(self):
        """The reader gets an error: not zeros, not the end of the file."""
        daemon = peer.start_mount(self.archive.url, self.mountpoint, "--allow",
                                  self.archive.prefix)
        try:
            chunk = self.mountpoint / self.archive.fields[0] / "c/0/0/0"
            # The reader opens the file while that can be answered, and reads when it is told to.
            reader = subprocess.Popen([sys.executable, "-c", READ_WHEN_TOLD, chunk],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
            self.assertEqual(reader.stdout.read(1), b"x")
            os.killpg(daemon.pid, signal.SIGSTOP)
            peer.wait_for(lambda: states(daemon.pid) == {"T"}, "all of it to stop")
            reader.stdin.write(b"x")
            reader.stdin.flush()
            time.sleep(0.5)  # it is in read() then, where nothing can be seen of it
            self.assertIsNone(reader.poll())
            os.killpg(daemon.pid, signal.SIGKILL)
            errors = reader.communicate(timeout=peer.TIMEOUT)[1].decode()
            self.assertIn("OSError", errors)
            # What the kernel knows it may still tell; bytes that it does not have are an error.
            with self.assertRaises(OSError) as caught:
                (self.mountpoint / self.archive.fields[1] / "c/0/0/0").read_bytes()
            self.assertEqual(caught.exception.errno, errno.ENOTCONN)
        finally:
            peer.kill_mount(daemon, self.mountpoint)

    def test_without_permission(self):
        with peer.mounted(self.archive.url, self.mountpoint) as root:
            chunk = root / self.archive.fields[0] / "c/0/0/0"
            with self.assertRaises(OSError) as caught:
                chunk.read_bytes()
            self.assertEqual(caught.exception.errno, errno.EACCES)
            self.assertTrue((root / "plain/zstd/c/0/0").read_bytes())

    def test_stored_view(self):
        path = self.archive.fields[0]
        with self.archive.mount(self.mountpoint, "-o", "view=stored") as root:
            shown = pathlib.Path(root, path, "c/0/0/0").read_bytes()
            stored = (self.archive.files / path.split("/")[1]).read_bytes()
            self.assertEqual(shown, stored[len("front"):-len("back")])
            # As grib_ls(1) reads it.
            with open(root / path / "c/0/0/0", "rb") as file:
                handle = eccodes.codes_grib_new_from_file(file)
                self.assertEqual(eccodes.codes_get(handle, "totalLength"), len(shown))
                eccodes.codes_release(handle)
                self.assertIsNone(eccodes.codes_grib_new_from_file(file))
            key = f"{path}/zarr.json"
            self.assertEqual((root / key).read_bytes(),
                             repositories.get(self.archive.session, key))


if __name__ == "__main__":
    peer.main()
