// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary References of all strengths to young objects, small and large, in partial collections: those to the living find them where they
 * have moved, those to the dead are cleared or enqueued, and none ever leads to freed memory; old ones lose their referents in full collections.
 * @library /lib
 * @run main/timeout=400 YoungReferences
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class YoungReferences {
    public static void main(String[] args) throws Exception {
        for (String mode : List.of("-XX:+TieredCompilation", "-Xint", "-XX:-UseCompressedOops")) {
            run(mode, "MMTK_NURSERY", "Fixed:1048576");
        }
        run("-XX:+TieredCompilation", "MMTK_STRESS_FACTOR", "200000");
    }

    private static void run(String mode, String variable, String value) throws Exception {
        Child child = Child.with(mode, "-Xmx128m", "-Xlog:gc").main(Main.class).variable(variable, value);
        child.mustExitCleanly(0).mustHaveCollectedPartially(1);
    }

    public static class Main {
        private static final int ROUNDS = 30;
        private static final int PAIRS = 300;
        private static final int LARGE = 300_000;

        /** Old, and so are all that it refers to but the young. */
        private static final Object[] STRONG = new Object[PAIRS];
        private static final List<Reference<int[]>> AGED = new ArrayList<>();
        private static final AtomicInteger FINALIZED = new AtomicInteger();

        private static final class Finalizable {
            private final int[] content;

            Finalizable(int number) {
                content = value(number);
            }

            @Override
            protected void finalize() {
                check(content, "what a finalizer sees");
                FINALIZED.incrementAndGet();
            }
        }

        public static void main(String[] args) throws Exception {
            Heap.collect(1);
            int finalizable = 0;
            for (int round = 0; round < ROUNDS; round++) {
                living(round);
                dead(round);
                large(round);
                aged(round);
                for (int i = 0; i < 10; i++) {
                    finalizable += new Finalizable(i).content.length / 2;
                }
            }
            collection();
            Heap.collect(2);
            int expected = finalizable;
            Check.eventually(() -> FINALIZED.get() == expected, "all finalizers have run");
            AGED.forEach(reference -> Check.that(reference.get() == null, "a full collection clears a reference that is old"));
        }

        private static int[] value(int number) {
            return new int[] {number, ~number};
        }

        private static void check(int[] value, String what) {
            Check.that(value.length >= 2 && value[1] == ~value[0], what + ": " + Arrays.toString(Arrays.copyOf(value, 2)));
        }

        /** Allocates until there has been a collection. */
        private static void collection() {
            long last = Heap.collections() + Heap.pausesOfCollection();
            for (int i = 0; i < 500 && Heap.collections() < last; i++) {
                Heap.churn(Heap.MIB);
            }
            Check.that(Heap.collections() >= last, "a collection came");
        }

        private static void living(int round) {
            List<Reference<int[]>> references = new ArrayList<>();
            for (int i = 0; i < PAIRS; i++) {
                int[] value = value(round * PAIRS + i);
                STRONG[i] = value;
                references.add(i % 3 == 0 ? new WeakReference<>(value) : i % 3 == 1 ? new SoftReference<>(value) : new WeakReference<>(value, new ReferenceQueue<>()));
            }
            collection();
            for (int i = 0; i < PAIRS; i++) {
                Check.same(STRONG[i], references.get(i).get(), "the referent of reference " + i);
                check((int[]) STRONG[i], "a referent");
            }
        }

        private static void dead(int round) throws InterruptedException {
            ReferenceQueue<Object> queue;
            List<Reference<?>> references;
            long collections;
            // A collection between an object and its reference would find the object alive, and then it is old.
            do {
                collections = Heap.collections();
                queue = new ReferenceQueue<>();
                references = new ArrayList<>();
                for (int i = 0; i < PAIRS; i++) {
                    references.add(i % 2 == 0 ? new WeakReference<>(value(i), queue) : new PhantomReference<>(value(i), queue));
                }
                Reference.reachabilityFence(references);
            } while (Heap.collections() != collections);
            collection();
            for (int i = 0; i < PAIRS; i++) {
                Check.that(queue.remove(60_000) != null, "reference " + i + " to a dead object is enqueued");
            }
            references.forEach(reference -> Check.that(reference.refersTo(null), "a reference to a dead object is cleared"));
        }

        /** Large objects may die in a full collection only, but never under a reference that leads to them. */
        private static void large(int round) {
            List<Reference<int[]>> references = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                int[] large = new int[LARGE];
                Arrays.fill(large, round);
                large[1] = ~round;
                references.add(new WeakReference<>(large));
            }
            collection();
            // Takes the memory that was freed.
            for (int i = 0; i < 10; i++) {
                Arrays.fill(new int[LARGE], -1);
            }
            for (Reference<int[]> reference : references) {
                int[] large = reference.get();
                if (large != null) {
                    check(large, "a large referent");
                    Check.equal(round, large[LARGE - 1], "its last element");
                }
            }
        }

        /** Makes references and referents old together, lets go of the referents, and looks at those of other rounds. */
        private static void aged(int round) {
            int[] value = value(round);
            AGED.add(new WeakReference<>(value));
            collection();
            check(value, "a value that has become old");
            for (Reference<int[]> reference : AGED) {
                int[] referent = reference.get();
                if (referent != null) {
                    check(referent, "the referent of an old reference");
                }
            }
        }
    }
}
