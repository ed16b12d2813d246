// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary In a JNI critical region an array or a string stays where it is, while other threads allocate and collect; the VM goes on afterwards.
 * @library /lib
 * @run main/othervm/native -Xmx64m JniCritical
 * @run main/othervm/native -Xmx64m -Xcheck:jni JniCritical
 */

import heap.Check;
import heap.Heap;
import heap.Threads;

public class JniCritical {
    private static final int THREADS = 4;
    private static final int REGIONS = 60;

    private static volatile boolean done;

    static {
        System.loadLibrary("JniCritical");
    }

    /** In one critical region, adds 1 to each element, slowly; returns the sum of what it has read before, or -1 if an element changed meanwhile. */
    private static native long addOne(int[] array, int milliseconds);

    /** As {@link #addOne}, for two nested regions: copies one array into the other. */
    private static native void copy(int[] from, int[] to, int milliseconds);

    /** In a critical region, the sum of the characters, read twice, slowly; -1 if they differ. */
    private static native long sumOf(String text, int milliseconds);

    public static void main(String[] args) throws Exception {
        Thread churning = new Thread(() -> {
            while (!done) {
                Heap.churn(Heap.MIB);
            }
        });
        churning.start();
        try (Heap.Collector collector = new Heap.Collector()) {
            Threads.run(THREADS, JniCritical::run);
        } finally {
            done = true;
            churning.join();
        }
    }

    private static void run(int number) {
        for (int i = 0; i < REGIONS; i++) {
            arrays(number, i);
            text(number, i);
        }
    }

    private static void arrays(int number, int i) {
        // From a few elements to more than fit in a small object.
        int[] array = new int[1 << i % 16];
        int[] copied = new int[array.length];
        long sum = 0;
        for (int j = 0; j < array.length; j++) {
            array[j] = j + number;
            sum += array[j];
        }
        Check.equal(sum, addOne(array, 1), "the sum that a critical region has read");
        copy(array, copied, 1);
        for (int j = 0; j < array.length; j++) {
            Check.that(array[j] == j + number + 1 && copied[j] == array[j], "an element after a critical region");
        }
    }

    private static void text(int number, int i) {
        // The second has a character that Latin-1 lacks, and so another encoding in the VM.
        for (String text : new String[] {"text " + number + ' ' + i, "text \u20ac " + number + ' ' + i}) {
            Check.equal(text.chars().asLongStream().sum(), sumOf(text, 1), "the sum of the characters of '" + text + "'");
        }
    }
}
