// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing: the package is there for the versions that its lock file fixes.
