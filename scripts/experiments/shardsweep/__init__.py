# SPDX-License-Identifier: MIT OR Apache-2.0
"""Minheap and performance sweeps over plugin builds: run by running-ng, scheduled by Snakemake, analysed here."""
