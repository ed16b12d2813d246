// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A Cleaner runs the action of each dead object once, and of no live one; finalizers too; direct buffers give their memory back.
 * @library /lib
 * @run main/othervm -Xmx64m -XX:MaxDirectMemorySize=64m Cleaners
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

public class Cleaners {
    private static final int OBJECTS = 10_000;
    private static final AtomicInteger FINALIZED = new AtomicInteger();

    private static final class Finalizable {
        private final int[] tail = {42};

        @Override
        @SuppressWarnings("deprecation")
        protected void finalize() {
            FINALIZED.addAndGet(tail[0] == 42 ? 1 : OBJECTS);
        }
    }

    public static void main(String[] args) {
        cleaner();
        finalizers();
        directBuffers();
    }

    private static void cleaner() {
        Cleaner cleaner = Cleaner.create();
        AtomicIntegerArray runs = new AtomicIntegerArray(OBJECTS);
        AtomicInteger total = new AtomicInteger();
        Object[] kept = register(cleaner, runs, total);
        Heap.collect(1);
        Check.eventually(() -> total.get() == OBJECTS / 2, "the actions of all dead objects");
        Heap.collect(2);
        for (int i = 0; i < OBJECTS; i++) {
            Check.equal(i % 2, runs.get(i), "runs of the action of object " + i);
        }
        Reference.reachabilityFence(kept);
    }

    private static Object[] register(Cleaner cleaner, AtomicIntegerArray runs, AtomicInteger total) {
        Object[] kept = new Object[OBJECTS];
        for (int i = 0; i < OBJECTS; i++) {
            int number = i;
            Object object = new Object();
            cleaner.register(object, () -> {
                runs.incrementAndGet(number);
                total.incrementAndGet();
            });
            kept[i] = i % 2 == 0 ? object : null;
        }
        return kept;
    }

    private static void finalizers() {
        Finalizable[] kept = makeFinalizable();
        Heap.collect(1);
        Check.eventually(() -> FINALIZED.get() == OBJECTS / 2, "the finalizers of all dead objects, and each once");
        Heap.collect(2);
        Check.equal(OBJECTS / 2, FINALIZED.get(), "finalizers that have run");
        Reference.reachabilityFence(kept);
    }

    private static Finalizable[] makeFinalizable() {
        Finalizable[] kept = new Finalizable[OBJECTS];
        for (int i = 0; i < OBJECTS; i++) {
            Finalizable object = new Finalizable();
            kept[i] = i % 2 == 0 ? object : null;
        }
        return kept;
    }

    /** Allocates 1 GiB in all where 64 MiB are allowed at once: works only if references to dead buffers are processed. */
    private static void directBuffers() {
        for (int i = 0; i < 256; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(4 * Heap.MIB);
            buffer.putInt(i % 1000, i);
            Check.equal(i, buffer.getInt(i % 1000), "a direct buffer");
        }
    }
}
