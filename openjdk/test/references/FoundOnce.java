// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A reference to which several workers come at the same time is discovered once.
 * @library /lib
 * @run main FoundOnce
 */

import heap.Check;
import heap.Child;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class FoundOnce {
    private static final int REFERENCES = 30_000;
    private static final int ROUNDS = 40;
    /** Arrays through which a collection comes to the references, each by some forty ways. */
    private static final int ARRAYS = 20_000;
    private static final int WAYS = 64;
    /** Weak references of the class library: few, and most of the time their referents are reached first. */
    private static final int OTHERS = ROUNDS / 4;

    private static final Pattern WEAK = Pattern.compile("Discovered: .*Weak: (\\d+)");

    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xmx512m", "-XX:ParallelGCThreads=4", "-Xlog:gc+ref=debug").main(Main.class).mustExitCleanly(0);
        Matcher weak = WEAK.matcher(child.out());
        int rounds = 0;
        long more = 0;
        while (weak.find()) {
            long discovered = Long.parseLong(weak.group(1));
            if (discovered >= REFERENCES) {
                rounds++;
                more += discovered - REFERENCES;
            }
        }
        Check.equal(ROUNDS, rounds, "collections that discovered all references");
        Check.that(more <= OTHERS, "references discovered twice: " + more);
    }

    /** Makes references to which many ways lead, and collects. There is no lambda in it, as the class library has weak references for them. */
    public static class Main {
        public static void main(String[] args) {
            Random random = new Random(1);
            for (int round = 0; round < ROUNDS; round++) {
                Object[] ways = ways(random);
                System.gc();
                Reference.reachabilityFence(ways);
            }
        }

        private static Object[] ways(Random random) {
            Object[] references = new Object[REFERENCES];
            Object[] referents = new Object[REFERENCES];
            for (int i = 0; i < REFERENCES; i++) {
                referents[i] = new Object();
                references[i] = new WeakReference<>(referents[i]);
            }
            Object[][] ways = new Object[ARRAYS][WAYS];
            for (Object[] array : ways) {
                for (int i = 0; i < WAYS; i++) {
                    array[i] = references[random.nextInt(REFERENCES)];
                }
            }
            // No earlier collection has cleared one.
            Reference.reachabilityFence(referents);
            return ways;
        }
    }
}
