// SPDX-License-Identifier: MIT OR Apache-2.0

import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import sun.misc.Unsafe;

/**
 * A stand-in for a DaCapo jar, small enough for tests: the same command line and output, half a second a run. With {@code -l} it lists
 * what the variable TINY_BENCHMARKS has, and refuses the size {@code huge}.
 *
 * <p>{@code steady} keeps 1 MiB alive per thread, so that its minimum heap grows by about that with each thread;
 * {@code crash}, {@code hang} and {@code wrong} end as their names say.
 */
public final class Tiny {
    private static final int LIVE_KIB_PER_THREAD = 1024;
    private static final int GARBAGE_MIB_PER_THREAD = 16;

    public static void main(String[] args) throws Exception {
        int iterations = 1;
        int threads = 1;
        String benchmark = null;
        boolean callback = false;
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "-n" -> iterations = Integer.parseInt(args[++i]);
                case "-t" -> threads = Integer.parseInt(args[++i]);
                case "-s" -> size(args[++i]);
                case "-l" -> {
                    System.out.println(System.getenv().getOrDefault("TINY_BENCHMARKS", ""));
                    return;
                }
                case "-c" -> {
                    i++;
                    callback = true;
                }
                default -> benchmark = args[i];
            }
        }
        for (int number = 1; number <= iterations; number++) {
            String warmup = number < iterations ? " warmup " + number : "";
            usage(callback);
            System.err.println("===== DaCapo tiny " + benchmark + " starting" + warmup + " =====");
            long start = System.nanoTime();
            iterate(benchmark, threads);
            usage(callback);
            String verdict = benchmark.equals("wrong") ? "FAILED" : number < iterations ? "completed" : "PASSED";
            long millis = (System.nanoTime() - start) / 1_000_000;
            System.err.println("===== DaCapo tiny " + benchmark + " " + verdict + warmup + " in " + millis + " msec =====");
        }
        System.exit(benchmark.equals("wrong") ? 1 : 0);
    }

    private static void size(String name) {
        if (name.equals("huge")) {
            System.err.println("bad value 'huge' for --size: give small, default or large");
            System.exit(4);
        }
    }

    /** Says what is in use, as lusearch's callback does; the counters are made up. */
    private static void usage(boolean asked) {
        if (asked) {
            Runtime runtime = Runtime.getRuntime();
            long heap = (runtime.totalMemory() - runtime.freeMemory()) >> 10;
            System.err.println("===== Shardsweep usage user 1, system 2, minor 3, major 4, heap " + heap + " =====");
        }
    }

    private static void iterate(String benchmark, int threads) throws Exception {
        if (benchmark.equals("crash")) {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            ((Unsafe) field.get(null)).putLong(8L, 0L);
        }
        if (benchmark.equals("hang")) {
            Thread.sleep(Long.MAX_VALUE);
        }
        // All live memory is held at one moment, however the threads are scheduled.
        CyclicBarrier together = new CyclicBarrier(threads);
        List<Thread> started = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> work(together));
            thread.start();
            started.add(thread);
        }
        for (Thread thread : started) {
            thread.join();
        }
    }

    private static void work(CyclicBarrier together) {
        byte[][] live = new byte[LIVE_KIB_PER_THREAD][];
        for (int i = 0; i < GARBAGE_MIB_PER_THREAD * 1024; i++) {
            live[i % live.length] = new byte[1000];
        }
        try {
            together.await();
        } catch (InterruptedException | BrokenBarrierException stopped) {
            throw new IllegalStateException(stopped);
        }
        Reference.reachabilityFence(live);
    }
}

/** The class that is started when a callback is asked for. There are none here. */
final class Harness {
    public static void main(String[] args) throws Exception {
        Tiny.main(args);
    }
}
