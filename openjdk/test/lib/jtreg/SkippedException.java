// SPDX-License-Identifier: MIT OR Apache-2.0
package jtreg;

/** Thrown by a test that cannot run on this machine: jtreg knows it by its name, and says that the test was skipped. */
public final class SkippedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** {@code why}: what the machine lacks. */
    public SkippedException(String why) {
        super(why);
    }
}
