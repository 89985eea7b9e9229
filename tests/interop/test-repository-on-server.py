# SPDX-License-Identifier: Apache-2.0
"""A repository's life on a real object store: 50 commits, two racing writers, a reader.

usage: test-repository-on-server.py s3|gcs|azure, run by with-server with STORE_URL set
"""

import base64
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading

REFMT = os.environ["REFMT"]
REFMTFS = os.environ["REFMTFS"]
URL = os.environ["STORE_URL"] + "/repository"
COMMITS, RACERS, RACE = 50, 2, 10


def refmt(*arguments, text=""):
    done = subprocess.run([REFMT, *arguments], input=text, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"refmt {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def array(length):
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [length],
        "data_type": "float64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
    }


def commit(index):
    value = base64.b64encode(struct.pack("<d", index + 0.5)).decode()
    operation = {"op": "put", "key": f"a/c/{index}", "base64": value}
    refmt("repo", "apply", URL, "-m", f"chunk {index}", text=json.dumps(operation) + "\n")


def race(start):
    for index in range(start, start + RACE):
        commit(index)


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, not {want!r}")


def read_with_icechunk(kind, folder):
    import icechunk
    import zarr

    bucket, prefix = "bucket", "some/prefix/repository"
    if kind == "s3":
        storage = icechunk.s3_storage(
            bucket=bucket,
            prefix=prefix,
            endpoint_url=os.environ["AWS_ENDPOINT_URL"],
            region="us-east-1",
            from_env=True,
            allow_http=True,
            force_path_style=True,
        )
    elif kind == "azure":
        os.environ["AZURITE_BLOB_STORAGE_URL"] = os.environ["AZURE_STORAGE_ENDPOINT"]
        storage = icechunk.azure_storage(
            account="devstoreaccount1",
            container=bucket,
            prefix=prefix,
            access_key=os.environ["AZURE_STORAGE_ACCOUNT_KEY"],
            config={"azure_storage_use_emulator": "true", "azure_allow_http": "true"},
        )
    else:
        # The library writes through an API that the emulator lacks; it reads a copy.
        for entry in json.loads(refmt("store", "ls", "-r", "--json", URL)):
            path = os.path.join(folder, entry["key"])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                subprocess.run([REFMT, "store", "cat", f"{URL}/{entry['key']}"], stdout=file, check=True)
        storage = icechunk.local_filesystem_storage(folder)
    repository = icechunk.Repository.open(storage)
    return zarr.open(repository.readonly_session("main").store, mode="r")["a"][:].tolist()


def read_mounted(indexes, want):
    if not os.access("/dev/fuse", os.W_OK):
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([REFMTFS, URL, folder], check=True)
        try:
            for index in indexes:
                with open(f"{folder}/a/c/{index}", "rb") as file:
                    expect("mount", struct.unpack("<d", file.read()), (want[index],))
        finally:
            subprocess.run(["fusermount3", "-u", folder], check=True)


def follow_azure_container():
    """A reference into a container, whose account only the configuration (or environment) names."""
    url, endpoint = URL + "-virtual", os.environ["AZURE_STORAGE_ENDPOINT"]
    environment = {k: v for k, v in os.environ.items() if k != "AZURE_STORAGE_ACCOUNT"}
    for where, account in (("map", {"account": "devstoreaccount1"}), ("environment", {})):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            store = {"azure": {**account, "endpoint": endpoint}}
            record = {"name": None, "url_prefix": "az://bucket/sources/", "store": store}
            json.dump({"virtual_chunk_containers": {"az://bucket/sources/": record}}, file)
            file.flush()
            refmt("repo", "init", f"{url}-{where}", "--config", file.name)
        group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
        location = "az://bucket/sources/a b%20c"
        reference = {"index": [0], "location": location, "offset": 4, "length": 8}
        operations = [
            {"op": "put", "key": "zarr.json", "json": group},
            {"op": "put", "key": "a/zarr.json", "json": array(1)},
            {"op": "set_refs", "array": "/a", "refs": [reference]},
        ]
        text = "".join(json.dumps(o) + "\n" for o in operations)
        refmt("repo", "apply", f"{url}-{where}", "-m", "a reference", text=text)
        refmt("store", "put", "az://devstoreaccount1/bucket/sources/a b%20c", text="0123456789abcdef")
        cat = [REFMT, "repo", "cat", f"{url}-{where}", "a/c/0"]
        refused = subprocess.run(cat, capture_output=True, text=True)
        expect("without permission", (refused.returncode, refused.stdout), (1, ""))
        allowed = cat + ["--allow", "az://bucket/sources/=env"]
        env = environment if where == "map" else os.environ
        got = subprocess.run(allowed, capture_output=True, text=True, env=env)
        expect(f"virtual chunk, account from the {where}: {got.stderr}", got.stdout, "456789ab")


def main():
    kind = sys.argv[1]
    total = COMMITS + RACERS * RACE
    refmt("repo", "init", URL)
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    operations = [
        {"op": "put", "key": "zarr.json", "json": group},
        {"op": "put", "key": "a/zarr.json", "json": array(total)},
    ]
    refmt("repo", "apply", URL, "-m", "structure", text="".join(json.dumps(o) + "\n" for o in operations))
    for index in range(COMMITS):
        commit(index)
    racers = [threading.Thread(target=race, args=(COMMITS + i * RACE,)) for i in range(RACERS)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    expect("commits", len(json.loads(refmt("repo", "log", URL, "--json"))), total + 2)
    want = [index + 0.5 for index in range(total)]
    for index in (0, COMMITS, total - 1):
        got = subprocess.run([REFMTFS, "cat", URL, f"a/c/{index}"], capture_output=True, check=True)
        expect("refmtfs", struct.unpack("<d", got.stdout), (want[index],))
    read_mounted((0, COMMITS, total - 1), want)
    with tempfile.TemporaryDirectory() as folder:
        expect("icechunk", read_with_icechunk(kind, folder), want)
    if kind == "azure":
        follow_azure_container()


main()
