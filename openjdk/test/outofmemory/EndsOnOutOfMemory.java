// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary OutOfMemoryError with -XX:+ExitOnOutOfMemoryError (exit code 3), -XX:+CrashOnOutOfMemoryError, -XX:OnOutOfMemoryError=, and uncaught.
 * @library /lib
 * @run main EndsOnOutOfMemory
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

public class EndsOnOutOfMemory {
    public static void main(String[] args) throws Exception {
        exits("small");
        exits("large");
        crashes();
        runsCommand();
        uncaught();
    }

    private static void exits(String kind) throws Exception {
        Child child = Child.with("-Xmx32m", "-XX:+ExitOnOutOfMemoryError").main(Main.class, kind).mustExitCleanly(3);
        Check.matches("Terminating due to java.lang.OutOfMemoryError: " + Heap.FULL, child.out(), "what it says");
    }

    private static void crashes() throws Exception {
        Child child = Child.with("-Xmx32m", "-XX:+CrashOnOutOfMemoryError", "-XX:-CreateCoredumpOnCrash")
                .main(Main.class, "small").mustExit(1);
        Check.equal(1, child.crashFiles().size(), "hs_err files");
        Check.matches("OutOfMemory encountered: " + Heap.FULL, Files.readString(child.crashFiles().get(0)), "the hs_err file");
    }

    private static void runsCommand() throws Exception {
        Child child = Child.with("-Xmx32m", "-XX:OnOutOfMemoryError=echo the command ran").main(Main.class, "large")
                .mustExitCleanly(1);
        Check.matches("^the command ran$", child.out(), "the output of the command");
    }

    private static void uncaught() throws Exception {
        Child child = Child.with("-Xmx32m").main(Main.class, "small").mustExitCleanly(1);
        Check.matches("java.lang.OutOfMemoryError: " + Heap.FULL, child.err(), "the message of an uncaught error");
    }

    public static class Main {
        public static void main(String[] args) {
            List<byte[]> hog = new ArrayList<>();
            while (true) {
                hog.add(new byte[args[0].equals("small") ? 500 : 3_000_000]);
            }
        }
    }
}
