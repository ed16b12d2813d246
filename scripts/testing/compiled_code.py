#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Looks at the machine code of accesses to the heap: what C1 and C2 make of those of code/Sites.java, the interpreter's, and
that of the stubs. Needs build/jdk and objdump.

    compiled_code.py                      tests that code for a plan without a barrier is that of HotSpot's Epsilon, which has
                                          none, and that barriers are seen where they belong
    compiled_code.py show PLAN METHOD     prints the code that C2 makes of one method on the build ms-64k, inline allocation and
                                          all, up to the padding before its handlers of exceptions
"""

import itertools
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
JAVA_HOME = ROOT / "build" / "jdk"
SOURCE = Path(__file__).with_name("code") / "Sites.java"

# Class pointers are full words, so that they are seen to be addresses.
OPTIONS = ["-XX:-UseCompressedClassPointers", "-XX:+UnlockDiagnosticVMOptions"]
# The program waits while a method is compiled.
COMPILED = [
    "-Xbatch",
    "-XX:CompileThreshold=5000",
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=dontinline,Sites::*",
    "-XX:CompileCommand=inline,Sites$Holder::clone",
    "-XX:CompileCommand=exclude,Sites::main",
    "-XX:CompileCommand=print,Sites::*",
]
COMPILED_HEADER = r"^Compiled method \(c[12]\) .*Sites::(\w+) .*$"
# Allocation is a call on both sides, for Epsilon's differs. Both heaps lie below 4 GiB: a compressed pointer is the address.
EPSILON = ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC", "-XX:-UseTLAB", "-Xmx256m"]
NO_INLINING = ["-XX:-ThirdPartyHeapInlineAllocation"]

STORES = {"storeField", "storeStatic", "storeElement", "compareAndSet", "getAndSet"}


class Part(NamedTuple):
    """A part of a JVM's machine code, in pieces: methods, bytecodes or stubs."""

    options: list[str]  # have it printed
    header: str  # the line before each piece, with its name
    stores: set[str]  # pieces that have a barrier where the plan has one
    loads: set[str]  # those that have one where the plan keeps a snapshot
    unlike: set[str] = frozenset()  # those that differ where the plan has a barrier, without having one


# Clones are new, and whether a Reference refers to something does not make that strong. Where there is a barrier, a copy of three
# elements is a call in C2, of a stub with the barrier, or behind it; in C1 it always is one. Other stubs save registers for a
# barrier that they do not have, or are printed with one byte less than they have. Stubs that copy are others with AVX-512, where
# there is that.
STUBS = Part(
    ["-XX:+PrintStubCode"],
    r"^StubRoutines::(\w+) \[.*$",
    {"oop_arraycopy", "oop_disjoint_arraycopy", "checkcast_arraycopy"},
    set(),
    {"oop_arraycopy_uninit", "oop_disjoint_arraycopy_uninit", "unsafe_arraycopy"},
)
PARTS = {
    "C1": Part([*COMPILED, "-XX:TieredStopAtLevel=1"], COMPILED_HEADER, STORES, {"referent"}),
    "C2": Part([*COMPILED, "-XX:-TieredCompilation"], COMPILED_HEADER, STORES | {"copy"}, {"referent"}),
    "interpreter": Part(
        ["-XX:+PrintInterpreter"],
        r"^(\S.*?)  (?:\d+ \w+  )?\[0x\w+, 0x\w+\] +\d+ bytes$",
        {"aastore", "putfield", "putstatic", "fast_aputfield", "nofast_putfield"},
        {
            f"method entry point (kind = {kind})"
            for kind in ("java_lang_ref_reference_get", "native", "native_synchronized")
        },
    ),
    "stubs": STUBS,
    "stubs without AVX-512": STUBS._replace(options=[*STUBS.options, "-XX:UseAVX=2"]),
}
PLANS = {
    "MarkSweep": lambda part: set(),
    "StickyMarkSweep": lambda part: part.stores,
    "ConcurrentMarkSweep": lambda part: part.stores | part.loads,
}


def plugin(plan):
    """Options that run a plan of ms-64k."""
    return [
        "-XX:+UseThirdPartyHeap",
        "-XX:ThirdPartyHeapPlugin=ms-64k",
        f"-XX:ThirdPartyHeapOptions=plan={plan}",
        "-Xmx64m",
    ]


def own_name(name, code):
    """The name of a piece behind those of `code`. With AVX-512, HotSpot names a stub that copies oops after the one that copies
    words as wide, which it makes first; then comes the one for arrays with oops, then the one for new arrays."""
    copy = re.fullmatch(r"j(?:int|long)_(?:(disjoint_)|conjoint_)arraycopy_avx3", name)
    if not copy or name not in code:
        return name
    oop = f"oop_{copy[1] or ''}arraycopy"
    return f"{oop}_uninit" if oop in code else oop


def machine_code(output, header):
    """The bytes of each piece of code that is printed behind a header, and of what lies behind it, by name."""
    code = {}
    parts = re.split(header, output, flags=re.M)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        _, found, rest = text.partition("[MachCode]")
        lines = re.findall(r"^ *0x[0-9a-f]{16}: ((?:[0-9a-f]+[ |]*)+)$", rest.partition("[/MachCode]")[0], re.M)
        if found and lines:
            code[own_name(name, code)] = bytes.fromhex("".join(re.findall("[0-9a-f]+", "".join(lines))))
    return code


def disassemble(code):
    """The instructions of each piece, as objdump writes them: pairs of an offset and a text."""
    with tempfile.TemporaryDirectory() as folder:
        for number, piece in enumerate(code.values()):
            Path(folder, str(number)).write_bytes(piece)
        command = ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn"]
        command += map(str, range(len(code)))
        output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    listings = re.split(r"^\d+: +file format binary$", output, flags=re.M)[1:]
    found = [re.findall(r"^ *([0-9a-f]+):\t(.*?) *$", listing, re.M) for listing in listings]
    return {
        name: [(int(offset, 16), re.sub(r" +#.*", "", text)) for offset, text in instructions]
        for name, instructions in zip(code, found, strict=True)
    }


def normal(instructions):
    """The instructions, without the addresses in them that differ from one run to the next."""
    result = []
    for _, text in instructions:
        target = re.fullmatch(r"(call|j\w+) +0x([0-9a-f]+)", text)
        if target and int(target[2], 16) > instructions[-1][0]:
            text = f"{target[1]} elsewhere"
        text = re.sub(r"(movabs \w+),0x[0-9a-f]+", r"\1,address", text)
        text = re.sub(r"\[rip[+-]0x[0-9a-f]+\]", "[address]", text)
        result.append(text)
    return result


def instructions_of(part, options, classes):
    """The instructions of each piece of a part, in a JVM with these options that has run Sites."""
    command = [JAVA_HOME / "bin" / "java", *OPTIONS, *part.options, *options, "-cp", classes, "Sites"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"compiled_code: error: {' '.join(map(str, command))}\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return disassemble(machine_code(run.stdout, part.header))


def difference(ours, theirs):
    """The first instruction that differs, or None."""
    for number, pair in enumerate(zip(ours, theirs, strict=False)):
        if pair[0] != pair[1]:
            return f"instruction {number}: {pair[0]} is not {pair[1]}"
    return None if len(ours) == len(theirs) else f"{len(ours)} instructions are not {len(theirs)}"


def check(part, barriers, made, none):
    """What is wrong with each piece of a part, or None, by name: `barriers` are to be in these, and `none` has no barriers."""
    result = {}
    for name in made.keys() | none.keys() | barriers:
        if name not in made or name not in none:
            result[name] = "is not there"
            continue
        found = difference(normal(made[name]), normal(none[name]))
        if name in barriers:
            result[name] = None if found else "has no barrier"
        elif not barriers or name not in part.unlike:
            result[name] = found
    return result


def test(classes):
    """Runs the test. Returns the lines that say what failed, and the number of comparisons."""
    failures, compared = [], 0
    sites = set(re.findall(r"^    static [\w\[\]]+ (\w+)\(", SOURCE.read_text(), re.M))
    for oops, (title, part) in itertools.product(("-XX:+UseCompressedOops", "-XX:-UseCompressedOops"), PARTS.items()):
        none = instructions_of(part, [*EPSILON, oops], classes)
        if title in ("C1", "C2") and none.keys() != sites:
            failures.append(f"{title}, {oops}: was not compiled: {', '.join(sorted(sites - none.keys()))}")
        for plan, barriers in PLANS.items():
            made = instructions_of(part, [*plugin(plan), *NO_INLINING, oops], classes)
            checks = check(part, barriers(part), made, none)
            compared += len(checks)
            failures += [f"{plan}, {oops}, {title}, {name}: {wrong}" for name, wrong in sorted(checks.items()) if wrong]
    return failures, compared


def main(arguments):
    """Runs the command line."""
    if not (JAVA_HOME / "bin" / "java").exists():
        sys.exit("compiled_code: error: there is no build/jdk: run `make jdk plugins` first")
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run([JAVA_HOME / "bin" / "javac", "-d", classes, SOURCE], check=True)
        match arguments:
            case []:
                failures, compared = test(classes)
                for failure in failures:
                    print(f"FAILED: {failure}")
                print(f"compiled_code: {compared - len(failures)} of {compared} checks passed")
                return 1 if failures or not compared else 0
            case ["show", plan, method]:
                made = instructions_of(PARTS["C2"], plugin(plan), classes)
                if method not in made:
                    sys.exit(f"compiled_code: error: no method '{method}': choose from {', '.join(sorted(made))}")
                for offset, text in itertools.takewhile(lambda each: each[1] != "hlt", made[method]):
                    print(f"{offset:4x}  {text}")
                return 0
            case _:
                sys.exit(__doc__)


if __name__ == "__main__":
    # A reader that has seen enough ends the output, as with other tools.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
