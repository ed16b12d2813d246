# SPDX-License-Identifier: MIT OR Apache-2.0
"""The one kind of error that a user is meant to see, and what it quotes."""


class UserError(Exception):
    """Something that the user can mend; its text is one line that says what is wrong and what to do."""


def last_said(output: str) -> str:
    """The last line that a program has printed, or that it was silent."""
    said = [line.strip() for line in output.splitlines() if line.strip()]
    return said[-1] if said else "silent"


def system_said(error: OSError) -> str:
    """What the operating system has refused, in one line."""
    return f"{error.filename or 'input/output'}: {error.strerror or error}"
