# SPDX-License-Identifier: Apache-2.0
"""`refmt` run many times by one process that stays (refmt-server.c)."""

import base64
import json
import os
import subprocess
import unittest


class Server:
    def __init__(self):
        path = os.environ.get("REFMT_SERVER")
        if not path or not os.access(path, os.X_OK):
            raise unittest.SkipTest("REFMT_SERVER does not name a program")
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def run(self, *arguments, text="", status=0):
        request = {"arguments": ["refmt", *map(str, arguments)], "input": text}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if status is not None and answer["status"] != status:
            raise AssertionError(f"refmt {' '.join(map(str, arguments))}: exit status "
                                 f"{answer['status']}, not {status}: {answer['errors'][-3000:]}")
        output = base64.b64decode(answer["output"])
        return (answer["status"], output, answer["errors"]) if status is None else output

    def json(self, *arguments, **options):
        return json.loads(self.run(*arguments, "--json", **options))

    def refs(self, url, array, *options):
        return [json.loads(line)
                for line in self.run("repo", "refs", url, array, "--jsonl", *options).splitlines()]

    def apply(self, url, message, operations, *options):
        text = "".join(json.dumps(operation) + "\n" for operation in operations)
        return self.run("repo", "apply", url, "-m", message, *options, text=text).decode().strip()

    def ask(self, **request):
        self.process.stdin.write(json.dumps({key: str(value) for key, value in request.items()}))
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def dump(self, url):
        """All of main's tip that does not depend on ids and times."""
        nodes = self.ask(dump=url)
        for node in nodes:
            for ref in node["refs"]:
                ref.pop("chunk_id", None)
        return nodes
