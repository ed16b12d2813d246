// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.function.Consumer;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.dacapo.harness.Callback;
import org.dacapo.harness.CommandLineArgs;

/**
 * Says at both ends of each iteration what the process has used, and collects once before the timed
 * one, whatever the collector. MMTk collects because it is asked to keep statistics, which it
 * prints at the end; the other collectors because they are asked for a histogram of live objects.
 * {@code System.gc()} is not the same: it can be switched off, and it can return memory to the
 * system, which the timed iteration would have to fetch again.
 */
public final class Statistics extends Callback {
  // HotSpot's names for its commands MMTk.harness_begin, MMTk.harness_end and GC.class_histogram as operations.
  private static final String BEGIN = "mmtkHarnessBegin";
  private static final String END = "mmtkHarnessEnd";
  private static final String HISTOGRAM = "gcClassHistogram";

  private final Consumer<String> command;

  /**
   * Called by the harness.
   *
   * @throws JMException when the JVM's commands cannot be asked for
   */
  public Statistics(CommandLineArgs args) throws JMException {
    this(args, commands());
  }

  Statistics(CommandLineArgs args, Consumer<String> command) {
    super(args);
    this.command = command;
  }

  private static Consumer<String> commands() throws JMException {
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
    boolean mmtk =
        Arrays.stream(server.getMBeanInfo(commands).getOperations())
            .anyMatch(operation -> operation.getName().equals(BEGIN));
    return name -> {
      try {
        if (mmtk) {
          server.invoke(commands, name, null, null);
        } else if (name.equals(BEGIN)) {
          Object[] none = {new String[0]};
          server.invoke(commands, HISTOGRAM, none, new String[] {String[].class.getName()});
        }
      } catch (JMException e) {
        throw new IllegalStateException(e);
      }
    };
  }

  @Override
  public void start(String benchmark) {
    // First: the collection that this asks for is not of the iteration that is announced then.
    if (!isWarmup()) {
      command.accept(BEGIN);
    }
    Usage.say(System.err);
    super.start(benchmark);
  }

  @Override
  public void stop(long duration) {
    Usage.say(System.err);
    if (!isWarmup()) {
      command.accept(END);
    }
    super.stop(duration);
  }
}
