// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Weak references fall first, then finalizers run, and phantom references fall only when those have run and the object is dead again.
 * @library /lib
 * @run main/othervm -Xmx64m ReferenceOrder
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

public class ReferenceOrder {
    private static final CountDownLatch FINALIZED = new CountDownLatch(1);
    private static final AtomicInteger FINALIZERS_RUN = new AtomicInteger();
    private static volatile Finalizable resurrected;
    private static volatile boolean partIntactInFinalizer;

    private static final class Part {
        int[] content = {1, 2, 3};
    }

    private static final class Finalizable {
        final Part part = new Part();

        @Override
        @SuppressWarnings("deprecation")
        protected void finalize() {
            partIntactInFinalizer = part.content[2] == 3;
            resurrected = this;
            FINALIZERS_RUN.incrementAndGet();
            FINALIZED.countDown();
        }
    }

    private final ReferenceQueue<Object> queue = new ReferenceQueue<>();
    private WeakReference<Object> weak;
    private WeakReference<Object> weakToPart;
    private PhantomReference<Object> phantom;

    public static void main(String[] args) throws Exception {
        ReferenceOrder test = new ReferenceOrder();
        test.make();
        test.untilFinalized();
        test.whileResurrected();
        test.afterTheEnd();
    }

    private void make() {
        Finalizable object = new Finalizable();
        weak = new WeakReference<>(object, queue);
        // Reachable only from a finalizable object: falls with it, though the finalizer will still see the part.
        weakToPart = new WeakReference<>(object.part, queue);
        phantom = new PhantomReference<>(object, queue);
        Check.same(object, weak.get(), "a weak reference to a live object");
        Check.equal(null, phantom.get(), "get of a phantom reference");
    }

    private void untilFinalized() throws InterruptedException {
        Heap.collect(1);
        FINALIZED.await();
        Check.that(partIntactInFinalizer, "a finalizer sees what its object holds");
        Check.equal(null, weak.get(), "a weak reference to a finalizable object");
        Check.equal(null, weakToPart.get(), "a weak reference to a part of a finalizable object");
        Reference<?> first = queue.remove(60_000);
        Reference<?> second = queue.remove(60_000);
        Check.that(first == weak && second == weakToPart || first == weakToPart && second == weak, "both weak references are enqueued");
    }

    private void whileResurrected() throws InterruptedException {
        Heap.collect(3);
        Check.equal(null, queue.remove(200), "a phantom reference to an object that has been resurrected");
        Check.that(!phantom.refersTo(null), "it still refers to it");
        Check.that(phantom.refersTo(resurrected), "it refers to it");
        Check.equal(3, resurrected.part.content[2], "the resurrected object");
    }

    private void afterTheEnd() throws InterruptedException {
        resurrected = null;
        Heap.collect(1);
        Check.same(phantom, queue.remove(60_000), "the phantom reference, enqueued");
        Check.that(phantom.refersTo(null), "it is cleared");
        Check.equal(1, FINALIZERS_RUN.get(), "runs of the finalizer");
    }
}
