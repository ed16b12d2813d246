// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Ten thousand threads allocate a few objects of many sizes each and end, and native ones attach and detach, while others allocate
 *          steadily and collections run: what each has left keeps its contents.
 * @library /lib
 * @run main/othervm/native -Xmx16m ShortThreads
 */

import heap.Check;
import heap.Heap;
import heap.Threads;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

public class ShortThreads {
    private static final int STARTERS = 4;
    private static final int AT_ONCE = 4;
    private static final int THREADS = 10_000;
    private static final int STEADY = 4;
    private static final int OBJECTS = 8;
    private static final int NATIVE = 16;

    /** What threads leave to others, which check it. */
    private static final AtomicReferenceArray<int[]> LEFT = new AtomicReferenceArray<>(500);
    private static final AtomicInteger ENDED = new AtomicInteger();
    private static final AtomicBoolean DONE = new AtomicBoolean();

    public static void main(String[] args) throws Exception {
        long before = Heap.collections();
        Threads.run(STARTERS + STEADY + 1, number -> {
            if (number < STARTERS) {
                start();
            } else if (number < STARTERS + STEADY) {
                allocateSteadily();
            } else {
                attachThreads();
            }
        });
        Check.equal(THREADS, ENDED.get(), "threads that reached their end");
        for (int i = 0; i < LEFT.length(); i++) {
            check(LEFT.get(i));
        }
        long collections = Heap.collections() - before;
        Check.that(collections > 20, "collections ran meanwhile: " + collections);
    }

    private static void start() throws InterruptedException {
        try {
            for (int started = 0; started < THREADS / STARTERS; started += AT_ONCE) {
                Threads.run(AT_ONCE, number -> live());
            }
        } finally {
            DONE.set(true);
        }
    }

    /** What a short thread does. Others see half of its objects after its end. */
    private static void live() {
        int[][] own = new int[OBJECTS][];
        for (int i = 0; i < OBJECTS; i++) {
            own[i] = object();
            if (i % 2 == 0) {
                leave(own[i]);
            }
        }
        for (int[] object : own) {
            check(object);
        }
        ENDED.incrementAndGet();
    }

    private static void allocateSteadily() {
        while (!DONE.get()) {
            for (int i = 0; i < 100; i++) {
                leave(object());
            }
            // The short threads are to run meanwhile.
            Thread.yield();
        }
    }

    private static void attachThreads() {
        while (!DONE.get()) {
            Check.equal(NATIVE, AttachedThreads.attachAndDetach(NATIVE), "native threads that succeeded");
        }
    }

    /** An array whose elements tell its first one: small most times, at times with pages of its own. */
    private static int[] object() {
        Random random = ThreadLocalRandom.current();
        int[] object = new int[1 + random.nextInt(4 << random.nextInt(14))];
        int first = random.nextInt();
        for (int i = 0; i < object.length; i++) {
            Check.that(object[i] == 0, "a new array is not zero");
            object[i] = first + i;
        }
        return object;
    }

    /** Leaves it in the place of another, which dies. */
    private static void leave(int[] object) {
        check(LEFT.getAndSet(ThreadLocalRandom.current().nextInt(LEFT.length()), object));
    }

    private static void check(int[] object) {
        if (object != null) {
            for (int i = 0; i < object.length; i++) {
                Check.that(object[i] == object[0] + i, "an element has changed");
            }
        }
    }
}
