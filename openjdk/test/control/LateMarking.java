// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where marking begins or ends too late, ConcurrentMarkSweep says so in one line, and a full pause follows.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main LateMarking
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.List;
import java.util.Optional;

public class LateMarking {
    private static final String BEFORE = "the heap is full before marking has begun: the next pause is a full one";
    private static final String WHILE = "the heap is full while marking runs: threads wait for the final mark";
    private static final String LITTLE = "marking has ended too late and left little free: the next pause is a full one";

    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        follows(BEFORE, 0, "Pause Full", log(BeginsLate.class));
        List<String> log = log(EndsLate.class);
        follows(WHILE, 0, "Pause Final Mark", log);
        // The pause that has left little is logged when it is over.
        follows(LITTLE, 1, "Pause Full", log);
    }

    /** The lines that {@code main} prints about its pauses. */
    private static List<String> log(Class<?> main) throws Exception {
        return Child.with("-Xms64m", "-Xmx64m", "-XX:ThirdPartyHeapOptions=plan=ConcurrentMarkSweep", "-Xlog:gc").main(main).mustExitCleanly(0)
                .lines("Pause|the heap is full|marking has ended");
    }

    /** Each line with this reason is followed by that pause, when others are skipped; and there is such a line. */
    private static void follows(String reason, int skipped, String pause, List<String> log) {
        long said = 0;
        for (int i = 0; i < log.size(); i++) {
            if (log.get(i).contains(reason)) {
                // The program may end before the pause.
                Optional<String> next = log.stream().skip(i + 1).filter(line -> line.contains("Pause")).skip(skipped).findFirst();
                if (next.isPresent()) {
                    said++;
                    Check.that(next.get().contains(pause), "after '" + reason + "' comes " + next.get());
                }
            }
        }
        Check.that(said > 0, "nothing says '" + reason + "':\n" + String.join("\n", log));
    }

    /** Less is in use than what marking waits for, and less is free than what it asks for. */
    public static class BeginsLate {
        public static void main(String[] args) {
            for (int i = 0; i < 4; i++) {
                for (int size : new int[] {20, 50}) {
                    sink = new byte[size * Heap.MIB];
                    sink = null;
                }
            }
        }
    }

    /** A list, which one thread alone can mark, fills the heap but for less than what a collection has to leave free. */
    public static class EndsLate {
        private static final long LEFT_FREE = 3L * Heap.MIB;

        private static final class Node {
            final Node next;
            long value;

            Node(Node next) {
                this.next = next;
            }
        }

        static Node head;

        public static void main(String[] args) {
            for (long i = 0; i % 1000 != 0 || Runtime.getRuntime().freeMemory() > LEFT_FREE; i++) {
                head = new Node(head);
            }
            for (int i = 0; i < 5_000; i++) {
                sink = new byte[4096];
            }
        }
    }
}
