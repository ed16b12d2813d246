// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Native threads attach, allocate, collect and detach by the hundred, while Java threads allocate.
 * @library /lib
 * @run main/othervm/native -Xmx64m AttachedThreads
 */

import heap.Check;
import heap.Heap;
import java.util.concurrent.atomic.AtomicInteger;

public class AttachedThreads {
    private static final int ROUNDS = 20;
    private static final int THREADS = 16;

    private static final AtomicInteger CALLS = new AtomicInteger();

    static {
        System.loadLibrary("AttachedThreads");
    }

    /** Runs {@code threads} native threads, each of which attaches, calls {@link #fromNative}, checks what it gets, and detaches. */
    static native int attachAndDetach(int threads);

    /** Called by each native thread: returns its number as text. */
    static String fromNative(int number) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 50; i++) {
            Heap.churn(1024);
            text.append(number).append(';');
        }
        if (number % 8 == 0) {
            System.gc();
        }
        CALLS.incrementAndGet();
        return text.toString();
    }

    public static void main(String[] args) throws Exception {
        try (Heap.Collector collector = new Heap.Collector()) {
            for (int round = 0; round < ROUNDS; round++) {
                Check.equal(THREADS, attachAndDetach(THREADS), "native threads that succeeded in round " + round);
            }
        }
        Check.equal(ROUNDS * THREADS, CALLS.get(), "calls from native threads");
        Check.that(Heap.collections() > ROUNDS, "collections ran meanwhile");
    }
}
