// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A thread's count of allocated bytes follows what it allocates, small and large, inline or not.
 * @modules jdk.management
 * @library /lib
 * @run main/othervm -Xmx64m AllocatedBytes
 * @run main/othervm -Xmx64m -Xint AllocatedBytes
 */

import com.sun.management.ThreadMXBean;
import heap.Check;
import heap.Heap;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Array;

public class AllocatedBytes {
    private static final int OBJECTS = 200_000;

    private static Object sink;

    public static void main(String[] args) {
        // The first call of the bean allocates, too.
        counted(() -> sink = null);
        expect(OBJECTS * 128L, counted(() -> Heap.churn(OBJECTS * 128L)), "small arrays");
        expect(OBJECTS * 1416L, counted(() -> {
            for (int i = 0; i < OBJECTS; i++) {
                sink = new byte[1400];
            }
        }), "arrays of more than a KiB");
        expect(40L * Heap.MIB, counted(() -> {
            for (int i = 0; i < 40; i++) {
                sink = new byte[Heap.MIB];
            }
        }), "large arrays");
        neverFalls();
    }

    /** Another thread that looks on sees the count rise alone. The arrays are made by the VM itself where nothing is compiled. */
    private static void neverFalls() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Thread thread = new Thread(() -> {
            for (int i = 0; i < 20 * OBJECTS; i++) {
                sink = Array.newInstance(byte.class, 1000);
            }
        });
        thread.start();
        long last = 0;
        while (thread.isAlive()) {
            long bytes = threads.getThreadAllocatedBytes(thread.getId());
            // A thread that has ended has no count.
            if (bytes != -1) {
                Check.that(bytes >= last, "the count has fallen from " + last + " to " + bytes);
                last = bytes;
            }
        }
    }

    private static long counted(Runnable work) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        long before = threads.getThreadAllocatedBytes(id);
        work.run();
        return threads.getThreadAllocatedBytes(id) - before;
    }

    /** Free memory is counted when a thread gets it, as cells or a buffer; some of it a collection takes away unused. */
    private static void expect(long bytes, long counted, String what) {
        Check.that(counted >= bytes * 0.98 && counted <= bytes * 1.2, bytes + " bytes of " + what + " are counted as " + counted);
    }
}
