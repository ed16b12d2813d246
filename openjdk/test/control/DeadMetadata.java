// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A full metaspace has a collection run, which frees the metadata of classes that a loader has defined in vain.
 * @library /lib
 * @run main DeadMetadata
 */

import heap.Child;
import java.io.InputStream;

public class DeadMetadata {
    private static final int TRIES = 5_000;

    public static void main(String[] args) throws Exception {
        Child.with("-Xmx64m", "-XX:MaxMetaspaceSize=5m").main(Main.class).mustExitCleanly(0);
    }

    /** Not capable of loading in parallel: the VM parses a class anew before it finds that it has one of that name. */
    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] code) {
            return defineClass(null, code, 0, code.length);
        }
    }

    /** Loads no class at its end: what is freed remains with the loader that had it, so that others find the metaspace full. */
    public static class Main {
        public static void main(String[] args) throws Exception {
            byte[] code;
            try (InputStream file = Main.class.getResourceAsStream("/heap/Child.class")) {
                code = file.readAllBytes();
            }
            Loader loader = new Loader();
            loader.define(code);
            int refused = 0;
            for (int i = 0; i < TRIES; i++) {
                try {
                    loader.define(code);
                } catch (LinkageError e) {
                    refused++;
                }
            }
            Runtime.getRuntime().halt(refused == TRIES ? 0 : 1);
        }
    }
}
