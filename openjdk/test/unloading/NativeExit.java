// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Native code calls exit(). What the process has to do at its end takes a while, and Java threads go on meanwhile: they compile,
 * collect, and unload what was compiled before.
 * @library /lib
 * @run main/native NativeExit
 */

import heap.Child;
import heap.Heap;
import heap.Loaders;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntSupplier;

public class NativeExit {
    public static void main(String[] args) throws Exception {
        Child.with("-Xmx64m", "-Xbatch", Child.libraryPath())
                .variable("LD_PRELOAD", System.getProperty("test.nativepath") + "/libNativeExit.so").main(Main.class).mustExitCleanly(7);
    }

    /** Its method is compiled, with constants. Defined anew by each loader. */
    public static class Hot implements IntSupplier {
        private static final int[] ONE = {1};

        @Override
        public int getAsInt() {
            return ONE[0] + "x".length() - 1;
        }
    }

    public static class Main {
        private static final int ROUNDS = 5;
        private static final int CALLS = 20_000;

        private static native void exit(int code);

        public static void main(String[] args) throws InterruptedException {
            System.loadLibrary("NativeExit");
            CountDownLatch compiled = new CountDownLatch(ROUNDS);
            Thread thread = new Thread(() -> {
                while (true) {
                    heat();
                    compiled.countDown();
                    if (compiled.getCount() == 0) {
                        Heap.collect(1);
                    }
                }
            });
            thread.setDaemon(true);
            thread.start();
            compiled.await();
            exit(7);
        }

        private static void heat() {
            IntSupplier hot = (IntSupplier) new Loaders.Loader(Hot.class).make(Hot.class);
            for (int i = 0; i < CALLS; i++) {
                if (hot.getAsInt() != 1) {
                    throw new AssertionError("a constant of compiled code");
                }
            }
        }
    }
}
