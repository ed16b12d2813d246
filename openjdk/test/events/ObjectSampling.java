// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary JVMTI's SampledObjectAlloc: as many samples as the interval says, compiled or interpreted; each object at interval 0.
 * @library /lib
 * @run main/othervm/native -Xmx64m -agentlib:ObjectSampling ObjectSampling
 * @run main/othervm/native -Xmx64m -Xint -agentlib:ObjectSampling ObjectSampling
 */

import heap.Check;
import heap.Heap;

public class ObjectSampling {
    private static final int OBJECTS = 20_000;

    private static final class Sampled {
        long value;
    }

    private static Object sink;

    static {
        System.loadLibrary("ObjectSampling");
    }

    /** Samples objects of all types every {@code interval} bytes on average, less than 0: not at all; counts those of one. */
    private static native void sample(int interval, Class<?> type);

    /** How many samples there were. */
    private static native int samples();

    public static void main(String[] args) {
        allocate(OBJECTS);
        everyObject();
        interval(10_000, 40);
        interval(512 << 10, 400);
        sample(-1, byte[].class);
        int before = samples();
        Heap.churn(10 * Heap.MIB);
        Check.equal(before, samples(), "samples after the end");
    }

    private static void allocate(int objects) {
        for (int i = 0; i < objects; i++) {
            sink = new Sampled();
        }
    }

    /** The thread's current buffer may have been handed out before, and the first sample be due by the interval before. */
    private static void everyObject() {
        sample(0, Sampled.class);
        for (int i = 0; i < 8; i++) {
            sink = new byte[Heap.MIB];
        }
        Heap.churn(Heap.MIB);
        allocate(2 * OBJECTS);
        int before = samples();
        allocate(OBJECTS);
        Check.equal(OBJECTS, samples() - before, "samples of as many objects");
    }

    private static void interval(int bytes, int mebibytes) {
        sample(bytes, byte[].class);
        Heap.churn(Math.max(Heap.MIB, 10L * bytes));
        int before = samples();
        Heap.churn((long) mebibytes * Heap.MIB);
        double samples = samples() - before;
        double expected = (double) mebibytes * Heap.MIB / bytes;
        // Five standard deviations of a Poisson process, and 2 percent.
        double tolerance = 5 * Math.sqrt(expected) + 0.02 * expected;
        boolean fits = Math.abs(samples - expected) <= tolerance;
        Check.that(fits, samples + " samples, not " + expected + ", every " + bytes + " bytes");
    }
}
