# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading and writing the files of a sweep: never half a file, and one line about what is wrong in one."""

import json
import os
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


def read_checked(path: Path, kind: type[T]) -> T:
    """The content of a YAML file as what it is to be. Raises UserError for one that is not there, or is something else."""
    try:
        return TypeAdapter(kind).validate_python(read_yaml(path, str(path)))
    except FileNotFoundError:
        raise UserError(f"{path} is not there") from None
    except ValidationError as error:
        raise UserError(f"{path}: {' '.join(str(error).split())}") from None
