// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A JVM that a test starts: the JDK under test with the options under test, in an empty folder of its own.
 * What it prints is kept in files there, so that it never waits for a reader.
 */
public final class Child {
    /** Half of what jtreg gives a test that asks for no more: what hangs is told by us. */
    private static final long TIMEOUT_SECONDS = (long) (60 * Double.parseDouble(System.getProperty("test.timeout.factor", "1")));

    private final List<String> command = new ArrayList<>();
    private final Map<String, String> environment = new TreeMap<>();
    private final Path folder;
    private Process process;

    private Child(List<String> inherited) {
        command.add(Tool.ofJdk("java"));
        command.addAll(inherited);
        try {
            folder = Files.createTempDirectory(Path.of("").toAbsolutePath(), "child");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The options that jtreg was told to test with. */
    public static List<String> optionsUnderTest() {
        List<String> options = new ArrayList<>();
        for (String property : List.of("test.vm.opts", "test.java.opts")) {
            Stream.of(System.getProperty(property, "").split("\\s+")).filter(o -> !o.isEmpty()).forEach(options::add);
        }
        return options;
    }

    /** Whether the options under test choose a plugin with the policy of this project, by name or path. */
    public static boolean hasOwnPolicy() {
        return optionsUnderTest().stream().anyMatch(option -> option.matches("-XX:ThirdPartyHeapPlugin=(.*/libmmtk_)?ms-.*"));
    }

    /** Whether they choose a plan whose collections look at new objects alone, most of them. */
    public static boolean hasGenerations() {
        return optionsUnderTest().stream().anyMatch(option -> option.matches(".*plan=(Gen|Sticky).*"));
    }

    /** Whether they choose a plan of the policy of this project, where objects never move. */
    public static boolean neverMoves() {
        return hasOwnPolicy() && optionsUnderTest().stream().noneMatch(option -> option.matches(".*plan=(?!\\w*MarkSweep).*"));
    }

    /** Whether they choose a plan that moves each new object that survives a collection. */
    public static boolean movesNewObjects() {
        return optionsUnderTest().stream().anyMatch(option -> option.matches(".*plan=(SemiSpace|GenCopy|GenImmix).*"));
    }

    /** A plan of the plugin under test that marks concurrently. */
    public static String concurrentPlan() {
        return hasOwnPolicy() ? "ConcurrentMarkSweep" : "ConcurrentImmix";
    }

    /** Whether they choose a plan that marks concurrently. */
    public static boolean marksConcurrently() {
        return optionsUnderTest().stream().anyMatch(option -> option.contains("plan=Concurrent"));
    }

    /** The option by which a child finds the native libraries of the tests. */
    public static String libraryPath() {
        return "-Djava.library.path=" + System.getProperty("java.library.path");
    }

    /** A JVM with the options under test and {@code options}. */
    public static Child with(String... options) {
        return new Child(optionsUnderTest()).and(options);
    }

    /** A JVM with {@code options} alone. */
    public static Child withOnly(String... options) {
        return new Child(List.of()).and(options);
    }

    /** Adds options, or arguments behind the main class. */
    public Child and(String... options) {
        command.addAll(List.of(options));
        return this;
    }

    /** Adds the main class, with the class path of the test, and its arguments. */
    public Child main(Class<?> main, String... arguments) {
        return and("-cp", System.getProperty("test.class.path", System.getProperty("java.class.path")), main.getName())
                .and(arguments);
    }

    /** Sets an environment variable. */
    public Child variable(String name, String value) {
        environment.put(name, value);
        return this;
    }

    /** Gives it so many KiB of address space, as {@code ulimit -v} does. */
    public Child inAddressSpace(long kib) {
        command.addAll(0, List.of("sh", "-c", "ulimit -v " + kib + " && exec \"$@\"", "sh"));
        return this;
    }

    /** Starts it and returns at once. */
    public Child start() {
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile())
                .redirectOutput(folder.resolve("stdout").toFile()).redirectError(folder.resolve("stderr").toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("MMTK_"));
        builder.environment().putAll(environment);
        System.out.println("child: " + environment + " " + String.join(" ", command));
        try {
            process = builder.start();
            // If the test is ended from outside.
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
            process.getOutputStream().close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    /** Starts it if it is not running, and waits for its end. Fails if it does not end, or ends with another exit code. */
    public Child mustExit(int code) throws InterruptedException {
        if (process == null) {
            start();
        }
        if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
            // The stacks of all threads, in its output, for whoever looks into the hang.
            Tool.run("kill", "-QUIT", Long.toString(process.pid()));
            process.waitFor(5, TimeUnit.SECONDS);
            process.destroyForcibly();
            throw new AssertionError("it hangs:\n" + this);
        }
        if (process.exitValue() != code) {
            throw new AssertionError("exit code " + process.exitValue() + " instead of " + code + ":\n" + this);
        }
        return this;
    }

    /** As {@link #mustExit}, and nothing crashed. */
    public Child mustExitCleanly(int code) throws InterruptedException {
        mustExit(code);
        Check.equal(List.of(), crashFiles(), "files of a crash");
        return this;
    }

    /** All flags of the VM as they are once it has started, a line each. */
    public String flags() throws InterruptedException {
        return and("-XX:+PrintFlagsFinal", "-version").mustExit(0).out();
    }

    /** Demands so many partial collections in what it has printed with -Xlog:gc, if the plan under test has such. */
    public void mustHaveCollectedPartially(long least) {
        mustHaveCollectedPartially(out(), least);
    }

    /** The same in a part of it. */
    public static void mustHaveCollectedPartially(String out, long least) {
        long partial = count(out, "Pause Young");
        Check.that(!hasGenerations() || partial >= least, "partial collections: " + partial + " in:\n" + tail(out));
    }

    /** How many final marks, in what it has printed with -Xlog:gc,safepoint, had a safepoint of their own: the program ran while it was marked. */
    public long concurrentMarks() {
        return concurrentMarks(out());
    }

    /** The same of a part of what it has printed. */
    public static long concurrentMarks(String out) {
        long beside = 0;
        boolean hasRun = false;
        for (String line : (Iterable<String>) out.lines()::iterator) {
            // This line comes when the safepoint is over.
            hasRun |= line.contains("Safepoint \"ThirdPartyHeapCollect\"");
            if (line.contains("Pause Init Mark")) {
                hasRun = false;
            } else if (line.contains("Pause Final Mark") && hasRun) {
                beside++;
            }
        }
        return beside;
    }

    /** How many lines that it has printed have {@code text}. */
    public long count(String text) {
        return count(out(), text);
    }

    private static long count(String out, String text) {
        return out.lines().filter(line -> line.contains(text)).count();
    }

    /** What it has printed, in parts: each from a line on that begins with {@code begin}. */
    public List<String> parts(String begin) {
        List<String> parts = List.of(out().split("(?m)^(?=" + Pattern.quote(begin) + ")"));
        return parts.subList(1, parts.size());
    }

    /** Files that a crash left in its folder. */
    public List<Path> crashFiles() {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().matches("(hs_err|core|replay).*"))
                    .collect(Collectors.toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What it has printed on standard output. */
    public String out() {
        return read("stdout");
    }

    /** The lines that it has printed on standard output in which the expression is found. */
    public List<String> lines(String regex) {
        return out().lines().filter(Pattern.compile(regex).asPredicate()).collect(Collectors.toList());
    }

    /** What it has printed on standard error. */
    public String err() {
        return read("stderr");
    }

    /** A file in its folder. */
    public Path file(String name) {
        return folder.resolve(name);
    }

    /** Whether it runs. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** Its process id. */
    public long pid() {
        return process.pid();
    }

    /** Ends it by force, if it still runs. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Runs jcmd of the JDK under test on it and returns what that prints. */
    public String jcmd(String... arguments) throws InterruptedException {
        return Tool.jcmd(pid(), arguments);
    }

    private String read(String name) {
        try {
            return Files.readString(folder.resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public String toString() {
        return String.join(" ", command) + "\n-- stdout\n" + tail(out()) + "\n-- stderr\n" + tail(err());
    }

    private static String tail(String text) {
        return text.length() <= 8000 ? text : "..." + text.substring(text.length() - 8000);
    }
}
