// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary refersTo, get, clear, enqueue and isEnqueued of each kind of reference, before and after collections.
 * @library /lib
 * @run main/othervm -Xmx64m RefersTo
 * @run main/othervm -Xmx64m -Xint RefersTo
 * @run main/othervm -Xmx64m -Xcomp RefersTo
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.List;

public class RefersTo {
    private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();

    public static void main(String[] args) throws Exception {
        Object referent = new Object();
        Object stranger = new Object();
        List<Reference<Object>> references = List.of(new SoftReference<>(referent, QUEUE),
                new WeakReference<>(referent, QUEUE), new PhantomReference<>(referent, QUEUE));
        for (int i = 0; i < 20_000; i++) {
            check(references, referent, stranger);
            if (i % 2000 == 0) {
                Heap.collect(1);
            }
        }
        Check.equal(null, QUEUE.poll(), "references to a live object are not enqueued");
        clearAndEnqueue(references, referent);
        collected();
    }

    private static void check(List<Reference<Object>> references, Object referent, Object stranger) {
        for (Reference<Object> reference : references) {
            Check.that(reference.refersTo(referent), "it refers to its referent");
            Check.that(!reference.refersTo(null), "it does not refer to null");
            Check.that(!reference.refersTo(stranger), "it does not refer to another object");
            Check.same(reference instanceof PhantomReference ? null : referent, reference.get(), "get");
        }
    }

    private static void clearAndEnqueue(List<Reference<Object>> references, Object referent) throws Exception {
        for (Reference<Object> reference : references) {
            reference.clear();
            Check.that(reference.refersTo(null), "it refers to null when it is cleared");
            Check.that(reference.enqueue(), "it can be enqueued");
            Check.that(!reference.enqueue(), "but once");
            Check.same(reference, QUEUE.remove(60_000), "it is in the queue");
        }
        Heap.collect(1);
        Check.equal(null, QUEUE.poll(), "a collection does not enqueue cleared references");
        Reference.reachabilityFence(referent);
    }

    private static Reference<Object> weak() {
        return new WeakReference<>(new Object(), QUEUE);
    }

    private static Reference<Object> phantom() {
        return new PhantomReference<>(new Object(), QUEUE);
    }

    private static void collected() throws Exception {
        List<Reference<Object>> references = List.of(weak(), phantom());
        Heap.collect(1);
        for (Reference<Object> reference : references) {
            Check.that(reference.refersTo(null), "it refers to null when its referent is dead");
        }
        Check.that(references.contains(QUEUE.remove(60_000)), "the first is enqueued");
        Check.that(references.contains(QUEUE.remove(60_000)), "the second is enqueued");
        Check.equal(null, QUEUE.poll(), "and no more");
    }
}
