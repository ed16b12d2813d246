// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Unsafe finds fields and elements by offset in objects that move: compareAndSet, getAndSet, allocateInstance, references and numbers.
 * @library /lib
 * @modules jdk.unsupported
 * @run main/othervm -Xmx64m UnsafeAccess
 * @run main/othervm -Xmx64m -XX:TieredStopAtLevel=1 UnsafeAccess
 */

import heap.Check;
import heap.Heap;
import heap.RawMemory;
import heap.Threads;
import java.util.ArrayList;
import java.util.List;
import sun.misc.Unsafe;

public class UnsafeAccess {
    private static final int STEPS = 100_000;
    private static final int THREADS = 4;

    private static final class Cell {
        int number = 5;
        long wide;
        Object reference = "unset";
    }

    public static void main(String[] args) throws Exception {
        Unsafe unsafe = RawMemory.unsafe();
        try (Heap.Collector collector = new Heap.Collector()) {
            instances(unsafe);
            stack(unsafe);
            elements(unsafe);
        }
    }

    private static void instances(Unsafe unsafe) throws Exception {
        long number = unsafe.objectFieldOffset(Cell.class.getDeclaredField("number"));
        long reference = unsafe.objectFieldOffset(Cell.class.getDeclaredField("reference"));
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < STEPS; i++) {
            Cell cell = (Cell) unsafe.allocateInstance(Cell.class);
            Check.that(cell.number == 0 && cell.wide == 0 && cell.reference == null, "a new instance is zero, no constructor runs");
            unsafe.putInt(cell, number, i);
            unsafe.putObject(cell, reference, new int[] {i});
            if (i % 10 == 0) {
                cells.add(cell);
            }
        }
        for (int i = 0; i < cells.size(); i++) {
            Check.equal(i * 10, unsafe.getInt(cells.get(i), number), "a number");
            Check.equal(i * 10, ((int[]) unsafe.getObject(cells.get(i), reference))[0], "a reference");
        }
    }

    private record Link(int number, Object next) {}

    /** Threads push onto one stack by compareAndSwap; none of the links may get lost. */
    private static void stack(Unsafe unsafe) throws Exception {
        long offset = unsafe.objectFieldOffset(Cell.class.getDeclaredField("reference"));
        Cell head = new Cell();
        head.reference = null;
        Threads.run(THREADS, number -> push(unsafe, head, offset));
        int links = 0;
        long sum = 0;
        for (Link link = (Link) unsafe.getObjectVolatile(head, offset); link != null; link = (Link) link.next) {
            links++;
            sum += link.number;
        }
        int perThread = STEPS / 10;
        Check.equal(THREADS * perThread, links, "links of the stack");
        Check.equal((long) THREADS * perThread * (perThread - 1) / 2, sum, "their sum");
    }

    private static void push(Unsafe unsafe, Cell head, long offset) {
        for (int i = 0; i < STEPS / 10; i++) {
            Object old;
            do {
                old = unsafe.getObjectVolatile(head, offset);
            } while (!unsafe.compareAndSwapObject(head, offset, old, new Link(i, old)));
        }
    }

    private static void elements(Unsafe unsafe) {
        Object[] objects = new Object[1000];
        long[] longs = new long[1000];
        for (int i = 0; i < STEPS; i++) {
            int index = i % 1000;
            Object next = new int[] {i};
            Object old = unsafe.getAndSetObject(objects, Unsafe.ARRAY_OBJECT_BASE_OFFSET + (long) index * Unsafe.ARRAY_OBJECT_INDEX_SCALE, next);
            Check.equal(i < 1000 ? -1 : i - 1000, old == null ? -1 : ((int[]) old)[0], "the element that was there");
            unsafe.getAndAddLong(longs, Unsafe.ARRAY_LONG_BASE_OFFSET + (long) index * Unsafe.ARRAY_LONG_INDEX_SCALE, i);
        }
        long sum = 0;
        for (long element : longs) {
            sum += element;
        }
        Check.equal((long) STEPS * (STEPS - 1) / 2, sum, "the sum of all that was added");
    }
}
