// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary The VM ends in each of the ways that there are, while threads allocate and collections run: right exit code, no hang, no crash.
 * @library /lib
 * @run main ExitWhileCollecting
 */

import heap.Child;
import heap.Heap;
import java.util.concurrent.CountDownLatch;

public class ExitWhileCollecting {
    private static final int RUNS = 4;

    public static void main(String[] args) throws Exception {
        for (int run = 0; run < RUNS; run++) {
            exit("System.exit", 7);
            exit("halt", 8);
            exit("return", 0);
            exit("throw", 1);
            exit("hook", 9);
            exit("all", 10);
        }
    }

    private static void exit(String way, int code) throws InterruptedException {
        Child.with("-Xmx48m").main(Main.class, way).mustExitCleanly(code);
    }

    public static class Main {
        private static final int ALLOCATING = 4;

        public static void main(String[] args) throws Exception {
            CountDownLatch running = new CountDownLatch(ALLOCATING + 1);
            for (int i = 0; i < ALLOCATING; i++) {
                startDaemon(running, () -> Heap.churn(1 << 16));
            }
            startDaemon(running, System::gc);
            running.await();
            leave(args[0]);
        }

        private static void startDaemon(CountDownLatch running, Runnable body) {
            Thread thread = new Thread(() -> {
                body.run();
                running.countDown();
                while (true) {
                    body.run();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        private static void leave(String way) {
            switch (way) {
                case "System.exit" -> System.exit(7);
                case "halt" -> Runtime.getRuntime().halt(8);
                case "return" -> { }
                case "throw" -> throw new IllegalStateException("on purpose");
                case "hook" -> {
                    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                        Heap.collect(3);
                        Heap.churn(1 << 20);
                    }));
                    System.exit(9);
                }
                case "all" -> {
                    for (int i = 0; i < 8; i++) {
                        new Thread(() -> System.exit(10)).start();
                    }
                    System.exit(10);
                }
                default -> throw new IllegalArgumentException(way);
            }
        }
    }
}
