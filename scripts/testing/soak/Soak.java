// SPDX-License-Identifier: MIT OR Apache-2.0

import com.sun.management.GarbageCollectionNotificationInfo;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/**
 * Runs programs of {@code benchmarks/} side by side in one JVM for a time, and writes what the JVM holds to a CSV. Some programs stay, as
 * those of a server do; others are loaded anew for each run, by class loaders of their own. Each run checks its result; the first one that is
 * wrong, or fails, ends the JVM with an exit code other than 0. Arguments: seconds, the CSV, a scratch folder, the benchmarks' jar.
 */
public final class Soak {
  private static final String[] STAYING = {"h2", "javac", "luindex9", "lusearch9", "server"};
  private static final String[] LOADED_ANEW = {"xalan", "lusearch"};
  private static final long MOST_SAMPLES = 3600;

  private Soak() {}

  public static void main(String[] args) throws Exception {
    long seconds = Long.parseLong(args[0]);
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, failure) -> {
          failure.printStackTrace();
          Runtime.getRuntime().exit(1);
        });
    for (String name : STAYING) {
      start(name, () -> Harness.main(arguments(args[2], name)));
    }
    for (String name : LOADED_ANEW) {
      Path jar = copy(Path.of(args[3]), Path.of(args[2], name + ".jar"));
      start(name, () -> runAnew(jar, arguments(args[2] + "/anew", name)));
    }
    record(seconds, Path.of(args[1]));
    System.exit(0);
  }

  /** A loader that is closed closes the jar under the others of the same path that read resources from it: the JDK caches jars by path. */
  private static Path copy(Path jar, Path to) throws IOException {
    Files.createDirectories(to.getParent());
    return Files.copy(jar, to);
  }

  private static String[] arguments(String scratch, String name) {
    return new String[] {
      "-s", "small", "-n", "2", "-t", "2", "--no-pre-iteration-gc", "--scratch-directory", scratch, name
    };
  }

  /** What a thread does again and again. */
  private interface Task {
    void run() throws Exception;
  }

  private static void start(String name, Task task) {
    Runnable forEver =
        () -> {
          try {
            while (true) {
              task.run();
            }
          } catch (Exception e) {
            throw new IllegalStateException(name, e);
          }
        };
    new Thread(forEver, name).start();
  }

  /** In a thread of its own, with whose end all that the thread holds is gone. */
  private static void runAnew(Path jar, String[] arguments) throws Exception {
    URL[] path = {jar.toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
      Runnable run =
          () -> {
            try {
              loader.loadClass("Harness").getMethod("main", String[].class).invoke(null, (Object) arguments);
            } catch (ReflectiveOperationException e) {
              throw new IllegalStateException(e);
            }
          };
      Thread thread = new Thread(run, arguments[arguments.length - 1] + " anew");
      thread.setContextClassLoader(loader);
      thread.start();
      thread.join();
    }
  }

  /** What collections have told since the last sample. */
  private static final class Collections {
    private static final Set<String> HEAP =
        ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getType() == MemoryType.HEAP)
            .map(MemoryPoolMXBean::getName)
            .collect(Collectors.toSet());

    private long live = Long.MAX_VALUE;
    private long count;
    private long pauses;
    private long longest;

    synchronized void add(Notification notification, Object unused) {
      var information = GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData()).getGcInfo();
      long used =
          information.getMemoryUsageAfterGc().entrySet().stream()
              .filter(pool -> HEAP.contains(pool.getKey()))
              .mapToLong(pool -> pool.getValue().getUsed())
              .sum();
      live = Math.min(live, used);
      count++;
      pauses += information.getDuration();
      longest = Math.max(longest, information.getDuration());
    }

    /** The columns from {@code live_kib} on; empty ones if there was no collection. */
    synchronized String take() {
      String columns = count == 0 ? ",0,0," : (live >> 10) + "," + count + "," + pauses + "," + longest;
      live = Long.MAX_VALUE;
      count = 0;
      pauses = 0;
      longest = 0;
      return columns;
    }
  }

  private static void record(long seconds, Path file) throws IOException, InterruptedException {
    Collections collections = new Collections();
    for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
      ((NotificationEmitter) bean).addNotificationListener(collections::add, null, null);
    }
    long interval = Math.max(1, seconds / MOST_SAMPLES) * 1000;
    long start = System.nanoTime();
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file), true)) {
      out.println("seconds,resident_kib,metaspace_kib,code_cache_kib,classes,live_kib,collections,pauses_ms,longest_pause_ms");
      long elapsed;
      do {
        Thread.sleep(interval);
        elapsed = (System.nanoTime() - start) / 1_000_000_000;
        out.println(
            elapsed + "," + resident() + "," + used("Metaspace") + "," + used("Code") + ","
                + ManagementFactory.getClassLoadingMXBean().getLoadedClassCount() + "," + collections.take());
      } while (elapsed < seconds);
    }
  }

  /** KiB in use in the pools whose names begin so. */
  private static long used(String prefix) {
    return ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getName().startsWith(prefix))
            .mapToLong(pool -> pool.getUsage().getUsed())
            .sum()
        >> 10;
  }

  /** KiB of this process that are in memory, as Linux counts them. */
  private static String resident() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .map(line -> line.replaceAll("\\D", ""))
        .findAny()
        .orElseThrow(() -> new IOException("/proc/self/status has no VmRSS"));
  }
}
