#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The machine code of malloc and free in build/libshardsweep_malloc.so. Needs objdump and nm.

malloc_code.py            tests that the listing in malloc/README.md is that of the library, if the same compiler has made it
malloc_code.py show NAME  prints the code of a function, up to the padding behind it
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "libshardsweep_malloc.so"
README = ROOT / "malloc" / "README.md"
# Longer than any of the functions.
MOST_BYTES = 256


def output(*command):
    """What a command says."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def start_of(name):
    """The address of a function. Several names may have one, so objdump cannot be asked for it by name."""
    found = re.search(rf"^([0-9a-f]+) T {re.escape(name)}$", output("nm", "-D", LIBRARY), re.M)
    if not found:
        sys.exit(f"malloc_code: error: {LIBRARY.relative_to(ROOT)} has no function {name}")
    return int(found[1], 16)


def code(name):
    """Lines of offset and instruction. What lies outside of the function is `elsewhere`: its address differs by build."""
    start = start_of(name)
    ends = [f"--start-address={start}", f"--stop-address={start + MOST_BYTES}"]
    dump = output("objdump", "-d", "-M", "intel", "--no-show-raw-insn", *ends, LIBRARY)
    lines = []
    for address, text in re.findall(r"^ *([0-9a-f]+):\t(.*?) *$", dump, re.M):
        if text == "int3":
            break
        jump = re.fullmatch(r"(j\w+|call) +([0-9a-f]+) <.*>", text)
        if jump:
            target = int(jump[2], 16) - start
            text = f"{jump[1]:6} {target:x}" if 0 <= target < MOST_BYTES else f"{jump[1]:6} elsewhere"
        text = re.sub(r"\[rip\+0x[0-9a-f]+\] +#.*", "[elsewhere]", text)
        lines.append(f"{int(address, 16) - start:3x}  {text}".replace("\t", " "))
    return lines


def listed(name, readme):
    """The lines of a function in the listing, without what is said of them."""
    block = re.search(rf"```text\n{name}:\n(.*?)```", readme, re.S)
    return [line.split(";")[0].rstrip() for line in block[1].splitlines()] if block else []


def test():
    """Compares listing and library."""
    readme = README.read_text()
    compiler = re.search(r"by (rustc [\d.]+\d)", readme)
    comment = output("readelf", "-p", ".comment", LIBRARY)
    if not compiler:
        sys.exit("malloc_code: error: malloc/README.md does not name the compiler of its listings")
    if compiler[1].replace("rustc", "rustc version") not in comment:
        print("malloc_code: another compiler made the library than the one of the listing: not compared")
        return
    for name in ("malloc", "free"):
        if code(name) != listed(name, readme):
            ours = "\n".join(code(name))
            sys.exit(
                f"malloc_code: error: the listing of {name} in malloc/README.md is not that of the library:\n{ours}"
            )
    print("malloc_code: the listing is that of the library")


def main(arguments):
    """Runs the command line."""
    match arguments:
        case []:
            test()
        case ["show", name]:
            print(*code(name), sep="\n")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
