// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A million references of each kind at once: those to live objects stay, those to dead ones are cleared and enqueued, each once.
 * @library /lib
 * @run main/othervm/timeout=300 -Xmx512m ManyReferences
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.function.BiFunction;

public class ManyReferences {
    private static final int COUNT = 1_000_000;

    public static void main(String[] args) throws Exception {
        many("weak", WeakReference::new);
        many("phantom", PhantomReference::new);
    }

    private static void many(String kind, BiFunction<Object, ReferenceQueue<Object>, Reference<Object>> make) throws Exception {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        Object[] kept = new Object[COUNT];
        Reference<?>[] references = new Reference<?>[COUNT];
        fill(kept, references, queue, make);
        Heap.collect(1);
        for (int dead = 0; dead < COUNT / 2; dead++) {
            Check.that(queue.remove(60_000) != null, kind + " reference " + dead + " is enqueued");
        }
        Heap.collect(1);
        Check.equal(null, queue.poll(), kind + " references that are enqueued twice, or to live objects");
        for (int i = 0; i < COUNT; i++) {
            @SuppressWarnings("unchecked")
            Reference<Object> reference = (Reference<Object>) references[i];
            Check.that(reference.refersTo(kept[i]), kind + " reference " + i + " refers to what it should");
        }
    }

    private static void fill(Object[] kept, Reference<?>[] references, ReferenceQueue<Object> queue,
            BiFunction<Object, ReferenceQueue<Object>, Reference<Object>> make) {
        for (int i = 0; i < COUNT; i++) {
            Object referent = new Object();
            references[i] = make.apply(referent, queue);
            kept[i] = i % 2 == 0 ? referent : null;
        }
    }
}
