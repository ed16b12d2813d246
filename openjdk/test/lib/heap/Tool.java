// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs programs. */
public final class Tool {
    private Tool() {}

    /** The path of a program of the JDK under test. */
    public static String ofJdk(String name) {
        return Path.of(System.getProperty("java.home"), "bin", name).toString();
    }

    /** Has jcmd of the JDK under test run a command in this very JVM, and returns what it prints. */
    public static String jcmd(String... arguments) throws InterruptedException {
        return jcmd(ProcessHandle.current().pid(), arguments);
    }

    /** The same in another JVM. */
    static String jcmd(long pid, String... arguments) throws InterruptedException {
        List<String> command = new ArrayList<>(List.of(ofJdk("jcmd"), Long.toString(pid)));
        command.addAll(List.of(arguments));
        return run(command.toArray(String[]::new));
    }

    /** Runs a program to its end and returns all that it has printed; whether it has succeeded is for the caller to see in that. */
    public static String run(String... command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            process.waitFor();
            return output;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
