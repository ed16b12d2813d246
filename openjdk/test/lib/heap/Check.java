// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Conditions that a test demands. Each failure throws an {@link AssertionError} that says what was wrong. */
public final class Check {
    private Check() {}

    /** Demands that {@code condition} holds; {@code what} says what it means. */
    public static void that(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    /** As {@link #that(boolean, String)}, of one of many, which has this number. */
    public static void that(boolean condition, String what, int number) {
        if (!condition) {
            throw new AssertionError(what + " " + number);
        }
    }

    /** Demands that both are equal. */
    public static void equal(Object expected, Object actual, String what) {
        if (!Objects.equals(expected, actual)) {
            throw new AssertionError(what + ": expected " + expected + ", got " + actual);
        }
    }

    /** Demands that both are the same object. */
    public static void same(Object expected, Object actual, String what) {
        if (expected != actual) {
            throw new AssertionError(what + ": expected " + expected + ", got another object, " + actual);
        }
    }

    /** Demands that a line of {@code text} matches {@code regex} as a whole or in part. */
    public static void matches(String regex, String text, String what) {
        if (text.lines().noneMatch(line -> java.util.regex.Pattern.compile(regex).matcher(line).find())) {
            throw new AssertionError(what + ": no line matches '" + regex + "' in:\n" + text);
        }
    }

    /** Waits until {@code condition} holds, which other threads make true; fails after 60 seconds. */
    public static void eventually(BooleanSupplier condition, String what) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            that(System.nanoTime() < deadline, "not within 60 s: " + what);
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
