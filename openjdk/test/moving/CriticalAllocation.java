// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A thread that allocates inside its own JNI critical region gets memory or an OutOfMemoryError, and never waits for a
 * collection that the region holds up; nor does System.gc() there. With -Xcheck:jni the VM ends as with HotSpot's own collectors.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm/native CriticalAllocation
 */

import heap.Check;
import heap.Child;
import heap.Heap;

public class CriticalAllocation {
    private static final int MOST = 256;

    public static void main(String[] args) throws Exception {
        String path = Child.libraryPath();
        String out = Child.with("-Xmx64m", path).main(Main.class).mustExitCleanly(0).out();
        Check.matches("allocated \\d+", out, "the end");
        boolean heldUp = !out.contains("allocated " + MOST);
        Check.that(!heldUp || !Child.neverMoves(), "where objects never move there is nothing to hold up");
        Check.that(heldUp || !Child.movesNewObjects(), "where new objects move a collection waits for the end of the region");
        Child checked = Child.with("-Xmx64m", "-Xcheck:jni", "-XX:-CreateCoredumpOnCrash", path).main(Main.class);
        String checkedOut = checked.mustExit(heldUp ? 1 : 0).out();
        Check.equal(heldUp, checkedOut.contains("Possible deadlock due to allocating while in jni critical section"), "why it ends");
    }

    public static class Main {
        static {
            System.loadLibrary("CriticalAllocation");
        }

        /** In a critical region: how many arrays of so many bytes it could allocate, one after the other. */
        private static native int allocate(byte[] array, int most, int bytes);

        /** Calls System.gc() in a critical region. */
        private static native void collect(byte[] array, Runnable collection);

        public static void main(String[] args) {
            byte[] array = new byte[1000];
            int count = allocate(array, MOST, Heap.MIB);
            Check.that(count == MOST || 10 < count && count < 64, "arrays of 1 MiB in a heap of 64 MiB: " + count);
            long before = Heap.collections();
            collect(array, System::gc);
            Heap.churn(100 * Heap.MIB);
            System.gc();
            Check.that(Heap.collections() > before, "collections run afterwards");
            System.out.println("allocated " + count);
        }
    }
}
