// SPDX-License-Identifier: MIT OR Apache-2.0
package jtreg;

/** Ends a test that cannot run on this system. jtreg knows the class by its name, and counts such tests by themselves. */
public class SkippedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** For the reason. */
    public SkippedException(String reason) {
        super(reason);
    }
}
