// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Objects stay locked over collections: stack-locked, recursively, inflated by a hash code, by wait, by contention.
 * @library /lib
 * @run main/othervm -Xmx64m LockedObjects
 * @run main/othervm -Xmx64m -Xint LockedObjects
 * @run main/othervm -Xmx64m -Xcomp LockedObjects
 * @run main/othervm -Xmx64m -XX:+UnlockExperimentalVMOptions -XX:+UseHeavyMonitors LockedObjects
 */

import heap.Check;
import heap.Heap;
import heap.Threads;

public class LockedObjects {
    private static final int THREADS = 8;
    private static final int STEPS = 3000;

    private int counter;
    private boolean turn;

    public static void main(String[] args) throws Exception {
        stackLocked(200);
        try (Heap.Collector collector = new Heap.Collector()) {
            new LockedObjects().contended();
            new LockedObjects().waiting();
        }
        manyMonitors();
    }

    /** Locks a new object in each frame, some twice, some with a hash code; the deepest frame collects. */
    private static void stackLocked(int depth) {
        if (depth == 0) {
            Heap.collect(3);
            return;
        }
        Object lock = new int[] {depth};
        int hash = depth % 3 == 0 ? System.identityHashCode(lock) : 0;
        synchronized (lock) {
            synchronized (depth % 2 == 0 ? lock : new Object()) {
                stackLocked(depth - 1);
                Check.that(Thread.holdsLock(lock), "the lock is still held");
            }
            Check.that(Thread.holdsLock(lock), "the lock is held once less");
        }
        Check.that(!Thread.holdsLock(lock), "the lock is free");
        Check.equal(depth, ((int[]) lock)[0], "the locked object");
        Check.that(hash == 0 || hash == System.identityHashCode(lock), "the hash code of an object that was locked");
    }

    private void contended() throws InterruptedException {
        Object lock = new Object();
        Threads.run(THREADS, number -> {
            for (int i = 0; i < STEPS; i++) {
                synchronized (lock) {
                    int before = counter;
                    Heap.churn(256);
                    counter = before + 1;
                }
            }
        });
        Check.equal(THREADS * STEPS, counter, "steps made under a contended lock");
    }

    private void waiting() throws InterruptedException {
        Object lock = new Object();
        int steps = STEPS / 10;
        Threads.run(2, number -> {
            for (int i = 0; i < steps; i++) {
                synchronized (lock) {
                    boolean mine = turn;
                    turn = !turn;
                    counter++;
                    lock.notifyAll();
                    // Both threads may end on the same turn: nobody waits for ever.
                    for (int tries = 0; turn != mine && tries < 3; tries++) {
                        lock.wait(5);
                    }
                }
            }
        });
        Check.equal(2 * steps, counter, "steps of waiting threads");
    }

    /** More inflated monitors than collections may leave alone: those of dead objects are taken back. */
    private static void manyMonitors() throws InterruptedException {
        Object[] kept = new Object[1000];
        for (int i = 0; i < 20_000; i++) {
            Object lock = new Object();
            synchronized (lock) {
                // Both inflate. A wait takes a millisecond.
                if (i % 20 == 0) {
                    lock.wait(0, 1);
                } else {
                    System.identityHashCode(lock);
                }
            }
            kept[i % kept.length] = lock;
            if (i % 5000 == 0) {
                Heap.collect(1);
            }
        }
        for (Object lock : kept) {
            synchronized (lock) {
                Check.that(Thread.holdsLock(lock), "a lock that was inflated");
            }
        }
    }
}
