# SPDX-License-Identifier: Apache-2.0
"""What the tests against the public Python packages share.

A test is a script of unittest cases that ends with peer.main().  It is run by run-peer, with the
programs' paths in REFMT and REFMTFS.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import icechunk

icechunk.set_logs_filter("error")

TIMEOUT = 120  # seconds for one run of a program, sanitizers included


class Case(unittest.TestCase):
    """A case with an empty folder of its own, removed afterwards."""

    maxDiff = 4000
    programs = ("REFMT",)

    def setUp(self):
        for name in self.programs:
            program(name)
        folder = tempfile.TemporaryDirectory(prefix="refmt-interop-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


def main():
    """Runs the cases of the script.  Exit status 77 with the reason when all of them skipped."""
    program = unittest.main(module="__main__", argv=[sys.argv[0]], exit=False)
    result = program.result
    if result.wasSuccessful() and result.testsRun and len(result.skipped) == result.testsRun:
        print("SKIP:", result.skipped[0][1])
        sys.exit(77)
    sys.exit(not (result.wasSuccessful() and result.testsRun))


def program(name):
    path = os.environ.get(name)
    if not path or not os.access(path, os.X_OK):
        raise unittest.SkipTest(f"{name} does not name a program")
    return path


def run(*arguments, status=0, text=None, name="REFMT"):
    """Runs a program and returns its standard output as bytes; another exit status is a failure."""
    if isinstance(text, str):
        text = text.encode()
    done = subprocess.run(
        [program(name), *map(str, arguments)], input=text, capture_output=True, timeout=TIMEOUT,
        stdin=subprocess.DEVNULL if text is None else None)
    if done.returncode != status:
        raise AssertionError(
            f"{name.lower()} {' '.join(map(str, arguments))}: exit status {done.returncode}, "
            f"not {status}: {done.stderr.decode(errors='replace')[-3000:]}")
    return done.stdout


def run_json(*arguments, **options):
    return json.loads(run(*arguments, "--json", **options))


def run_lines(*arguments, **options):
    """The objects of an output with one object a line."""
    return [json.loads(line) for line in run(*arguments, **options).splitlines()]


def apply(url, message, *operations, **options):
    """Commits the operations and returns the id of the snapshot."""
    lines = "".join(json.dumps(operation) + "\n" for operation in operations)
    more = [word for key, value in options.items() for word in (f"--{key}", value)]
    return run("repo", "apply", url, "-m", message, *more, text=lines).decode().strip()


def open_repository(folder, **options):
    return icechunk.Repository.open(icechunk.local_filesystem_storage(str(folder)), **options)


def container(prefix):
    """A container of files below a folder, and the permission that opening it takes."""
    return (icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(prefix)),
            icechunk.containers_credentials({prefix: None}))


def make_public_bucket(folder):
    """Makes a bucket of the server beside which the test runs readable for everyone."""
    folder.mkdir(exist_ok=True)
    policy = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": "*", "Action": ["s3:GetObject", "s3:ListBucket"],
        "Resource": [f"arn:aws:s3:::{folder.name}", f"arn:aws:s3:::{folder.name}/*"]}]}
    owner = {"owner": os.environ["AWS_ACCESS_KEY_ID"], "grantees": []}
    try:
        os.setxattr(folder, "user.policy", json.dumps(policy).encode())
        os.setxattr(folder, "user.acl", json.dumps(owner).encode())
    except OSError as error:
        raise unittest.SkipTest(f"no extended attributes for the server's folder: {error}")


def start_mount(url, folder, *options):
    """Starts refmtfs, in a session of its own, and returns it once the mount is there."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise unittest.SkipTest("no /dev/fuse that can be opened")
    folder.mkdir(exist_ok=True)
    daemon = subprocess.Popen(
        [program("REFMTFS"), str(url), str(folder), "-f", *options], start_new_session=True,
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: os.path.ismount(folder) or daemon.poll() is not None, "the mount")
        if daemon.poll() is not None:
            raise AssertionError("refmtfs ended: " + daemon.stderr.read().decode()[-3000:])
    except BaseException:
        kill_mount(daemon, folder)
        raise
    return daemon


def kill_mount(daemon, folder):
    """Kills refmtfs with all that it started, and takes the dead mount away."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(daemon.pid, signal.SIGKILL)
    daemon.wait()
    subprocess.run(["fusermount3", "-u", "-z", str(folder)], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def mounted(url, folder, *options):
    """Mounts a repository at @folder while the block runs; fails if the mount does not go away."""
    daemon = start_mount(url, folder, *options)
    try:
        yield folder
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            errors = daemon.communicate(timeout=TIMEOUT)[1]
        except subprocess.TimeoutExpired:
            kill_mount(daemon, folder)
            raise AssertionError("refmtfs did not end on SIGTERM")
    still_there = os.path.ismount(folder)
    kill_mount(daemon, folder)
    if daemon.returncode != 0:
        raise AssertionError(f"refmtfs: exit status {daemon.returncode}: {errors.decode()[-3000:]}")
    if still_there:
        raise AssertionError("the mount was still there")


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.02)
