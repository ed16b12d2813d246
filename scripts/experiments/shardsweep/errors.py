# SPDX-License-Identifier: MIT OR Apache-2.0
"""The one kind of error that a user is meant to see."""


class UserError(Exception):
    """Something that the user can mend; its text is one line that says what is wrong and what to do."""
