# SPDX-License-Identifier: MIT OR Apache-2.0
"""One job of the workflow: measures one point of the grid and writes what came of it as JSON.

`python -m shardsweep.point ID FILE`, in the folder of a sweep. FILE is JSON and holds `rows` (of the result table),
`notes` (every run that did not pass, with its log), `point`, and the `machine` that it was measured on.
"""

import dataclasses
import json
import statistics
import sys
from pathlib import Path

from shardsweep import catalog, grid, inputs, machine, minheap, probe, thresholds
from shardsweep.catalog import Build
from shardsweep.errors import UserError, system_said
from shardsweep.files import read_json, write_whole
from shardsweep.grid import Experiment, Grid, Minheap, Point, Resident
from shardsweep.logs import Invocation, Iteration, Outcome
from shardsweep.probe import Run

GRID_FILE = "grid.yml"
POINTS = "points"


def result_file(folder: Path, point: Point) -> Path:
    """Where the result of a point goes."""
    return folder / POINTS / f"{point.id}.json"


# What a point says that has a factor of a minheap which no search found.
NO_MINHEAP = "has no minheap to take"


def sitting(folder: Path) -> str:
    """The name of the sitting that a sweep is: that of its folder."""
    return folder.resolve().name


def read_result(file: Path) -> dict:
    """What is in the result file of a point. Raises UserError for a damaged one."""
    return read_json(file, "remove it and run the sweep again")


def measure(folder: Path, point: Point, whole: Grid) -> dict:
    """Measures the point of a grid. A run that fails is part of the result, not an error."""
    experiment = whole.experiments()[point.experiment]
    builds = catalog.choose(list(point.builds))
    for build in builds:
        if build.missing:
            raise UserError(f"build {build.name}: {build.missing}")
    if isinstance(experiment, Minheap):
        rows, notes = _minheap(folder, point, whole, builds[0])
    else:
        heap = point.heap or _multiple(folder, whole, point)
        rows, notes = _performance(folder, point, whole, builds, heap)
    return {"point": dataclasses.asdict(point), "machine": machine.host(), "rows": rows, "notes": notes}


def _run(folder: Path, point: Point, whole: Grid, builds: list[Build], heap: int, attempt: int = 0) -> list[Run]:
    """As `probe.run`. Raises UserError where a build has meanwhile put other files in the place of those that the sweep began
    with, and keeps no log of that: once they are back, it would be taken for a result."""
    runs = probe.run(folder, point, whole.experiments()[point.experiment], builds, heap, attempt)
    try:
        inputs.check_unchanged(folder, whole)
    except UserError:
        for run in runs:
            (folder / run.log).unlink(missing_ok=True)
        raise
    return runs


def _minheap(folder: Path, point: Point, whole: Grid, build: Build) -> tuple[list, list]:
    experiment, notes = whole.experiments()[point.experiment], []

    def attempt(heap: int, number: int) -> Outcome:
        run = _run(folder, point, whole, [build], heap, number)[0]
        if run.invocation.outcome not in (Outcome.PASSED, *minheap.TOO_SMALL):
            notes.append(_note(run, point, experiment, heap))
        return run.invocation.outcome

    start = first_heap(folder, point, experiment)
    found = minheap.search(attempt, start, experiment.largest, experiment.attempts)
    tried = list(found.attempts)
    if found.end is not minheap.End.FOUND:
        notes.append(_no_minheap(point, experiment, build, found))
    elif experiment.trials:
        # Numbers that the search has not used: a number and a size are one run.
        numbers = range(experiment.attempts, experiment.attempts + experiment.trials)
        tried += minheap.trials(
            lambda heap: [attempt(heap, number) for number in numbers], found.minheap, experiment.largest
        )
    keys = {**_keys(build, point, experiment), "iteration": 0}
    rows = [{**keys, "metric": "minheap", "value": found.minheap, "unit": "MiB"}]
    for outcome in Outcome:
        count = sum(1 for _, each in tried if each is outcome)
        rows.append({**keys, "metric": f"runs.{outcome}", "value": count, "unit": "runs"})
    # The next smaller heap was not too small as such, but too slow for a limit.
    if found.bound_by in (Outcome.TIMEOUT, Outcome.OVERHEAD):
        rows.append({**keys, "metric": f"minheap.by-{found.bound_by}", "value": 1, "unit": "runs"})
    # The path of a search alone is no sample: its sizes follow from how the runs before ended.
    return [*rows, *(_trial_rows(keys, tried) if experiment.trials else [])], notes


def _trial_rows(keys: dict, tried: list[tuple[int, Outcome]]) -> list[dict]:
    """How many runs passed, failed and took too long in each heap size, of those that say anything about memory."""
    kinds = (
        (thresholds.PASSED, {Outcome.PASSED}),
        (thresholds.TOO_SMALL, minheap.TOO_SMALL - {Outcome.TIMEOUT}),
        (thresholds.TIMED_OUT, {Outcome.TIMEOUT}),
    )
    return [
        {**keys, "heap": heap, "metric": metric, "unit": "runs",
         "value": sum(1 for each, outcome in tried if each == heap and outcome in outcomes)}
        for heap in sorted({heap for heap, _ in tried})
        for metric, outcomes in kinds
    ]  # fmt: skip


def first_heap(folder: Path, point: Point, experiment: Minheap) -> int:
    """Where the search begins, in MiB: at the minheap of the nearest number of threads of which it is known. It is not
    where a line through the others would have it, because such a line is what the results are asked for. Another repeat
    is no help: it is there to say whether the search finds the same again."""
    known = {}
    for threads in experiment.threads:
        file = result_file(folder, dataclasses.replace(point, threads=threads))
        if file.exists() and (found := _minheap_in(file)):
            known[threads] = found
    if not known:
        return experiment.start
    return known[min(known, key=lambda threads: (abs(threads - point.threads), threads))]


def _no_minheap(point: Point, experiment: Experiment, build: Build, found: minheap.Search) -> dict:
    heap, outcome = found.attempts[-1]
    why = "not enough" if found.end is minheap.End.TOO_LARGE else "no attempt passed, and none was about memory"
    detail = f"no minheap: {heap} MiB: {why}"
    return {**_noted(build, point, experiment, heap), "outcome": outcome, "detail": detail, "log": None}


def _multiple(folder: Path, whole: Grid, point: Point) -> int:
    """The heap size of a point that has a factor, in MiB. Raises UserError where there is no minheap to multiply."""
    files = [result_file(folder, each) for each in grid.needed(whole, point)]
    found = [_minheap_in(file) for file in files if file.exists()]
    if not found or None in found:
        build = whole.experiments()[point.experiment].minheap_of
        raise UserError(f"{build} {NO_MINHEAP} {point.factor:g} times of")
    return max(round(point.factor * statistics.median(found)), 1)


def _minheap_in(file: Path) -> int | None:
    return next(row["value"] for row in read_result(file)["rows"] if row["metric"] == "minheap")


def _performance(folder: Path, point: Point, whole: Grid, builds: list[Build], heap: int) -> tuple[list, list]:
    experiment, rows, notes = whole.experiments()[point.experiment], [], []
    in_turn = probe.order(point, builds, sitting(folder))
    for place, run in enumerate(_run(folder, point, whole, in_turn, heap)):
        keys = {**_keys(run.build, point, experiment), "heap": heap}
        rows.append({**keys, "iteration": 0, "metric": "order", "value": place, "unit": "place"})
        # Sampling costs a little time: what a sampled run took is not to be compared with the others.
        rows.extend(
            _sample_rows(run.invocation, keys) if isinstance(experiment, Resident) else _rows(run.invocation, keys)
        )
        if run.invocation.outcome is not Outcome.PASSED:
            notes.append(_note(run, point, experiment, heap))
    return rows, notes


def _benchmark(point: Point, experiment: Experiment) -> str:
    """The benchmark's name in results: with its suite unless that is ours, because two suites may share a name."""
    own = experiment.suite == Experiment.model_fields["suite"].default
    return point.benchmark if own else f"{experiment.suite}:{point.benchmark}"


def _keys(build: Build, point: Point, experiment: Experiment) -> dict:
    return {
        "build": build.name,
        "plan": build.plan,
        "block": build.block,
        "accounting": build.accounting,
        "benchmark": _benchmark(point, experiment),
        "threads": point.threads or None,
        "heap": None,
        "factor": point.factor,
        "invocation": point.invocation,
    }


def _note(run: Run, point: Point, experiment: Experiment, heap: int) -> dict:
    return {
        **_noted(run.build, point, experiment, heap),
        "outcome": run.invocation.outcome, "detail": run.invocation.detail, "log": str(run.log),
    }  # fmt: skip


def _noted(build: Build, point: Point, experiment: Experiment, heap: int) -> dict:
    """What a note is about."""
    return {
        "experiment": point.experiment, "build": build.name, "benchmark": _benchmark(point, experiment),
        "threads": point.threads, "heap": heap,
    }  # fmt: skip


# What the launcher says of a whole run, as a metric: its name, unit, and by what the launcher's number is multiplied.
PROCESS = {
    "user": ("process.user", "ms", 1000),
    "system": ("process.system", "ms", 1000),
    "minor": ("process.faults.minor", "count", 1),
    "major": ("process.faults.major", "count", 1),
    "voluntary": ("process.switches.voluntary", "count", 1),
    "involuntary": ("process.switches.involuntary", "count", 1),
    "steal": ("machine.steal", "ms", 1000),
    "others": ("machine.others", "ms", 1000),
    "probe": ("machine.probe", "ms", 1),
}


def _rows(run: Invocation, keys: dict) -> list[dict]:
    """The rows of one run. One that did not pass has only the row that says so: its times would be of half the work."""
    whole = {**keys, "iteration": 0}
    rows = [{**whole, "metric": f"runs.{run.outcome}", "value": 1, "unit": "runs"}]
    if run.outcome is not Outcome.PASSED:
        return rows
    rows.append({**whole, "metric": "resident.peak", "value": run.peak_kib / 1024, "unit": "MiB"})
    rows.append({**whole, "metric": "time.process", "value": run.seconds * 1000, "unit": "ms"})
    for name, (metric, unit, factor) in PROCESS.items():
        if name in run.launcher:
            rows.append({**whole, "metric": metric, "value": run.launcher[name] * factor, "unit": unit})
    for iteration in run.iterations:
        for metric, value, unit in _measures(iteration):
            rows.append({**keys, "iteration": iteration.number, "metric": metric, "value": value, "unit": unit})
    for name, value in run.statistics.items():
        unit = "ms" if name.startswith("time.") else "count"
        rows.append({**keys, "iteration": len(run.iterations), "metric": f"mmtk.{name}", "value": value, "unit": unit})
    return rows


def _sample_rows(run: Invocation, keys: dict) -> list[dict]:
    """The rows of a run whose resident memory was sampled: three a sample, each metric in the order of time."""
    whole = {**keys, "iteration": 0}
    rows = [{**whole, "metric": f"runs.{run.outcome}", "value": 1, "unit": "runs"}]
    for seconds, resident, anonymous in run.resident:
        rows.append({**whole, "metric": "sample.time", "value": seconds * 1000, "unit": "ms"})
        rows.append({**whole, "metric": "sample.resident", "value": resident / 1024, "unit": "MiB"})
        rows.append({**whole, "metric": "sample.anonymous", "value": anonymous / 1024, "unit": "MiB"})
    return rows


def _measures(iteration: Iteration) -> list[tuple[str, float, str]]:
    pauses = [pause for collection in iteration.collections for pause in collection]
    measures = [
        ("time.total", iteration.milliseconds, "ms"),
        # What these times are is in `configs/README.md`.
        ("time.collector", sum(pauses), "ms"),
        ("time.mutator", iteration.milliseconds - sum(pauses), "ms"),
        ("collections", len(iteration.collections), "count"),
        ("pause.max", max(pauses, default=0.0), "ms"),
    ]
    if iteration.reaching is not None:
        measures += [
            ("time.to-safepoint", iteration.reaching, "ms"),
            ("time.paused", iteration.reaching + sum(pauses), "ms"),
        ]
    if usage := iteration.usage:
        measures += [
            ("cpu.total", usage["user"] + usage["system"], "ms"),
            ("cpu.user", usage["user"], "ms"),
            ("cpu.system", usage["system"], "ms"),
            ("faults.minor", usage["minor"], "count"),
            ("faults.major", usage["major"], "count"),
        ]
    measures += [(f"latency.{name}", value / 1000, "ms") for name, value in iteration.latencies.items()]
    if iteration.pause_cpu is not None:
        measures.append(("cpu.collector", iteration.pause_cpu, "ms"))
    if iteration.charged is not None:
        measures.append(("charged", iteration.charged, "MiB"))
    # Of no pauses the longest is nothing, but there is none in the middle.
    if pauses:
        measures.append(("pause.median", statistics.median(pauses), "ms"))
    return measures


def main(arguments: list[str] | None = None) -> int:
    """Measures the point with the id of the first argument into the file that the second one names."""
    wanted, file = (arguments or sys.argv[1:])[:2]
    folder, file = Path.cwd(), Path(file)
    try:
        whole = grid.load(folder / GRID_FILE)
        point = next((point for point in grid.points(whole) if point.id == wanted), None)
        if point is None:
            raise UserError(f"{folder / GRID_FILE} has no point {wanted}")
        inputs.check_unchanged(folder, whole)
        result = measure(folder, point, whole)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(result, indent=1))
    except UserError as error:
        print(f"shardsweep: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"shardsweep: {system_said(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
