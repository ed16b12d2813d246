// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A flight recording has the references of each kind that a collection has found once, also where it has two pauses; and what is
 * in use is compared with the threshold of a pool after those pauses alone that free memory.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @modules jdk.jfr jdk.management
 * @run main/othervm -Xms256m -Xmx256m ReferenceEvents
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

public class ReferenceEvents {
    private static byte[][] live;

    private static final String EVENT = "jdk.GCReferenceStatistics";

    public static void main(String[] args) throws Exception {
        MemoryPoolMXBean pool = ManagementFactory.getMemoryPoolMXBeans().stream().filter(each -> each.getType() == MemoryType.HEAP)
                .findFirst().orElseThrow();
        System.gc();
        // Live objects, and what is allocated beside a collection, take far less: only a heap that is full of dead ones exceeds it.
        pool.setCollectionUsageThreshold(128L * Heap.MIB);
        Path file = Path.of("references.jfr");
        try (Recording recording = new Recording()) {
            recording.enable(EVENT);
            recording.start();
            Heap.churn(3000L * Heap.MIB);
            System.gc();
            recording.stop();
            recording.dump(file);
        }
        Set<String> seen = new HashSet<>();
        for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
            String key = event.getInt("gcId") + " " + event.getString("type");
            Check.that(seen.add(key), "references are told of once: " + key);
        }
        Check.that(seen.size() >= 4 * 2, "collections have told of references: " + seen);
        Check.equal(0L, pool.getCollectionUsageThresholdCount(), "times that dead objects have exceeded the threshold");
        live = new byte[160][Heap.MIB];
        System.gc();
        // Marking beside the program may have come to them before: each collection of the whole heap counts.
        long most = Child.marksBesideProgram() ? Long.MAX_VALUE : 1;
        Check.eventually(() -> pool.getCollectionUsageThresholdCount() > 0, "live objects exceed the threshold");
        Check.that(pool.getCollectionUsageThresholdCount() <= most, "a collection counts once");
    }
}
