// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** What tests ask of the heap that they run on. */
public final class Heap {
    public static final int MIB = 1 << 20;

    /** How an OutOfMemoryError names a full heap, as a regular expression: the second is said where collections free next to nothing. */
    public static final String FULL = "(Java heap space|GC overhead limit exceeded)";

    private static volatile Object sink;

    private Heap() {}

    /** Collects the whole heap some times, so that a moving plan moves objects there and back. */
    public static void collect(int times) {
        for (int i = 0; i < times; i++) {
            System.gc();
        }
    }

    /** The collections since the start of the VM, of all collectors. */
    public static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
    }

    /**
     * After how many of {@link #collections()} everything has been looked at that there was before. A plan that marks concurrently counts
     * both of its pauses, and keeps what was allocated between them: if it is marking now, the next collection looks at that.
     */
    public static int pausesOfCollection() {
        boolean concurrent = ManagementFactory.getRuntimeMXBean().getInputArguments().stream().anyMatch(argument -> argument.contains("plan=Concurrent"));
        return concurrent ? 3 : 1;
    }

    /** Allocates {@code bytes}, roughly, in small objects that die at once. */
    public static void churn(long bytes) {
        for (long i = 0; i < bytes; i += 128) {
            sink = new byte[112];
        }
        sink = null;
    }

    /** Allocates objects of {@code bytes} of which each sixth stays alive, until so many do. They are returned. */
    public static List<byte[]> grow(int live, int bytes) {
        List<byte[]> kept = new ArrayList<>();
        while (kept.size() < live) {
            kept.add(new byte[bytes]);
            for (int i = 0; i < 5; i++) {
                sink = new byte[bytes];
            }
        }
        return kept;
    }

    /** A thread that collects until it is closed, with allocation between the collections. */
    public static final class Collector implements AutoCloseable {
        private final AtomicBoolean done = new AtomicBoolean();
        private final long before = collections();
        private final Thread thread = new Thread(this::run, "collector");
        private volatile Throwable failure;

        /** Starts the thread. */
        public Collector() {
            thread.setDaemon(true);
            thread.start();
        }

        private void run() {
            try {
                do {
                    churn(64 << 10);
                    System.gc();
                } while (!done.get());
            } catch (Throwable e) {
                failure = e;
            }
        }

        /** Ends the thread and waits for its end. Fails if nothing was collected. */
        @Override
        public void close() throws InterruptedException {
            done.set(true);
            thread.join();
            if (failure != null) {
                throw new AssertionError("the collecting thread failed", failure);
            }
            Check.that(collections() > before, "nothing was collected");
        }
    }
}
