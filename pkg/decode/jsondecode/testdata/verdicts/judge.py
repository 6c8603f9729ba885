#!/usr/bin/env python3
"""Write the verdicts of Python's and Node's parsers into texts.tsv."""
import base64, json, pathlib, subprocess

NODE = """
const lines = require('fs').readFileSync(0, 'latin1').split('\\n').filter(Boolean)
for (const l of lines) {
  let v = 'y'
  try { JSON.parse(new TextDecoder('utf-8', {ignoreBOM: true}).decode(Buffer.from(l.slice(1), 'base64'))) } catch (e) { v = 'n' }
  console.log(v)
}
"""


def refuse(word):
    raise ValueError(word)


def text(column):
    if column.startswith("hex:"):
        return bytes.fromhex(column[4:])
    if column.startswith("repeat:"):
        parts = json.loads(column[7:])
        return "".join(s * n for s, n in zip(parts[::2], parts[1::2])).encode()
    return json.loads(column).encode("utf-8", "surrogatepass")


def python(b):
    try:
        json.loads(b.decode("utf-8"), parse_constant=refuse)
        return "y"
    except (ValueError, RecursionError):
        return "n"


table = pathlib.Path(__file__).with_name("texts.tsv")
rows = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
texts = [text(r[1]) for r in rows]
lines = "".join("=" + base64.b64encode(t).decode() + "\n" for t in texts)
node = subprocess.run(["node", "-e", NODE], input=lines.encode(), capture_output=True, check=True).stdout.decode().split()
assert len(node) == len(rows), (len(node), len(rows))
with table.open("w", encoding="utf-8", newline="\n") as f:
    for r, t, n in zip(rows, texts, node):
        f.write("\t".join([r[0], r[1], python(t), n, r[-1]]) + "\n")
