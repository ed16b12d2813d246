#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Looks at the machine code that C2 makes of accesses to the heap, those of code/Sites.java. Needs build/jdk and objdump.

    compiled_code.py                      tests that code for a plan without a barrier is that of HotSpot's Epsilon, which has
                                          none, and that barriers are seen where they belong
    compiled_code.py show PLAN METHOD     prints the code of one method on the build ms-64k, inline allocation and all, up to the
                                          padding before its handlers of exceptions
"""
import itertools
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JAVA_HOME = ROOT / "build" / "jdk"
SOURCE = Path(__file__).with_name("code") / "Sites.java"

# One compiler, which compiles while the program waits; class pointers are full words, so that they are seen to be addresses.
OPTIONS = ["-Xbatch", "-XX:-TieredCompilation", "-XX:CompileThreshold=5000", "-XX:-UseCompressedClassPointers",
           "-XX:+UnlockDiagnosticVMOptions", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Sites::*",
           "-XX:CompileCommand=inline,Sites$Holder::clone", "-XX:CompileCommand=print,Sites::*"]
# Allocation is a call on both sides, for Epsilon's differs. Both heaps lie below 4 GiB: a compressed pointer is the address.
EPSILON = ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC", "-XX:-UseTLAB", "-Xmx256m"]
NO_INLINING = ["-XX:-ThirdPartyHeapInlineAllocation"]

# The methods whose code a barrier changes. A copy of three elements is a call then, of a stub with the barrier. Clones are new,
# and whether a Reference refers to something does not make that strong.
STORES = {"storeField", "storeStatic", "storeElement", "compareAndSet", "getAndSet", "copy"}
BARRIERS = {"StickyMarkSweep": STORES, "ConcurrentMarkSweep": STORES | {"referent"}}


def plugin(plan):
    """Options that run a plan of ms-64k."""
    return ["-XX:+UseThirdPartyHeap", "-XX:ThirdPartyHeapPlugin=ms-64k", f"-XX:ThirdPartyHeapOptions=plan={plan}", "-Xmx64m"]


def machine_code(output):
    """The bytes of each method of Sites that C2 has compiled, and of what lies behind it, by name."""
    code = {}
    for nmethod in output.split("Compiled method (c2)")[1:]:
        name = re.search(r"Sites::(\w+) ", nmethod)[1]
        dump = nmethod.split("[MachCode]", 1)[1].split("[/MachCode]", 1)[0]
        lines = re.findall(r"^ *0x[0-9a-f]{16}: ((?:[0-9a-f]+[ |]*)+)$", dump, re.M)
        code[name] = bytes.fromhex("".join(re.findall("[0-9a-f]+", "".join(lines))))
    return code


def disassemble(code):
    """Instructions, as objdump writes them: pairs of an offset and a text."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        command = ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn", file.name]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^ *([0-9a-f]+):\t(.*?) *$", output, re.M)
    return [(int(offset, 16), re.sub(r" +#.*", "", text)) for offset, text in found]


def normal(code):
    """The instructions, without the addresses in them that differ from one run to the next."""
    result = []
    for _, text in disassemble(code):
        target = re.fullmatch(r"(call|j\w+) +0x([0-9a-f]+)", text)
        if target and int(target[2], 16) >= len(code):
            text = f"{target[1]} elsewhere"
        text = re.sub(r"(movabs \w+),0x[0-9a-f]+", r"\1,address", text)
        text = re.sub(r"\[rip[+-]0x[0-9a-f]+\]", "[address]", text)
        result.append(text)
    return result


def compile_sites(options, classes):
    """What C2 makes of the methods of Sites with these options."""
    command = [JAVA_HOME / "bin" / "java", *OPTIONS, *options, "-cp", classes, "Sites"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"compiled_code: error: {' '.join(map(str, command))}\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return machine_code(run.stdout)


def difference(ours, theirs):
    """The first instruction that differs, or None."""
    for number, pair in enumerate(zip(ours, theirs)):
        if pair[0] != pair[1]:
            return f"instruction {number}: {pair[0]} is not {pair[1]}"
    return None if len(ours) == len(theirs) else f"{len(ours)} instructions are not {len(theirs)}"


def test(classes):
    """Runs the test. Returns the lines that say what failed, and the number of comparisons."""
    failures, compared = [], 0
    sites = set(re.findall(r"^    static [\w\[\]]+ (\w+)\(", SOURCE.read_text(), re.M))
    for oops in ("-XX:+UseCompressedOops", "-XX:-UseCompressedOops"):
        none = {name: normal(code) for name, code in compile_sites([*EPSILON, oops], classes).items()}
        for plan in ("MarkSweep", *BARRIERS):
            made = compile_sites([*plugin(plan), *NO_INLINING, oops], classes)
            for site in sorted(sites):
                where = f"{plan}, {oops}, {site}"
                compared += 1
                if site not in made or site not in none:
                    failures.append(f"{where}: was not compiled")
                    continue
                found = difference(normal(made[site]), none[site])
                if site in BARRIERS.get(plan, ()):
                    if not found:
                        failures.append(f"{where}: has no barrier")
                elif found:
                    failures.append(f"{where}: {found}")
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
                made = compile_sites(plugin(plan), classes)
                if method not in made:
                    sys.exit(f"compiled_code: error: no method '{method}': choose from {', '.join(sorted(made))}")
                instructions = disassemble(made[method])
                for offset, text in itertools.takewhile(lambda each: each[1] != "hlt", instructions):
                    print(f"{offset:4x}  {text}")
                return 0
            case _:
                sys.exit(__doc__)


if __name__ == "__main__":
    # A reader that has seen enough ends the output, as with other tools.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
