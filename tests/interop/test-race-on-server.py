# SPDX-License-Identifier: Apache-2.0
"""Processes race to commit disjoint windows of one array: every commit lands, the history is linear,
and no lost race writes a manifest again.  Of those that change one chunk all but one are refused.
Run by with-server with STORE_URL set."""

import json
import os
import subprocess
import unittest

import operations as ops
import peer

COMMITS = 64


class Race(unittest.TestCase):
    def race(self, processes):
        url = f"{os.environ['STORE_URL']}/race-{processes}"
        done = subprocess.run([peer.program("REPO_RACE"), url, str(processes), str(COMMITS)],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["commits"], told["manifests"]), (COMMITS, COMMITS))

        log = peer.run_json("repo", "log", url)
        self.assertEqual(len({entry["id"] for entry in log}), COMMITS + 2)
        self.assertEqual([entry["parent"] for entry in log],
                         [*(entry["id"] for entry in log[1:]), None])
        keys = [entry["key"] for entry in json.loads(
            peer.run("store", "ls", "-r", "--json", f"{url}/manifests"))]
        self.assertEqual(len(keys), COMMITS)
        peer.run("repo", "verify", url)

    def test_race(self):
        for processes in (2, 8, 32):
            with self.subTest(processes=processes):
                self.race(processes)

    def test_overlap(self):
        """Of many that change one chunk on top of one snapshot, one wins."""
        url = f"{os.environ['STORE_URL']}/overlap"
        peer.run("repo", "init", url)
        base = peer.apply(url, "structure", {"op": "put", "key": "a/zarr.json",
                                             "json": ops.array([4], [1])})
        racers = [subprocess.Popen(
            [peer.program("REFMT"), "repo", "apply", url, "-m", f"racer {i}", "--base", base],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for i in range(8)]
        for i, racer in enumerate(racers):
            racer.stdin.write(json.dumps({"op": "put", "key": "a/c/0", "text": str(i)}) + "\n")
        told = [(racer.communicate(timeout=120)[1], racer.returncode) for racer in racers]
        self.assertEqual(sorted(status for _, status in told), [0, *[1] * 7], told)
        for text, status in told:
            self.assertTrue(status == 0 or "chunk 0" in text, text)
        self.assertEqual(len(peer.run_json("repo", "log", url)), 3)


if __name__ == "__main__":
    peer.main()
