/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/* A library that has nothing to do with heaps. */
int nothing_to_do_with_heaps = 1;
