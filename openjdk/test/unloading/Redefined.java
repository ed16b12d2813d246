// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A class is redefined while concurrent marking runs, which has not come to its loader yet. A constant that the program has just
 *          taken from the old version stays.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/timeout=480 Redefined
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.LatePlaces;
import heap.Loaders;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

public class Redefined {
    public static void main(String[] args) throws Exception {
        // Compiled code would hold the constant. What a collection has lost is seen at once.
        Child child = Child.with("-Xint", "-Xms256m", "-Xmx256m", "-XX:ThirdPartyHeapOptions=plan=" + Child.concurrentPlan(), "-javaagent:" + agent(), "-Xlog:gc,gc+phases,safepoint",
                "-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifyAfterGC").main(Main.class).mustExitCleanly(0);
        Check.that(child.concurrentMarks() > 0, "concurrent marking ran");
        Check.that(child.out().contains("Class Unloading"), "marking looked for classes to unload");
    }

    /** A file that names the agent, whose class is on the class path. */
    private static Path agent() throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Premain-Class", Main.class.getName());
        manifest.getMainAttributes().putValue("Can-Redefine-Classes", "true");
        Path file = Path.of("agent.jar").toAbsolutePath();
        try (OutputStream output = Files.newOutputStream(file)) {
            new JarOutputStream(output, manifest).close();
        }
        return file;
    }

    /** Defined by each loader, with a number of its own in the constant. */
    public static class Named {
        static final String PREFIX = "the name ";
        private static final String DIGITS = "00000000";

        public static String name() {
            return PREFIX + DIGITS;
        }
    }

    /** A loader of one version of the class. */
    private static final class Loader extends ClassLoader {
        final Class<?> named;

        Loader(int number) {
            super(Redefined.class.getClassLoader());
            byte[] code = code(number);
            named = defineClass(Named.class.getName(), code, 0, code.length);
        }
    }

    private static String name(int number) {
        return Named.PREFIX + String.format("%08d", number);
    }

    /** The class file, with that number in the constant. */
    private static byte[] code(int number) {
        String code = new String(Loaders.codeOf(Named.class), StandardCharsets.ISO_8859_1);
        return code.replace(name(0), name(number)).getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Takes the constant, redefines the class, and looks later whether the constant is what it was. */
    public static class Main {
        /** Some thirty cycles, three of which look for classes to unload: a redefinition keeps all loaders for the cycle that it falls into. */
        private static final int VERSIONS = 9 * LatePlaces.COUNT;

        private static Instrumentation instrumentation;
        static volatile Object sink;

        public static void premain(String argument, Instrumentation given) {
            instrumentation = given;
        }

        public static void main(String[] args) throws Exception {
            LatePlaces held = new LatePlaces();
            Object[][] taken = new Object[LatePlaces.COUNT][];
            for (int i = 0; i < VERSIONS; i++) {
                int place = i % LatePlaces.COUNT;
                if (i / LatePlaces.COUNT % 3 == 0) {
                    Loader loader = new Loader(i);
                    held.set(place, loader);
                    Check.equal(name(i), constant(loader), "the first constant");
                    taken[place] = null;
                } else {
                    Loader loader = (Loader) held.get(place);
                    if (taken[place] != null) {
                        Check.equal(name(i - 2 * LatePlaces.COUNT), taken[place][0], "the constant of an old version");
                    }
                    // In an object that is new: marking does not look into it.
                    taken[place] = new Object[] {constant(loader)};
                    instrumentation.redefineClasses(new ClassDefinition(loader.named, code(i)));
                    Check.equal(name(i), constant(loader), "the constant of the new version");
                }
                sink = new byte[Heap.MIB];
            }
        }

        private static Object constant(Loader loader) throws ReflectiveOperationException {
            return loader.named.getMethod("name").invoke(null);
        }
    }
}
