# SPDX-License-Identifier: Apache-2.0
"""make-azure-container.py PORT NAME: a container in Azurite's well-known account."""

import base64
import email.utils
import hashlib
import hmac
import sys
import urllib.request

# Published by Microsoft for emulators.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def main():
    port, name = sys.argv[1:]
    headers = {
        "x-ms-date": email.utils.formatdate(usegmt=True),
        "x-ms-version": "2021-08-06",
    }
    text = "PUT" + 12 * "\n" + "".join(f"{k}:{v}\n" for k, v in headers.items())
    text += f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    mac = hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(mac).decode()}"
    headers["Content-Length"] = "0"
    url = f"http://127.0.0.1:{port}/{ACCOUNT}/{name}?restype=container"
    urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers))


main()
