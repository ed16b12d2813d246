// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary JNI global and local handles keep objects and follow them; weak globals follow live objects and are cleared with dead ones.
 * @library /lib
 * @run main/othervm/native -Xmx64m JniHandles
 * @run main/othervm/native -Xmx64m -Xint JniHandles
 */

import heap.Check;
import heap.Heap;

public class JniHandles {
    private static final int HANDLES = 2000;

    static {
        System.loadLibrary("JniHandles");
    }

    private record Payload(int number, String text) {}

    /** Kinds of handles that outlive a call. */
    private static final int GLOBAL = 0;
    private static final int WEAK = 1;

    private static native long newHandle(int kind, Object object);
    private static native Object get(long handle);
    private static native boolean isCleared(long handle);
    private static native void delete(int kind, long handle);

    /** Holds {@code count} new arrays in local handles alone while it collects; returns how many have kept what was in them. */
    private static native int locals(int count);

    public static void main(String[] args) {
        globals();
        Check.equal(HANDLES, locals(HANDLES), "arrays that local handles have kept");
        weakGlobals();
    }

    private static Payload payload(int i) {
        return new Payload(i, "payload " + i);
    }

    private static long[] handles(int kind, Payload[] keep) {
        long[] handles = new long[HANDLES];
        for (int i = 0; i < HANDLES; i++) {
            Payload payload = payload(i);
            handles[i] = newHandle(kind, payload);
            if (keep != null && i % 2 == 0) {
                keep[i] = payload;
            }
        }
        return handles;
    }

    private static void globals() {
        long[] handles = handles(GLOBAL, null);
        for (int round = 0; round < 3; round++) {
            Heap.churn(8 * Heap.MIB);
            Heap.collect(1);
            for (int i = 0; i < HANDLES; i++) {
                Check.equal(payload(i), get(handles[i]), "global handle");
            }
        }
        for (long handle : handles) {
            delete(GLOBAL, handle);
        }
    }

    private static void weakGlobals() {
        Payload[] kept = new Payload[HANDLES];
        long[] handles = handles(WEAK, kept);
        Heap.collect(3);
        for (int i = 0; i < HANDLES; i++) {
            Check.equal(i % 2 == 1, isCleared(handles[i]), "weak handle " + i + " is cleared");
            if (i % 2 == 0) {
                Check.same(kept[i], get(handles[i]), "weak handle " + i);
            }
            delete(WEAK, handles[i]);
        }
    }
}
