// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary MemoryMXBean, memory pools and garbage collector beans: sizes, counts, times, notifications, usage thresholds.
 * @library /lib
 * @modules jdk.management
 * @run main/othervm -Xms64m -Xmx64m MemoryBeans
 */

import com.sun.management.GarbageCollectionNotificationInfo;
import com.sun.management.GcInfo;
import heap.Check;
import heap.Heap;
import heap.Threads;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

public class MemoryBeans {
    private static final int COLLECTIONS = 10;

    private static byte[][] hog;

    public static void main(String[] args) throws Exception {
        memory();
        pools();
        collectors();
        notifications();
        threshold();
        nearlyFull();
    }

    private static void sane(MemoryUsage usage, String what) {
        Check.that(usage.getUsed() >= 0 && usage.getUsed() <= usage.getCommitted(), what + ": used " + usage);
        Check.that(usage.getMax() < 0 || usage.getCommitted() <= usage.getMax(), what + ": committed " + usage);
    }

    private static void memory() {
        hog = null;
        ManagementFactory.getMemoryMXBean().gc();
        MemoryUsage empty = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        sane(empty, "the heap");
        hog = new byte[20][Heap.MIB];
        MemoryUsage filled = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        sane(filled, "the filled heap");
        Check.that(filled.getUsed() - empty.getUsed() >= 20 * Heap.MIB, "20 MiB more are used: " + empty + ", " + filled);
        Check.that(filled.getMax() <= 64 * Heap.MIB && filled.getMax() >= 48 * Heap.MIB, "max " + filled.getMax());
        sane(ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage(), "what is not the heap");
        hog = null;
    }

    private static List<MemoryPoolMXBean> heapPools() {
        return ManagementFactory.getMemoryPoolMXBeans().stream().filter(pool -> pool.getType() == MemoryType.HEAP)
                .collect(Collectors.toList());
    }

    private static void pools() {
        System.gc();
        Check.that(!heapPools().isEmpty(), "the heap has pools");
        for (MemoryPoolMXBean pool : heapPools()) {
            sane(pool.getUsage(), pool.getName());
            sane(pool.getPeakUsage(), pool.getName() + " at its peak");
            Check.that(pool.isValid(), pool.getName() + " is valid");
            Check.that(pool.getMemoryManagerNames().length > 0, pool.getName() + " has a manager");
            Check.that(pool.getCollectionUsage() != null, pool.getName() + " after a collection");
            sane(pool.getCollectionUsage(), pool.getName() + " after a collection");
        }
        long used = heapPools().stream().mapToLong(pool -> pool.getUsage().getUsed()).sum();
        long whole = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        Check.that(Math.abs(used - whole) < 8 * Heap.MIB, "all pools use " + used + ", the heap " + whole);
    }

    private static long time() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum();
    }

    private static void collectors() {
        long count = Heap.collections();
        long time = time();
        long start = System.nanoTime();
        hog = new byte[1000][1000];
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        long elapsed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        long collections = Heap.collections() - count;
        Check.that(collections >= COLLECTIONS && collections <= 2 * COLLECTIONS, "collections that were counted: " + collections);
        Check.that(time() - time <= elapsed + COLLECTIONS, "time in collections " + (time() - time) + " ms of " + elapsed);
        Check.that(time() > 0, "time in all collections so far");
    }

    private static void notifications() throws InterruptedException {
        BlockingQueue<GarbageCollectionNotificationInfo> received = new LinkedBlockingQueue<>();
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            ((NotificationEmitter) collector).addNotificationListener(
                    (notification, handback) -> received.add(GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData())),
                    notification -> notification.getType().equals(GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION), null);
        }
        hog = new byte[10][Heap.MIB];
        hog = null;
        System.gc();
        GarbageCollectionNotificationInfo info;
        do {
            info = received.poll(60, TimeUnit.SECONDS);
            Check.that(info != null, "a notification of System.gc()");
        } while (!info.getGcCause().equals("System.gc()"));
        GcInfo gc = info.getGcInfo();
        Check.equal("end of major GC", info.getGcAction(), "the action");
        Check.that(gc.getId() > 0 && gc.getEndTime() >= gc.getStartTime(), "its number and times: " + gc.getId());
        Check.equal(gc.getDuration(), gc.getEndTime() - gc.getStartTime(), "its duration");
        long before = gc.getMemoryUsageBeforeGc().values().stream().mapToLong(MemoryUsage::getUsed).sum();
        long after = gc.getMemoryUsageAfterGc().values().stream().mapToLong(MemoryUsage::getUsed).sum();
        Check.that(before - after >= 9 * Heap.MIB, "10 MiB are gone: " + before + " -> " + after);
    }

    private static void threshold() {
        MemoryPoolMXBean pool = heapPools().stream().filter(MemoryPoolMXBean::isUsageThresholdSupported).findFirst()
                .orElseThrow(() -> new AssertionError("no pool of the heap has a usage threshold"));
        System.gc();
        long before = pool.getUsageThresholdCount();
        pool.setUsageThreshold(pool.getUsage().getUsed() + 6 * Heap.MIB);
        Check.that(!pool.isUsageThresholdExceeded(), "the threshold is not exceeded at first");
        hog = new byte[16][Heap.MIB];
        System.gc();
        Check.that(pool.isUsageThresholdExceeded(), "the threshold is exceeded by 16 MiB more: " + pool.getUsage());
        // That is what Java itself finds out; this, the VM.
        Check.eventually(() -> pool.getUsageThresholdCount() == before + 1, "a collection has found the threshold exceeded");
        hog = null;
    }

    /** Threads ask for more than is free all the time, so that some wait for a collection while others look. */
    private static void nearlyFull() throws InterruptedException {
        hog = new byte[30][Heap.MIB];
        Threads.run(8, number -> allocateAndLook());
        hog = null;
    }

    private static volatile byte[] sink;

    private static void allocateAndLook() {
        for (int i = 0; i < 30_000; i++) {
            sink = new byte[1 << i % 18];
            sane(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage(), "the heap");
            Runtime runtime = Runtime.getRuntime();
            long free = runtime.freeMemory();
            Check.that(free >= 0 && free <= runtime.maxMemory(), "free " + free);
        }
    }
}
