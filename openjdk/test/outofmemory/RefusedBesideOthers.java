// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary In a heap that is nearly full, requests that are too large end in OutOfMemoryError, after some collections each. Another thread
 *          and soft references that are made later do not notice.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main/othervm -Xms512m -Xmx512m RefusedBesideOthers
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.List;

public class RefusedBesideOthers {
    /** Pauses are long beside what is between them, and there is little to allocate until the next. */
    private static final int PERCENT = 99;
    private static final int MORE_MIB = 100;
    private static final int REQUESTS = 3;

    static volatile Object sink;
    static volatile boolean done;
    static volatile Throwable failure;

    public static void main(String[] args) throws Exception {
        List<Object> live = new ArrayList<>(1 << 20);
        fill(live);
        Thread other = new Thread(() -> {
            try {
                while (!done) {
                    sink = new byte[64];
                    // It does not fill the heap.
                    Thread.sleep(1);
                }
            } catch (Throwable e) {
                failure = e;
            }
        });
        other.setDaemon(true);
        other.start();
        for (int i = 0; i < REQUESTS; i++) {
            refuse();
            SoftReference<Object> soft = new SoftReference<>(new Object());
            System.gc();
            Check.that(soft.get() != null, "a soft reference that was made after the refusal stays");
        }
        done = true;
        other.join();
        Check.equal(null, failure, "what the other thread got");
        Check.that(!live.isEmpty(), "the others are alive");
    }

    private static void fill(List<Object> live) {
        Runtime runtime = Runtime.getRuntime();
        while (runtime.totalMemory() - runtime.freeMemory() < runtime.maxMemory() / 100 * PERCENT) {
            Object[] some = new Object[250];
            for (int i = 0; i < some.length; i++) {
                some[i] = new byte[8];
            }
            live.add(some);
        }
    }

    private static void refuse() {
        try {
            sink = new byte[MORE_MIB * Heap.MIB];
        } catch (OutOfMemoryError e) {
            Check.equal("Java heap space", e.getMessage(), "the message");
            return;
        }
        throw new AssertionError("there is no room for it");
    }
}
