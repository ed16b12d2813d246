// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Method handles, call sites, var handles, lambdas and stack frames of walkers keep what they name, also when they are made during collections.
 * @library /lib
 * @run main/othervm -Xmx64m MethodHandlesAndLambdas
 * @run main/othervm -Xmx64m -Xcomp -XX:TieredStopAtLevel=1 MethodHandlesAndLambdas
 */

import heap.Check;
import heap.Heap;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

public class MethodHandlesAndLambdas {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
    private static final int HANDLES = 100;

    private int field;

    static int add(int[] base, int i) {
        return base[0] + i;
    }

    public static void main(String[] args) throws Throwable {
        try (Heap.Collector collector = new Heap.Collector()) {
            boundHandles();
            callSites();
            varHandles();
            lambdas();
            frames();
        }
    }

    private static void boundHandles() throws Throwable {
        List<MethodHandle> handles = new ArrayList<>();
        for (int i = 0; i < HANDLES; i++) {
            MethodHandle handle = LOOKUP.findStatic(MethodHandlesAndLambdas.class, "add",
                    MethodType.methodType(int.class, int[].class, int.class));
            handle = MethodHandles.insertArguments(handle, 0, (Object) new int[] {i * 1000});
            handles.add(i % 3 == 0 ? MethodHandles.filterReturnValue(handle, MethodHandles.identity(int.class)) : handle);
        }
        Heap.collect(2);
        for (int i = 0; i < HANDLES; i++) {
            Check.equal(i * 1000 + 7, (int) handles.get(i).invokeExact(7), "a bound method handle");
        }
    }

    private static void callSites() throws Throwable {
        MutableCallSite site = new MutableCallSite(MethodHandles.constant(String.class, "start"));
        MethodHandle invoker = site.dynamicInvoker();
        for (int i = 0; i < HANDLES; i++) {
            String target = "target " + i;
            site.setTarget(MethodHandles.constant(String.class, target));
            Check.same(target, (String) invoker.invokeExact(), "the target of a call site");
        }
    }

    private static void varHandles() throws Exception {
        VarHandle handle = LOOKUP.findVarHandle(MethodHandlesAndLambdas.class, "field", int.class);
        MethodHandlesAndLambdas object = new MethodHandlesAndLambdas();
        for (int i = 0; i < 100_000; i++) {
            Check.that(handle.compareAndSet(object, i, i + 1), "compareAndSet of a var handle");
        }
        Check.equal(100_000, object.field, "a field set by a var handle");
    }

    private static void lambdas() {
        List<IntUnaryOperator> lambdas = new ArrayList<>();
        for (int i = 0; i < HANDLES; i++) {
            int[] captured = {i};
            lambdas.add(x -> captured[0] * x);
        }
        Heap.collect(2);
        for (int i = 0; i < HANDLES; i++) {
            Check.equal(3 * i, lambdas.get(i).applyAsInt(3), "what a lambda captures");
        }
    }

    private static void frames() {
        for (int i = 0; i < HANDLES; i++) {
            List<StackWalker.StackFrame> frames = StackWalker.getInstance().walk(stream -> stream.toList());
            System.gc();
            Check.equal("frames", frames.get(0).getMethodName(), "a method that a stack walker has found");
        }
    }
}
