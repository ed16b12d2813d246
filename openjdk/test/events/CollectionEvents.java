// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A flight recording has the events of each collection: the collection, its phases, heap and metaspace before and after,
 * references, objects.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @modules jdk.jfr
 * @run main/othervm -Xmx64m CollectionEvents
 */

import heap.Check;
import heap.Events;
import heap.Heap;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;

public class CollectionEvents {
    private static final int REFERENCES = 1000;
    private static final int MARKERS = 50_000;

    private static final class Marker {
        int[] values = new int[4];
    }

    private static final List<Object> kept = new ArrayList<>();
    private static byte[][] hog;
    private static long collections;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < MARKERS; i++) {
            kept.add(new Marker());
        }
        Map<String, List<RecordedEvent>> events;
        try (Recording recording = new Recording()) {
            for (String name : List.of("GarbageCollection", "GCPhasePause", "GCPhasePauseLevel1",
                    "GCHeapSummary", "MetaspaceSummary", "GCReferenceStatistics", "GCConfiguration", "GCHeapConfiguration",
                    "ObjectCountAfterGC", "GCCPUTime", "OldGarbageCollection")) {
                recording.enable("jdk." + name).withoutThreshold().withoutStackTrace();
            }
            events = Events.of(recording, CollectionEvents::collect).stream()
                    .collect(Collectors.groupingBy(event -> event.getEventType().getName()));
        }
        RecordedEvent collection = collection(events);
        int id = collection.getInt("gcId");
        phases(events, id, collection);
        summaries(events, id);
        references(events, id);
        objects(events, id);
        only(of(events, "OldGarbageCollection", id), "a collection of the whole heap");
        Check.equal((int) collections, events.get("jdk.GCCPUTime").size(), "events of processor time");
        configuration(events);
    }

    private static void collect() {
        long before = Heap.collections();
        Heap.churn(100L * Heap.MIB);
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        for (int i = 0; i < REFERENCES; i++) {
            kept.add(new WeakReference<>(new Object()));
            kept.add(new PhantomReference<>(new Object(), queue));
        }
        hog = new byte[10][Heap.MIB];
        hog = null;
        System.gc();
        collections = Heap.collections() - before;
    }

    /** The one that System.gc() has asked for. */
    private static RecordedEvent collection(Map<String, List<RecordedEvent>> events) {
        List<RecordedEvent> all = events.get("jdk.GarbageCollection");
        Check.equal((int) collections, all.size(), "events of collections");
        for (RecordedEvent event : all) {
            Check.equal("MMTk", event.getString("name"), "the collector's name");
            Duration pause = event.getDuration("sumOfPauses");
            Check.equal(pause, event.getDuration("longestPause"), "each collection is one pause");
            Check.that(pause.compareTo(event.getDuration()) <= 0, "the pause is part of the collection");
            Check.that(!pause.isZero(), "the pause takes time");
        }
        Map<String, List<RecordedEvent>> byCause = all.stream().collect(Collectors.groupingBy(event -> event.getString("cause")));
        Check.that(byCause.containsKey("Allocation Failure"), "a collection by allocation");
        return only(byCause.getOrDefault("System.gc()", List.of()), "collections by System.gc()");
    }

    private static List<RecordedEvent> of(Map<String, List<RecordedEvent>> events, String name, int id) {
        return events.getOrDefault("jdk." + name, List.of()).stream().filter(event -> event.getInt("gcId") == id)
                .collect(Collectors.toList());
    }

    private static void phases(Map<String, List<RecordedEvent>> events, int id, RecordedEvent collection) {
        RecordedEvent pause = only(of(events, "GCPhasePause", id), "the pause");
        Check.equal("GC Pause", pause.getString("name"), "the pause");
        Check.equal(collection.getDuration("sumOfPauses"), pause.getDuration(), "the time of the pause");
        List<RecordedEvent> parts = of(events, "GCPhasePauseLevel1", id);
        List<String> names = parts.stream().map(part -> part.getString("name")).collect(Collectors.toList());
        for (String name : List.of("Prepare", "Roots", "Mark", "References: Weak", "Weak Roots", "Release", "Finish")) {
            Check.that(names.contains(name), "the part of the pause " + name + ": " + names);
        }
        Duration sum = parts.stream().map(RecordedEvent::getDuration).reduce(Duration.ZERO, Duration::plus);
        Check.that(sum.compareTo(pause.getDuration()) <= 0, "they are parts of the pause: " + sum);
    }

    private static RecordedEvent only(List<RecordedEvent> events, String what) {
        Check.equal(1, events.size(), "events of " + what);
        return events.get(0);
    }

    private static void summaries(Map<String, List<RecordedEvent>> events, int id) {
        for (String name : List.of("GCHeapSummary", "MetaspaceSummary")) {
            Check.equal(List.of("Before GC", "After GC"), of(events, name, id).stream().map(event -> event.getString("when"))
                    .collect(Collectors.toList()), "when of " + name);
        }
        List<RecordedEvent> heap = of(events, "GCHeapSummary", id);
        long freed = heap.get(0).getLong("heapUsed") - heap.get(1).getLong("heapUsed");
        Check.that(freed >= 9 * Heap.MIB && freed <= 64 * Heap.MIB, "10 MiB are gone: " + freed);
        Check.that(heap.get(1).getLong("heapSpace.committedSize") <= 64 * Heap.MIB, "the heap is not larger than -Xmx");
        Check.equal(64L * Heap.MIB, heap.get(1).getLong("heapSpace.reservedSize"), "the heap can be as large as -Xmx");
        Check.that(of(events, "MetaspaceSummary", id).get(1).getLong("metaspace.used") > Heap.MIB, "metaspace is in use");
    }

    private static void references(Map<String, List<RecordedEvent>> events, int id) {
        Map<String, Long> counts = of(events, "GCReferenceStatistics", id).stream()
                .collect(Collectors.toMap(event -> event.getString("type"), event -> event.getLong("count")));
        Check.equal(4, counts.size(), "kinds of references: " + counts);
        for (String kind : List.of("Weak reference", "Phantom reference")) {
            long count = counts.get(kind);
            Check.that(count >= REFERENCES && count < 10 * REFERENCES, "references of kind " + kind + ": " + counts);
        }
    }

    private static void objects(Map<String, List<RecordedEvent>> events, int id) {
        RecordedEvent markers = only(of(events, "ObjectCountAfterGC", id).stream()
                .filter(event -> ((RecordedClass) event.getValue("objectClass")).getName().equals(Marker.class.getName()))
                .collect(Collectors.toList()), "markers");
        Check.equal((long) MARKERS, markers.getLong("count"), "markers");
        Check.that(markers.getLong("totalSize") >= MARKERS * 16L, "their bytes: " + markers.getLong("totalSize"));
    }

    private static void configuration(Map<String, List<RecordedEvent>> events) {
        RecordedEvent collectors = events.get("jdk.GCConfiguration").get(0);
        Check.equal("MMTk", collectors.getString("oldCollector"), "the collector");
        Check.equal("N/A", collectors.getString("youngCollector"), "there is none for young objects");
        Check.that(collectors.getInt("parallelGCThreads") >= 1, "GC threads");
        Check.that(!collectors.getBoolean("usesDynamicGCThreads"), "all take part in each pause");
        RecordedEvent heap = events.get("jdk.GCHeapConfiguration").get(0);
        Check.equal(64L * Heap.MIB, heap.getLong("maxSize"), "the largest heap");
        Check.equal(8L, heap.getLong("objectAlignment"), "the alignment");
    }
}
