// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.micro;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What {@link System#gc} takes while one large structure is alive: milliseconds a call. */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3)
@Measurement(iterations = 10)
@Fork(1)
@State(Scope.Benchmark)
public class FullCollection {
    private static final int MIB = 1 << 20;

    /** Of what the live data are made. */
    public enum Structure {
        /** A binary tree of nodes of 24 bytes. */
        TREE {
            @Override
            Object make(int mebibytes) {
                int nodes = (int) ((long) mebibytes * MIB / 24);
                int depth = 31 - Integer.numberOfLeadingZeros(nodes);
                return Node.tree(depth);
            }
        },
        /** A hash map: entries of 32 bytes, keys and values of 16. */
        MAP {
            @Override
            Object make(int mebibytes) {
                Map<Integer, Integer> map = new HashMap<>();
                for (int key = 1000; key < 1000 + (long) mebibytes * MIB / 72; key++) {
                    map.put(key, -key);
                }
                return map;
            }
        },
        /** Arrays of bytes, of 1 KiB. */
        ARRAYS {
            @Override
            Object make(int mebibytes) {
                byte[][] arrays = new byte[mebibytes * 1024][];
                for (int index = 0; index < arrays.length; index++) {
                    arrays[index] = new byte[1008];
                }
                return arrays;
            }
        },
        /** Arrays of 1,024 references to such arrays, at random. */
        REFERENCES {
            @Override
            Object make(int mebibytes) {
                Object[][] arrays = new Object[mebibytes * 256][1024];
                SplittableRandom random = new SplittableRandom(1);
                for (Object[] array : arrays) {
                    for (int index = 0; index < array.length; index++) {
                        array[index] = arrays[random.nextInt(arrays.length)];
                    }
                }
                return arrays;
            }
        };

        abstract Object make(int mebibytes);
    }

    private static final class Node {
        private final Node left;
        private final Node right;

        private Node(Node left, Node right) {
            this.left = left;
            this.right = right;
        }

        static Node tree(int depth) {
            return depth == 0 ? null : new Node(tree(depth - 1), tree(depth - 1));
        }
    }

    @Param
    private Structure structure;

    /** About how much is alive. */
    @Param("450")
    private int mebibytes;

    /** How many times 64 bytes are allocated, to be garbage, before a call. */
    @Param("0")
    private int garbage;

    private Object live;
    private byte[] last;

    @Setup(Level.Trial)
    public void fill() {
        live = structure.make(mebibytes);
    }

    @Setup(Level.Invocation)
    public void litter() {
        for (int index = 0; index < garbage; index++) {
            last = new byte[48];
        }
    }

    @Benchmark
    public Object collect() {
        System.gc();
        return live;
    }
}
