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
 * Has MMTk keep statistics of the timed iteration, and print them at its end. Between the two, MMTk
 * has nothing else to do than without it; before, it collects once. On a JVM that has no MMTk this
 * does what the plain callback does.
 */
public final class MMTkStatistics extends Callback {
  // HotSpot's names for its commands MMTk.harness_begin and MMTk.harness_end as operations.
  private static final String BEGIN = "mmtkHarnessBegin";
  private static final String END = "mmtkHarnessEnd";

  private final Consumer<String> command;

  /**
   * Called by the harness.
   *
   * @throws JMException when the JVM's commands cannot be asked for
   */
  public MMTkStatistics(CommandLineArgs args) throws JMException {
    this(args, jvmCommand());
  }

  /** Calls {@code command} with the names of HotSpot's operations. */
  MMTkStatistics(CommandLineArgs args, Consumer<String> command) {
    super(args);
    this.command = command;
  }

  private static Consumer<String> jvmCommand() throws JMException {
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
    boolean known =
        Arrays.stream(server.getMBeanInfo(commands).getOperations())
            .anyMatch(operation -> operation.getName().equals(BEGIN));
    return name -> {
      try {
        if (known) {
          server.invoke(commands, name, null, null);
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
    super.start(benchmark);
  }

  @Override
  public void stop(long duration) {
    if (!isWarmup()) {
      command.accept(END);
    }
    super.stop(duration);
  }
}
