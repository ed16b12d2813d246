// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Compiled code goes that was made for the target of a call site. The list of such code, which hangs on an object that may have moved in
 * the same collection, is right afterwards: a site that lives takes another target, and what a dead one leaves is cleaned.
 * @library /lib
 * @run main/othervm -Xmx64m -Xbatch CallSites
 */

import heap.Check;
import heap.Heap;
import heap.Loaders;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MutableCallSite;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

public class CallSites {
    private static final int ROUNDS = 20;
    private static final int CALLS = 20_000;

    /** Calls through a site. Defined anew by each loader. */
    public static class Hot implements IntSupplier, Supplier<MutableCallSite> {
        private static final MutableCallSite SITE = new MutableCallSite(MethodHandles.constant(int.class, 1));
        private static final MethodHandle INVOKER = SITE.dynamicInvoker();

        @Override
        public int getAsInt() {
            try {
                return (int) INVOKER.invokeExact();
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public MutableCallSite get() {
            return SITE;
        }
    }

    public static void main(String[] args) throws Throwable {
        List<MutableCallSite> living = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            living.add(heat().get());
            WeakReference<Object> dead = new WeakReference<>(heat());
            Heap.collect(2);
            Check.that(dead.get() == null, "what called a site is unloaded");
            // The thread that cleans what a dead site has left runs meanwhile.
            Heap.churn(Heap.MIB);
        }
        for (MutableCallSite site : living) {
            MethodHandle invoker = site.dynamicInvoker();
            Check.equal(1, (int) invoker.invokeExact(), "the target");
            site.setTarget(MethodHandles.constant(int.class, 2));
            Check.equal(2, (int) invoker.invokeExact(), "the new target");
        }
    }

    /** A class that is defined anew and whose call is compiled. Each has a call site of its own. */
    @SuppressWarnings("unchecked")
    private static Supplier<MutableCallSite> heat() {
        IntSupplier hot = (IntSupplier) new Loaders.Loader(Hot.class).make(Hot.class);
        int sum = 0;
        for (int i = 0; i < CALLS; i++) {
            sum += hot.getAsInt();
        }
        Check.equal(CALLS, sum, "the sum of what a site returns");
        return (Supplier<MutableCallSite>) hot;
    }
}
