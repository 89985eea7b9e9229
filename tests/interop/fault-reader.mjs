// SPDX-License-Identifier: Apache-2.0
// As fault-reader.py, with zarrita.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import * as zarr from "zarrita";
import { FileSystemStore } from "@zarrita/storage";

function compare(got, bytes) {
  const want = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
  const differs = (value, i) => !(Math.abs(value - want[i]) <= 1e-9 * Math.abs(want[i]));
  const at = got.length === want.length ? got.findIndex(differs) : 0;
  return at < 0 ? "right" : `WRONG ${got[at]} instead of ${want[at]}`;
}

let array = null;

async function answer(word, argument) {
  if (word === "open") {
    array = null;
    array = await zarr.open(new FileSystemStore(`${argument}/t`), { kind: "array" });
    return "opened";
  }
  if (array === null) return "raised when it was opened";
  return compare((await zarr.get(array)).data, readFileSync(argument));
}

for await (const line of createInterface({ input: process.stdin })) {
  const [word, argument] = line.split(/ (.*)/);
  console.log(await answer(word, argument).catch((error) =>
    `raised ${error}`.replace(/\s+/g, " ").slice(0, 300)));
}
