# SPDX-License-Identifier: Apache-2.0
"""Repositories made by the public icechunk package, read by `refmt repo` and compared with it."""

import os
import pathlib
import urllib.parse

import peer
import repositories

# The package cannot read back a location that it wrote here, see the data's own README.
UNREADABLE = ("features-v2",)


class ReadRepositories(peer.Case):
    def compare(self, url, repository):
        """Everything that both tell about the repository, at every branch and tag."""
        info = peer.run_json("repo", "info", url)
        # On local files the package lists branches of specification 1 by their folders.
        names = [urllib.parse.unquote(name) if info["spec_version"] == 1 else name
                 for name in repository.list_branches()]
        branches = {name: repository.lookup_branch(name) for name in names}
        tags = {name: repository.lookup_tag(name) for name in repository.list_tags()}
        self.assertEqual(info["spec_version"], repository.spec_version.value
                         if hasattr(repository.spec_version, "value") else repository.spec_version)
        self.assertEqual(info["branches"], branches)
        self.assertEqual(info["tags"], tags)

        for name in branches:
            self.compare_log(url, repository, name)
        seen = set()
        for option, name, snapshot in [
                *(("--branch", name, snapshot) for name, snapshot in branches.items()),
                *(("--tag", name, snapshot) for name, snapshot in tags.items())]:
            session = (repository.readonly_session(branch=name) if option == "--branch"
                       else repository.readonly_session(tag=name))
            self.assertEqual(session.snapshot_id, snapshot)
            if snapshot not in seen:
                seen.add(snapshot)
                self.compare_snapshot(url, repository, session, option, name)

    def compare_log(self, url, repository, branch):
        ours = peer.run_json("repo", "log", url, "--branch", branch)
        theirs = list(repository.ancestry(branch=branch))
        self.assertEqual(
            [(entry["id"], entry["parent"], entry["message"], entry["metadata"],
              entry["written_at"]) for entry in ours],
            [(entry.id, entry.parent_id, entry.message, entry.metadata,
              entry.written_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")) for entry in theirs])

    def compare_snapshot(self, url, repository, session, option, name):
        ours = peer.run_json("repo", "ls", url, option, name)
        theirs = list(repositories.nodes(repository, session))
        self.assertEqual([{key: node[key] for key in other} for node, other in zip(ours, theirs)],
                         theirs)
        self.assertEqual(len(ours), len(theirs))
        for node in theirs:
            document = repositories.key_of(node["path"], "zarr.json")
            self.assertEqual(peer.run("repo", "cat", url, document, option, name),
                             repositories.get(session, document))
            if node["type"] == "array":
                self.compare_references(url, session, node["path"], option, name)

    def compare_references(self, url, session, path, option, name):
        ours = peer.run_lines("repo", "refs", url, path, "--jsonl", option, name)
        indices = repositories.coordinates(session, path)
        self.assertEqual([tuple(reference["index"]) for reference in ours], indices)
        for reference in [*ours[:12], *ours[-3:]]:
            kind = str(session.chunk_type(path, reference["index"]))
            self.assertEqual(f"ChunkType.{reference['kind']}", kind)
            if reference["kind"] != "virtual":
                key = repositories.chunk_key(path, reference["index"])
                data = peer.run("repo", "cat", url, key, option, name)
                self.assertEqual(data, repositories.get(session, key))
                self.assertEqual(reference["length"], len(data))

    def test_made_here(self):
        for spec in (1, 2):
            with self.subTest(spec=spec):
                folder = self.folder / f"spec-{spec}"
                repository = repositories.make(folder, spec)
                self.compare(folder, repository)

                # The package does not tell a reference's parts; we know what was asked for.
                self.assertEqual(
                    peer.run_lines("repo", "refs", folder, "/virtual", "--jsonl"),
                    list(repositories.expected_virtual_refs()))

                # Cut off, then gone for good; and never written.
                peer.run("repo", "cat", folder, "split/c/5/0", status=3)
                peer.run("repo", "cat", folder, "inline/c/0", status=3)
                peer.run("repo", "stat", folder, "inline/c/0", "--json", status=3)

    def test_public_files(self):
        data = os.environ.get("REFMT_TEST_DATA")
        if not data:
            self.skipTest("no data of public projects (REFMT_TEST_DATA)")
        folders = sorted(path.parent for pattern in ("*/snapshots", "generated/*/snapshots")
                         for path in pathlib.Path(data, "icechunk").glob(pattern))
        self.assertTrue(folders)
        for folder in folders:
            if folder.name not in UNREADABLE:
                with self.subTest(folder=folder.name):
                    self.compare(folder, peer.open_repository(folder))


if __name__ == "__main__":
    peer.main()
