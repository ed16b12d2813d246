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
import heap.Events;
import heap.Heap;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.HashSet;
import java.util.Set;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;

public class ReferenceEvents {
    private static final long THRESHOLD = 128L * Heap.MIB;

    private static byte[][] live;

    private static final String EVENT = "jdk.GCReferenceStatistics";

    public static void main(String[] args) throws Exception {
        MemoryPoolMXBean pool = ManagementFactory.getMemoryPoolMXBeans().stream().filter(each -> each.getType() == MemoryType.HEAP)
                .findFirst().orElseThrow();
        System.gc();
        // Live objects, and what is allocated beside a collection, take far less: only a heap that is full of dead ones exceeds it.
        pool.setCollectionUsageThreshold(THRESHOLD);
        Set<String> seen = new HashSet<>();
        try (Recording recording = new Recording()) {
            recording.enable(EVENT);
            for (RecordedEvent event : Events.of(recording, ReferenceEvents::collect)) {
                String key = event.getInt("gcId") + " " + event.getString("type");
                Check.that(seen.add(key), "references are told of once: " + key);
            }
        }
        Check.that(seen.size() >= 4 * 2, "collections have told of references: " + seen);
        Check.equal(0L, pool.getCollectionUsageThresholdCount(), "times that dead objects have exceeded the threshold");
        // Concurrent marking may come to them before: it is over when a full pause is.
        pool.setCollectionUsageThreshold(0);
        live = new byte[160][Heap.MIB];
        System.gc();
        pool.setCollectionUsageThreshold(THRESHOLD);
        System.gc();
        Check.eventually(() -> pool.getCollectionUsageThresholdCount() == 1, "live objects exceed the threshold");
    }

    private static void collect() {
        Heap.churn(3000L * Heap.MIB);
        System.gc();
    }
}
