// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import java.util.function.IntConsumer;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Workers;
import org.shardsweep.bench.Workload;

/**
 * {@code graph}: a large graph of objects that stays alive while its edges and labels are replaced.
 * Most of what is allocated is soon stored into an old object, and what it replaces was old as
 * well. Each node is changed by one thread, and read by others only while nobody changes it.
 */
public final class GraphProgram implements Program {
  private static final int ROUNDS = 8;
  private static final int EDGES = 6;

  /** In a round, of so many nodes one gets new edges. */
  private static final int REWIRED = 4;

  @Override
  public String name() {
    return "graph";
  }

  @Override
  public Workload open(Setting setting) {
    return new Graph(setting);
  }

  /** A label is an object, so that each new one is an allocation. */
  private record Label(long value) {}

  static final class Node {
    Node[] edges;
    Label label;
    Label next;
  }

  /** A graph that is there for some iterations. */
  static final class Graph implements Workload {
    private final Setting setting;
    private final int number;
    Node[] nodes;

    Graph(Setting setting) {
      this.setting = setting;
      number = setting.size().of(20_000, 600_000, 9_000_000);
    }

    @Override
    public void prepare() throws Exception {
      // The old graph goes before the new one comes.
      nodes = null;
      nodes = new Node[number];
      each(
          i -> {
            nodes[i] = new Node();
            nodes[i].label = new Label(mixed(i));
          });
      each(i -> nodes[i].edges = edges(i, 0));
    }

    @Override
    public void run() throws Exception {
      for (int round = 1; round <= ROUNDS; round++) {
        int now = round;
        each(
            i -> {
              if (mixed(i + (long) now * number) % REWIRED == 0) {
                nodes[i].edges = edges(i, now);
              }
            });
        each(i -> nodes[i].next = new Label(mixed(around(nodes[i]))));
        each(
            i -> {
              nodes[i].label = nodes[i].next;
              nodes[i].next = null;
            });
      }
    }

    /** Applies the change to all nodes, a thread to some blocks of them. */
    private void each(IntConsumer change) throws Exception {
      final int block = 1024;
      new Workers("Walker", setting.threads())
          .deal(
              (number - 1) / block + 1,
              part -> {
                int end = (int) Math.min((part + 1L) * block, number);
                for (int i = part * block; i < end; i++) {
                  change.accept(i);
                }
              });
    }

    private Node[] edges(int node, int round) {
      Node[] edges = new Node[1 + Math.floorMod(mixed(node), EDGES)];
      for (int i = 0; i < edges.length; i++) {
        edges[i] = nodes[(int) Math.floorMod(mixed(node * 31L + round * 1009L + i), (long) number)];
      }
      return edges;
    }

    private static long around(Node node) {
      long sum = node.label.value();
      for (Node other : node.edges) {
        sum += other.label.value();
      }
      return sum;
    }

    /** A number that looks random and is the same each time. */
    private static long mixed(long number) {
      long bits = (number + 1) * 0x9E3779B97F4A7C15L;
      bits = (bits ^ (bits >>> 32)) * 0xD6E8FEB86659FD93L;
      return (bits ^ (bits >>> 29)) >>> 1;
    }

    /** Every edge is followed: one that leads to the wrong node has another label at its end. */
    @Override
    public Digests results() {
      long edges = 0;
      long labels = 0;
      for (Node node : nodes) {
        edges += node.edges.length;
        labels = labels * 31 + around(node);
      }
      return Digests.ofText("graph/" + setting.size().label(), edges + " " + labels);
    }
  }
}
