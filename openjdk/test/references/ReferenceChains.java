// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary References to references, chains of them, references that die with their referents, and cycles.
 * @library /lib
 * @run main/othervm -Xmx64m ReferenceChains
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

public class ReferenceChains {
    private static final int LENGTH = 1000;

    private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();

    /** A weak reference with a strong field. */
    private static final class Linked extends WeakReference<Object> {
        Object strong;

        Linked(Object referent, Object strong) {
            super(referent, QUEUE);
            this.strong = strong;
        }
    }

    public static void main(String[] args) throws Exception {
        strongEnd();
        weakEnd();
        strongFieldKeeps();
        referencesDieFirst();
        cycles();
        softToWeak();
    }

    /** A chain of which each link is held, and a reference to a reference. What the first ones refer to is alive. */
    private static void strongEnd() {
        List<Object> held = new ArrayList<>();
        Object last = new int[] {7};
        for (int i = 0; i < LENGTH; i++) {
            last = new WeakReference<>(last);
            held.add(last);
        }
        int[] end = {7};
        Reference<?> first = new WeakReference<Object>(end);
        WeakReference<Object> toFirst = new WeakReference<>(first);
        Heap.collect(2);
        Check.same(first, toFirst.get(), "a reference to a live reference");
        Check.same(end, first.get(), "what that refers to");
        for (int i = 1; i < LENGTH; i++) {
            Check.same(held.get(i - 1), ((Reference<?>) held.get(i)).get(), "a link of a chain that is held");
        }
        Check.equal(null, ((Reference<?>) held.get(0)).get(), "the dead end of the chain");
    }

    private static WeakReference<Object> weakChain() {
        Object last = new Object();
        for (int i = 0; i < LENGTH; i++) {
            last = new WeakReference<>(last, QUEUE);
        }
        return new WeakReference<>(last, QUEUE);
    }

    /** Only the first of the chain is alive: only it is enqueued, as unreachable references are not. */
    private static void weakEnd() throws InterruptedException {
        WeakReference<Object> first = weakChain();
        Heap.collect(1);
        Check.equal(null, first.get(), "the first of a chain");
        Check.same(first, QUEUE.remove(60_000), "the first of a chain, enqueued");
        Check.equal(null, QUEUE.remove(200), "references that were unreachable themselves");
    }

    /** Fields of a reference other than its referent are strong. */
    private static void strongFieldKeeps() throws InterruptedException {
        Linked outer = new Linked(new Object(), null);
        Linked inner = new Linked(QUEUE, new int[] {3});
        outer.strong = inner;
        inner = null;
        Heap.collect(2);
        Check.same(outer, QUEUE.remove(60_000), "the outer reference, whose referent is dead");
        Linked kept = (Linked) outer.strong;
        Check.same(QUEUE, kept.get(), "the referent of the inner one");
        Check.equal(3, ((int[]) kept.strong)[0], "its strong field");
    }

    private static void makePairs() {
        for (int i = 0; i < LENGTH; i++) {
            Object referent = new Object();
            new WeakReference<>(referent, QUEUE);
            new PhantomReference<>(referent, QUEUE);
        }
    }

    private static void referencesDieFirst() throws InterruptedException {
        makePairs();
        Heap.collect(1);
        Check.equal(null, QUEUE.remove(200), "a dead reference");
    }

    private static List<Linked> makeCycles() {
        List<Linked> list = new ArrayList<>();
        for (int i = 0; i < LENGTH; i++) {
            Object[] referent = new Object[2];
            Linked reference = new Linked(referent, null);
            referent[0] = reference;
            referent[1] = referent;
            list.add(reference);
        }
        return list;
    }

    /** Referents that hold the references to them, and themselves. */
    private static void cycles() throws InterruptedException {
        List<Linked> list = makeCycles();
        Heap.collect(1);
        Set<Reference<?>> enqueued = new HashSet<>();
        for (int i = 0; i < LENGTH; i++) {
            enqueued.add(QUEUE.remove(60_000));
        }
        Check.equal(new HashSet<>(list), enqueued, "the enqueued references of cycles");
    }

    private static SoftReference<WeakReference<Object>> makeSoftToWeak() {
        return new SoftReference<>(new WeakReference<>(new Object(), QUEUE));
    }

    private static void softToWeak() throws InterruptedException {
        SoftReference<WeakReference<Object>> soft = makeSoftToWeak();
        Heap.collect(1);
        WeakReference<Object> weak = soft.get();
        Check.that(weak != null, "a softly reachable weak reference is kept");
        Check.equal(null, weak.get(), "but not its referent");
        Check.same(weak, QUEUE.remove(60_000), "and it is enqueued");
    }
}
