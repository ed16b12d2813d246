# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line."""

import argparse
import signal
import sys
from pathlib import Path

from shardsweep import catalog, grid
from shardsweep.errors import UserError, system_said
from shardsweep.grid import Grid

TOP = """\
Measures how much memory and time Java programs need on the plugin builds in build/jdk, and on HotSpot's collectors.

Every run of a JVM goes through running-ng (its logs are in the sweep's folder); Snakemake works through the points, one
JVM at a time. Stop it when you like: the same command goes on where it stopped.
"""
TOP_EXAMPLES = """\
examples:
  shardsweep sweep                          the quick preset; with --dry-run it lists the points alone
  shardsweep sweep --preset full            the report's sections 4 to 6, on our lusearch
  shardsweep sweep --preset full --suite dacapobach    and on DaCapo's
  shardsweep builds                         what can be measured, and what is not built yet
  shardsweep minheap --builds ms-64k,ms-4k --threads 1,24,48
  shardsweep perf --builds ms-64k,ms-4k --baseline ms-4k --threads 24 --heaps 50,100,200
  shardsweep report build/sweeps/FOLDER     tables, plots and page again, also of an unfinished sweep
  shardsweep report results/minheap         the page of a recorded measurement
  shardsweep repeat FOLDER FOLDER           do two runs of the same grid agree?

a sweep's folder holds:
  report.html  the report          results.csv  every measurement, one a row
  plots/       PNG and SVG         tables.md    the tables of the report
  logs/        running-ng's logs   grid.yml     what was asked for
"""
MINHEAP = """\
Finds the smallest heap in which a benchmark runs, by number of mutator threads (Sinclair's report, sections 4 and 5).

The heap grows by a quarter from --start until it is enough, or shrinks until it is not; then it is found to 1 MiB. Once
points with other numbers of threads are done, the search begins at the minheap of the nearest. A size that fails is
tried --attempts times. With --trials N, each size around the minheap is then run N times: the report has the heaps in
which half of all runs pass, and 95 %, with intervals. Out of memory and time-out (--limit) mean: too small. A crash or
a wrong result never does: it is tried again, reported, and if no attempt says anything about memory, the point has no
minheap.
"""
PERF = """\
Measures time by heap size (Sinclair's report, section 6.2.2): total, mutator and collector time, collections, pauses
and heap charged of the last iteration, and peak resident memory of the whole run. An invocation goes through all builds
in turn, so that a machine that drifts drifts for all of them. Medians, and ratios to --baseline, with intervals.
"""
THREADS = "Measures time by number of mutator threads (Sinclair's report, section 6.2.3), otherwise as perf does.\n"
ALLOCATIONS = """\
Counts every object that an iteration of a benchmark allocates, by size, with a JVMTI agent, on SHARDSWEEP_JDK
with Serial. It runs the benchmark twice, the second time with an iteration more, and shows the difference. What the
compilers leave out is not counted.
"""
LIFETIMES = """\
Runs two iterations of a benchmark with each number of threads: on Serial, whose log tells what survives a collection of
new objects, and on ms-64k, whose log tells what is alive at each collection. Both are of the last iteration.
"""
CALIBRATE = """\
Replaces results/calibration by what our lusearch and lusearch9 allocate, counted in each of three runs, and by how long
their objects live, on SHARDSWEEP_JDK. `shardsweep results` then sets it beside what is known of DaCapo's.
"""
RECORD = """\
Replaces a data set of results/ by what sweeps have measured. Several sweeps of the same grid, on the same kind of
processor and of the same JVM, jars and builds, are the sittings of one data set. Each has to be at its end: every point
is measured or has failed.
"""
CLAIMS = """\
Makes results/README.md and the block of the front page between its two marks, of results/claims.yml, the templates
beside it, and the CSVs of the data sets.
"""
COUNTERS = """\
Counts what does not depend on the clock: instructions of an allocation by callgrind, collections, page faults and
system calls of lusearch on ms-64k, its minheap with 12 and with 48 threads. Exits with 1 where one exceeds
results/counters.yml by more than its tolerance.
"""
RSS = """\
Samples resident memory over time (Sinclair's report, section 5.1): does a build's accounting change what is really
held?
"""
REPEAT = """\
Compares the minheaps of two runs of the same grid, point by point. Says that they agree within 1 MiB or 5 % at every
point, or lists those at which they do not and exits with 1. Runs of different grids are refused.
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs a command. Returns 0, or 1 after one line on standard error that says what is wrong."""
    options = _parser().parse_args(arguments)
    # A stop from outside is an interrupt: the workflow below is stopped in order. So is one that a shell makes its
    # background jobs ignore, which is inherited: the jobs of the workflow would never end. A terminal that closes stops it
    # too, but for those whom nohup keeps.
    stops = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        stops.append(signal.SIGHUP)
    for stop in stops:
        signal.signal(stop, signal.default_int_handler)
    try:
        return options.run(options)
    except UserError as error:
        print(f"shardsweep: {error}", file=sys.stderr)
    except OSError as error:
        print(f"shardsweep: {system_said(error)}", file=sys.stderr)
    except KeyboardInterrupt:
        print("shardsweep: interrupted", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="shardsweep", description=TOP, epilog=TOP_EXAMPLES, formatter_class=form)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (
        _add_sweep, _add_experiments, _add_report, _add_repeat, _add_record, _add_results, _add_counters,
        _add_allocations, _add_lifetimes, _add_calibrate, _add_builds, _add_plugins,
    ):  # fmt: skip
        add(commands)
    return parser


def _command(commands, name: str, run, **texts: str) -> argparse.ArgumentParser:
    """The parser of a command, which `run` does."""
    parser = commands.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
    parser.set_defaults(run=run)
    return parser


def _add_sweep(commands) -> None:
    parser = _command(commands, "sweep", _sweep, help="a whole grid: a preset or a file of your own",
                      description="Measures a whole grid: minheaps, performance and resident memory.",
                      epilog="A grid file looks like those in configs/presets.")  # fmt: skip
    _add_grid_options(parser)
    parser.add_argument("--suite", help="in place of each experiment's: dacapobach for DaCapo 9.12's own lusearch")
    _add_run_options(parser)


def _add_experiments(commands) -> None:
    for name, text, add in (
        ("minheap", MINHEAP, _add_minheap),
        ("perf", PERF, _add_perf),
        ("threads", THREADS, _add_perf),
        ("rss", RSS, _add_rss),
    ):
        first = text.split(" (")[0].split(":")[0].rstrip(".\n")
        parser = _command(commands, name, _experiment, help=first, description=text)
        _add_experiment_options(parser)
        add(parser)
        _add_run_options(parser)
        parser.set_defaults(experiment=EXPERIMENTS[name])


def _add_report(commands) -> None:
    parser = _command(commands, "report", lambda options: _report(options.folder),
                      help="tables, plots and page of a sweep, finished or not")  # fmt: skip
    parser.add_argument("folder", type=Path, help="the sweep's folder, or one of results/")


def _add_repeat(commands) -> None:
    parser = _command(commands, "repeat", lambda options: _repeat(options.first, options.second),
                      help="compares the minheaps of two runs of the same grid", description=REPEAT)  # fmt: skip
    parser.add_argument("first", type=Path, help="the folder of a sweep")
    parser.add_argument("second", type=Path, help="that of another run of it")


def _add_record(commands) -> None:
    parser = _command(commands, "record", _record, help="keeps what sweeps have measured as a data set of results/",
                      description=RECORD)  # fmt: skip
    parser.add_argument("name", help="the data set: a folder of results/, which is replaced")
    parser.add_argument("folders", nargs="+", type=Path, metavar="folder", help="the folder of a sweep")


def _add_results(commands) -> None:
    _command(commands, "results", _results, help="makes results/README.md and the front page's numbers",
             description=CLAIMS)  # fmt: skip


def _add_counters(commands) -> None:
    parser = _command(commands, "counters", _counters, description=COUNTERS,
                      help="counts anew what results/counters.yml has, and compares")  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="name", help="some of them (default: all)")


def _add_allocations(commands) -> None:
    parser = _command(commands, "allocations", _allocations, help="counts what an iteration allocates, by size",
                      description=ALLOCATIONS)  # fmt: skip
    parser.add_argument("benchmark", help="as on the jar's command line")
    parser.add_argument("--jar", type=Path, help="any jar with DaCapo's command line (default: lusearch.jar)")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--size", default="small", help="default: small")
    parser.add_argument("--batches", type=int, default=16, help="what to divide by: batches of an iteration (16)")
    parser.add_argument("--warmups", type=int, default=2, help="iterations before the counted one (default: 2)")
    parser.add_argument("--published", type=Path, metavar="FILE",
                        help="run nothing: show what one of DaCapo's stats-alloc.yml has")  # fmt: skip


def _add_lifetimes(commands) -> None:
    parser = _command(commands, "lifetimes", _lifetimes, description=LIFETIMES,
                      help="shows what survives a collection, and what is alive by threads")  # fmt: skip
    parser.add_argument("benchmark", help="as on the jar's command line")
    parser.add_argument("--jar", type=Path, help="any jar with DaCapo's command line (default: lusearch.jar)")
    parser.add_argument("--threads", default="1,12,24,48", help="numbers, separated by commas (default: 1,12,24,48)")
    parser.add_argument("--heap", type=int, default=50, help="MiB (default: 50)")
    parser.add_argument("--size", default="default", help="default: default")


def _add_calibrate(commands) -> None:
    _command(commands, "calibrate", _calibrate, description=CALIBRATE,
             help="measures what lusearch allocates and how long objects live, for results/")  # fmt: skip


def _add_builds(commands) -> None:
    _command(commands, "builds", _builds, help="lists the builds, and what is missing for those that are not there")


def _add_plugins(commands) -> None:
    parser = _command(commands, "plugins", _plugins, help="lists the plugins that a grid's builds need, one a line")
    _add_grid_options(parser)


# Command -> the experiment's name in a grid.
EXPERIMENTS = {"minheap": "minheap", "perf": "perf-by-heap", "threads": "perf-by-threads", "rss": "rss"}


def _names(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers like 1,12,24") from None


def _add_grid_options(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--preset", default="quick", help=f"one of: {', '.join(grid.presets())} (default: quick)")
    what.add_argument("--grid", type=Path, metavar="FILE", help="a grid of your own")


def _add_experiment_options(parser: argparse.ArgumentParser) -> None:
    given = {"default": argparse.SUPPRESS}
    parser.add_argument("--builds", type=_names, required=True, help="comma-separated; `shardsweep builds` lists them")
    parser.add_argument("--threads", type=_numbers, required=True,
                        help="mutator threads, comma-separated; 0: the benchmark's own default")  # fmt: skip
    parser.add_argument("--suite", help="shardsweep (default), dacapobach, dacapochopin", **given)
    parser.add_argument("--benchmarks", type=_names, help="comma-separated (default: lusearch)", **given)
    parser.add_argument("--size", help="the benchmark's input size (default: its own)", **given)
    parser.add_argument("--iterations", type=int, help="iterations a run; the last is timed (default: 5)", **given)
    parser.add_argument("--limit", type=int, help="time limit of a run in seconds (default: 600)", **given)
    parser.add_argument("--modifiers", type=_names, help="for every run, of configs/modifiers.yml", **given)


def _add_minheap(parser: argparse.ArgumentParser) -> None:
    given = {"type": int, "default": argparse.SUPPRESS}
    parser.add_argument("--start", help="first heap tried for a build, MiB (default: 8)", **given)
    parser.add_argument("--largest", help="largest heap tried, MiB (default: 1024)", **given)
    parser.add_argument("--attempts", help="tries at a size before it counts as too small (default: 2)", **given)
    parser.add_argument("--trials", help="runs at each size around the minheap (default: 0)", **given)
    parser.add_argument("--repeats", help="whole searches a point, to see their spread (default: 1)", **given)


def _add_perf(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--heaps", type=_numbers, required=True, help="MiB, comma-separated")
    parser.add_argument("--baseline", required=True, help="the build that the others are compared with")
    parser.add_argument("--invocations", type=int, default=argparse.SUPPRESS, help="runs a point (default: 20)")


def _add_rss(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--heaps", type=_numbers, required=True, help="MiB, comma-separated")
    parser.add_argument("--invocations", type=int, default=argparse.SUPPRESS, help="runs a point (default: 1)")
    parser.add_argument("--interval", type=int, default=argparse.SUPPRESS, help="milliseconds a sample (default: 50)")


RUN_OPTIONS = ("out", "profile", "processors", "dry_run", "check", "run", "experiment")


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="DIR", help="the sweep's folder (default: one below "
                        "build/sweeps for each state of grid, configurations, JVM, plugins, jar and the variables MMTK_* "
                        "and SHARDSWEEP_*)")  # fmt: skip
    parser.add_argument("--profile", default="local", help="where jobs run: local (default), slurm, "
                        "kubernetes, or a folder with a Snakemake profile")  # fmt: skip
    parser.add_argument("--processors", type=int, metavar="N", help="processors of a cluster's node")
    parser.add_argument("--dry-run", action="store_true", help="only list the points, and which are measured already")
    parser.add_argument("--check", action="store_true", help="only say whether it can be measured, once build/ has all "
                        "that make makes for it")  # fmt: skip


def _grid_file(options: argparse.Namespace) -> Path:
    if options.grid:
        return options.grid
    if options.preset not in grid.presets():
        raise UserError(f"no preset {options.preset}: there are {', '.join(grid.presets())}; --grid takes a file")
    return grid.PRESETS / f"{options.preset}.yml"


def _sweep(options: argparse.Namespace) -> int:
    file = _grid_file(options)
    wanted = grid.load(file)
    if options.suite:
        wanted = grid.with_suite(wanted, options.suite)
    return _measure(wanted, options, file.stem)


def _experiment(options: argparse.Namespace) -> int:
    content = {name: value for name, value in vars(options).items() if name not in RUN_OPTIONS}
    wanted = grid.check({options.experiment: content}, "on the command line")
    return _measure(wanted, options, options.experiment)


def _measure(wanted: Grid, options: argparse.Namespace, name: str) -> int:
    # These take a second to import: --help and bad input are answered at once.
    from shardsweep import probe, report, sweep

    sweep.check_profile(options.profile, options.processors)
    possible, missing = sweep.available(wanted, to_be_built=options.check)
    _tell(missing)
    if options.check:
        return 0
    folder = options.out or sweep.default_folder(name, possible)
    if options.dry_run:
        sweep.dry_run(folder, possible)
        return 0
    probe.check_programs()
    sweep.prepare(folder, possible)
    if options.profile == "local":
        _tell(report.noise_now())
    complete = sweep.run(folder, options.profile, options.processors)
    return max(_report(folder), 0 if complete else 1)


def _tell(lines: list[str]) -> None:
    for line in lines:
        print(f"shardsweep: {line}", file=sys.stderr)


def _grid_of(folder: Path) -> Grid:
    """The grid of a sweep. Raises UserError for another folder."""
    from shardsweep import point

    if not (folder / point.GRID_FILE).is_file():
        from shardsweep import report

        tables = folder / report.TABLES
        where = f"; its tables are in {tables}" if tables.is_file() else ""
        raise UserError(f"{folder} is not the folder of a sweep: it has no {point.GRID_FILE}{where}")
    return grid.load(folder / point.GRID_FILE)


def _report(folder: Path) -> int:
    from rich.console import Console

    from shardsweep import report
    from shardsweep import tables as all_tables

    _grid_of(folder)
    sections, page = report.write(folder)
    console = Console(width=None if sys.stdout.isatty() else 200)
    for section in sections:
        for table in section.tables:
            # The long ones are for the page.
            if not table.id.startswith("performance-"):
                all_tables.show(table, console)
    problems = report.serious_notes(folder)
    _tell([*report.noise_of(folder), *problems])
    print(f"Report: {page}")
    return 1 if problems else 0


def _record(options: argparse.Namespace) -> int:
    from shardsweep import record

    print(f"Recorded: {record.record(options.name, options.folders)}")
    return 0


def _results(_: argparse.Namespace) -> int:
    from shardsweep import claims

    for file in claims.write():
        print(f"Written: {file}")
    return 0


def _counters(options: argparse.Namespace) -> int:
    from shardsweep import counters

    compared = counters.compare(counters.known(), options.names)
    for each in compared:
        print(each.said)
    return 1 if any(each.failed for each in compared) else 0


def _repeat(first: Path, second: Path) -> int:
    from rich.console import Console

    from shardsweep import analysis, presets, sweep, tables

    if apart := presets.minheaps_apart(*(_grid_of(folder) for folder in (first, second))):
        raise UserError(f"{first} is of another grid than {second}: {apart}")
    compared = analysis.compare_runs(*(sweep.results(folder)[0] for folder in (first, second)))
    if compared.empty:
        raise UserError(f"neither {first} nor {second} has a minheap")
    apart = len(compared[~compared["agree"]])
    if not apart:
        print(f"The minheaps of all {len(compared)} points agree within 1 MiB or 5 %.")
        return 0
    tables.show(tables.repeat(compared), Console(width=None if sys.stdout.isatty() else 200))
    print(f"shardsweep: {apart} of {len(compared)} points do not agree within 1 MiB or 5 %", file=sys.stderr)
    return 1


def _jar(asked: Path | None) -> Path:
    """The jar that was asked for, or that of this checkout."""
    jar = (asked or Path(catalog.environment()["LUSEARCH_JAR"])).resolve()
    if not jar.is_file():
        raise UserError(f"{jar} is not there: make lusearch, or give another --jar")
    return jar


def _allocations(options: argparse.Namespace) -> int:
    from rich.console import Console

    from shardsweep import allocations
    from shardsweep import tables as all_tables

    console = Console(width=100)
    if options.published:
        title = f"Allocations of {options.benchmark}, as {options.published} has them"
        all_tables.show(allocations.table(allocations.published(options.published), 1, title), console)
        return 0
    jar = _jar(options.jar)
    if min(options.threads, options.batches, options.warmups) < 1:
        raise UserError("--threads, --batches and --warmups are at least 1")
    arguments = ["-t", str(options.threads), "-s", options.size, options.benchmark]
    home = Path(catalog.environment()["SHARDSWEEP_JDK"])
    sizes = allocations.iteration(home, jar, arguments, options.warmups)
    title = f"Allocations of {options.benchmark}, {jar.name}, {options.threads} threads, size {options.size}"
    all_tables.show(allocations.table(sizes, options.batches, title), console)
    return 0


def _lifetimes(options: argparse.Namespace) -> int:
    from rich.console import Console

    from shardsweep import lifetimes
    from shardsweep import tables as all_tables

    jar = _jar(options.jar)
    threads = options.threads.split(",")
    if not all(number.isdecimal() and int(number) > 0 for number in threads) or options.heap < 1:
        raise UserError("--threads are whole numbers from 1, separated by commas, and --heap is at least 1")
    java = Path(catalog.environment()["SHARDSWEEP_JDK"]) / "bin" / "java"
    arguments = ["-s", options.size, options.benchmark]
    found = []
    for number in map(int, threads):
        print(f"{options.benchmark}, {number} threads", file=sys.stderr)
        found.append(lifetimes.measure(java, jar, arguments, number, options.heap))
    title = f"Lifetimes of {options.benchmark}, {jar.name}, {options.heap} MiB, size {options.size}"
    all_tables.show(lifetimes.table(lifetimes.frame(found), title), Console(width=100))
    return 0


def _calibrate(_: argparse.Namespace) -> int:
    from shardsweep import calibration, record

    home, jar = Path(catalog.environment()["SHARDSWEEP_JDK"]), _jar(None)
    catalog.check_own_jar(jar)
    print(f"Recorded: {calibration.measure(record.RESULTS, home, jar)}")
    return 0


def _plugins(options: argparse.Namespace) -> int:
    builds = catalog.choose(grid.load(_grid_file(options)).builds())
    for name in dict.fromkeys(build.plugin for build in builds if build.plugin):
        print(name)
    return 0


def _builds(_: argparse.Namespace) -> int:
    for build in catalog.builds().values():
        print(f"{build.name:26} {build.plan:12} {'ready' if not build.missing else build.missing}")
    return 0
