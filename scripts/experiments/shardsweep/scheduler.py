# SPDX-License-Identifier: MIT OR Apache-2.0
"""Snakemake's command line on the machine that is measured, without its limit of jobs a second.

With that limit, each job that ends leaves a timer which has the scheduler look at all waiting jobs each second, until none
waits (`JobScheduler.schedule` of Snakemake 9.27). They are the more the more jobs have ended, and take a processor from what is
timed. No option lifts the limit.
"""

import sys

from snakemake.cli import args_to_api, parse_args
from snakemake.exceptions import print_exception


def main(arguments: list[str]) -> int:
    """Runs Snakemake with these arguments. Returns 1 if a job has failed, or Snakemake, which says why."""
    try:
        parser, parsed = parse_args(arguments)
        parsed.max_jobs_per_timespan = None
        return 0 if args_to_api(parsed, parser) else 1
    except Exception as error:
        print_exception(error)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
