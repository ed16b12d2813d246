// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary An array for which there is room once a dead class loader has gone is allocated, also where other threads go on allocating. It costs no
 *          soft reference.
 * @library /lib
 * @run main/othervm -Xms64m -Xmx64m RoomOfDeadLoaders
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Loaders;
import java.lang.ref.SoftReference;

public class RoomOfDeadLoaders {
    private static final int ROUNDS = 10;

    /** What its loader keeps alive, and nothing else. */
    public static class Holder {
        static final byte[][] HELD = new byte[40][Heap.MIB];
    }

    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 2; i++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    sink = new byte[Heap.MIB / 16];
                    Thread.onSpinWait();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        SoftReference<Object> soft = new SoftReference<>(new Object());
        // Elsewhere a pause may leave so much in use that those fall which have not been used since the one before.
        boolean isExhaustive = !Child.hasGenerations() && !Child.marksConcurrently();
        for (int i = 0; i < ROUNDS; i++) {
            new Loaders.Loader(Holder.class).load(Holder.class);
            sink = new byte[30 * Heap.MIB];
            sink = null;
            Check.that(soft.get() != null || !isExhaustive, "the soft reference stays");
        }
    }
}
