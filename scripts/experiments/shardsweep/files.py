# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading and writing the files of a sweep: never half a file, and one line about what is wrong in one."""

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from shardsweep.errors import UserError

T = TypeVar("T")


def write_whole(path: Path, text: str) -> None:
    """Writes the file so that a full disk or an interruption leaves either the old one, or none, or the new one."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """Gives an empty folder of the same name, which takes the place of `target` once the block has ended well. If it
    has not, `target` stays as it is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as aside:
        new, old = Path(aside) / target.name, Path(aside) / "old"
        new.mkdir()
        yield new
        try:
            if target.exists():
                target.rename(old)
            new.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise


@contextlib.contextmanager
def locked(folder: Path, what: str) -> Iterator[int]:
    """Holds the folder for one `what`, until the last process that has the descriptor it gives ends, however that is. Raises
    UserError if another holds it."""
    with (folder / ".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another {what} is at work in {folder}: wait for it, or stop it") from None
        yield handle.fileno()


def read_json(path: Path, remedy: str) -> dict | list:
    """The content of a JSON file. Raises UserError, with what to do about it, for one that is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}): {remedy}") from None


def read_yaml(path: Path, name: str) -> object:
    """The content of a YAML file. Raises UserError, with the name, for one that is not YAML."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    # PyYAML lets those of Python through, as that of a date with a month 13.
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{name} is not YAML: {' '.join(str(error).split())}") from None


def read_checked(path: Path, kind: type[T], remedy: str = "restore it") -> T:
    """The content of a YAML or JSON file as what it is to be. Raises UserError for one that is not there, or is something
    else; for JSON with what to do about it."""
    try:
        content = read_json(path, remedy) if path.suffix == ".json" else read_yaml(path, str(path))
        return TypeAdapter(kind).validate_python(content)
    except FileNotFoundError:
        raise UserError(f"{path} is not there") from None
    except ValidationError as error:
        what = " ".join(str(error).split())
        raise UserError(
            f"{path} is damaged ({what}): {remedy}" if path.suffix == ".json" else f"{path}: {what}"
        ) from None
