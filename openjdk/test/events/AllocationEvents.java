// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A flight recording has allocation events: refills of free lists or buffers, objects outside them, samples, whose
 * weights sum up, what collections were needed for, and old objects.
 * @library /lib
 * @modules jdk.jfr jdk.management
 * @run main/othervm -Xmx128m AllocationEvents
 * @run main/othervm -Xmx128m -Xint AllocationEvents
 */

import heap.Check;
import heap.Events;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedObject;

public class AllocationEvents {
    private static final int OBJECTS = 500_000;
    private static final int LARGE = 20;
    private static final int LEAKED = 100_000;

    private static final class Small {
        long a;
        long b;
    }

    private static final class Leaked {
        long[] values = new long[8];
    }

    private static final List<Object> leak = new ArrayList<>();
    private static Object sink;

    public static void main(String[] args) throws Exception {
        allocations();
        collections();
        oldObjects();
    }

    private static void allocations() throws Exception {
        List<RecordedEvent> events;
        try (Recording recording = new Recording()) {
            recording.enable("jdk.ObjectAllocationInNewTLAB").withStackTrace();
            recording.enable("jdk.ObjectAllocationOutsideTLAB").withStackTrace();
            recording.enable("jdk.ObjectAllocationSample").with("throttle", "1000000/s").withStackTrace();
            events = Events.of(recording, AllocationEvents::allocate);
        }
        long thread = Thread.currentThread().getId();
        events.removeIf(event -> event.getThread() == null || event.getThread().getJavaThreadId() != thread);
        boolean refills = refills(of(events, "ObjectAllocationInNewTLAB"));
        outside(of(events, "ObjectAllocationOutsideTLAB"), refills);
        samples(of(events, "ObjectAllocationSample"));
    }

    private static void allocate() {
        for (int i = 0; i < OBJECTS; i++) {
            sink = new Small();
        }
        for (int i = 0; i < LARGE; i++) {
            sink = new byte[Heap.MIB];
        }
    }

    private static List<RecordedEvent> of(List<RecordedEvent> events, String name) {
        return events.stream().filter(event -> event.getEventType().getName().equals("jdk." + name)).collect(Collectors.toList());
    }

    private static boolean is(RecordedEvent event, Class<?> type) {
        return ((RecordedClass) event.getValue("objectClass")).getName().equals(type.getName());
    }

    /** One for many objects: what they hold is about what was allocated. False: this heap has neither lists nor buffers. */
    private static boolean refills(List<RecordedEvent> events) {
        List<RecordedEvent> small = events.stream().filter(event -> is(event, Small.class)).collect(Collectors.toList());
        if (small.isEmpty()) {
            return false;
        }
        Check.that(small.size() < OBJECTS / 10, "refills by small objects: " + small.size());
        long bytes = 0;
        for (RecordedEvent event : small) {
            Check.that(event.getLong("allocationSize") >= 24 && event.getLong("allocationSize") <= 32, "the object's bytes");
            Check.that(event.getLong("tlabSize") > event.getLong("allocationSize"), "more than the object: " + event);
            Check.that(event.getStackTrace() != null, "a stack trace");
            bytes += event.getLong("tlabSize");
        }
        long allocated = OBJECTS * small.get(0).getLong("allocationSize");
        Check.that(bytes >= allocated / 2 && bytes <= allocated * 3, allocated + " bytes were refilled as " + bytes);
        return true;
    }

    private static void outside(List<RecordedEvent> events, boolean refills) {
        long large = events.stream().filter(event -> is(event, byte[].class))
                .filter(event -> event.getLong("allocationSize") >= Heap.MIB).count();
        Check.equal((long) LARGE, large, "large objects");
        long small = events.stream().filter(event -> is(event, Small.class)).count();
        Check.that(refills ? small < OBJECTS / 10 : small == OBJECTS, "small objects outside lists and buffers: " + small);
    }

    private static void samples(List<RecordedEvent> events) {
        Check.that(events.stream().anyMatch(event -> is(event, Small.class)), "a sample of small objects");
        Check.that(events.stream().anyMatch(event -> is(event, byte[].class)), "a sample of large objects");
        long weight = events.stream().filter(event -> is(event, byte[].class)).mapToLong(event -> event.getLong("weight")).sum();
        boolean fits = weight >= (LARGE - 1L) * Heap.MIB && weight <= (LARGE + 20L) * Heap.MIB;
        Check.that(fits, "the weight of large objects: " + weight);
        Check.that(events.stream().allMatch(event -> event.getLong("weight") > 0), "each weighs something");
    }

    /** Each is for an object of this thread, and names a collection that there was. */
    private static void collections() throws Exception {
        List<RecordedEvent> events;
        try (Recording recording = new Recording()) {
            recording.enable("jdk.AllocationRequiringGC").withStackTrace();
            recording.enable("jdk.GarbageCollection");
            events = Events.of(recording, () -> {
                for (int i = 0; i < 400; i++) {
                    sink = new byte[Heap.MIB];
                }
            });
        }
        List<Integer> collections = of(events, "GarbageCollection").stream().map(event -> event.getInt("gcId")).collect(Collectors.toList());
        long thread = Thread.currentThread().getId();
        List<RecordedEvent> requests = of(events, "AllocationRequiringGC");
        requests.removeIf(event -> event.getThread() == null || event.getThread().getJavaThreadId() != thread);
        Check.that(!requests.isEmpty(), "an event of this thread in " + collections.size() + " collections");
        for (RecordedEvent event : requests) {
            Check.that(event.getLong("size") >= Heap.MIB && event.getStackTrace() != null, "what it was needed for: " + event);
            Check.that(collections.contains(event.getInt("gcId")), event + " has one of " + collections);
        }
    }

    private static void oldObjects() throws Exception {
        List<RecordedEvent> events;
        try (Recording recording = new Recording()) {
            recording.enable("jdk.OldObjectSample").withStackTrace().with("cutoff", "infinity");
            events = Events.of(recording, () -> {
                for (int i = 0; i < LEAKED; i++) {
                    leak.add(new Leaked());
                    sink = new long[8];
                }
                System.gc();
                System.gc();
            });
        }
        List<RecordedEvent> samples = of(events, "OldObjectSample");
        Check.that(!samples.isEmpty(), "there are samples of old objects");
        List<String> types = samples.stream().map(event -> (RecordedObject) event.getValue("object"))
                .map(object -> object.getClass("type").getName()).collect(Collectors.toList());
        boolean leaked = types.contains(Leaked.class.getName()) || types.contains(long[].class.getName());
        Check.that(leaked, "leaked objects among " + types);
        Check.that(samples.stream().anyMatch(event -> event.getValue("root") != null), "a path to a root");
    }
}
