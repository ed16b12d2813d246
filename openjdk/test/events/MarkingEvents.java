// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where concurrent marking runs, the log and a flight recording have what lies between the two pauses, with their number.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @modules jdk.jfr
 * @run main MarkingEvents
 */

import heap.Check;
import heap.Child;
import heap.Events;
import heap.Heap;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;

public class MarkingEvents {
    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xmx256m", "-XX:ThirdPartyHeapOptions=plan=" + Child.concurrentPlan(), "-Xlog:gc,safepoint").main(Main.class).mustExitCleanly(0);
        long beside = child.concurrentMarks();
        Check.that(beside > 0, "concurrent marking ran");
        Check.equal(beside, (long) child.lines("\\] GC\\(\\d+\\) Concurrent Mark \\d+\\.\\d+ms$").size(), "lines about marking");
    }

    public static class Main {
        /** Longer to mark than an initial pause lasts. */
        private static final int NODES = 2_000_000;
        private static final long BYTES = 1L << 30;

        private static final class Node {
            final Node next;

            Node(Node next) {
                this.next = next;
            }
        }

        public static void main(String[] args) throws Exception {
            Node head = null;
            for (int i = 0; i < NODES; i++) {
                head = new Node(head);
            }
            try (Recording recording = new Recording()) {
                for (String name : List.of("GarbageCollection", "GCPhaseConcurrent")) {
                    recording.enable("jdk." + name).withoutThreshold().withoutStackTrace();
                }
                check(Events.of(recording, () -> Heap.churn(BYTES)));
            }
            Check.that(head.next != null, "the list is there");
        }

        private static void check(List<RecordedEvent> all) {
            Map<String, List<RecordedEvent>> events = all.stream().collect(Collectors.groupingBy(event -> event.getEventType().getName()));
            List<RecordedEvent> phases = events.getOrDefault("jdk.GCPhaseConcurrent", List.of());
            Check.that(!phases.isEmpty(), "marking has an event");
            int whole = 0;
            for (RecordedEvent phase : phases) {
                Check.equal("Concurrent Mark", phase.getString("name"), "the phase");
                List<RecordedEvent> pauses = events.get("jdk.GarbageCollection").stream().filter(pause -> pause.getInt("gcId") == phase.getInt("gcId"))
                        .sorted(Comparator.comparing(RecordedEvent::getStartTime)).collect(Collectors.toList());
                // The recording may begin or end in the midst of a collection.
                if (pauses.size() == 2) {
                    Check.that(!phase.getStartTime().isBefore(pauses.get(0).getEndTime()), "it begins after the first pause: " + phase + pauses);
                    Check.that(!phase.getEndTime().isAfter(pauses.get(1).getStartTime()), "it ends before the last pause: " + phase + pauses);
                    whole++;
                }
            }
            Check.that(whole > 0, "a collection has both of its pauses");
        }
    }
}
