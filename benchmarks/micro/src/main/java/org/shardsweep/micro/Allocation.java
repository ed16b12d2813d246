// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.micro;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What it takes to allocate one object that dies at once, collections included: nanoseconds an object, of objects with
 * a size that the compiler knows and of arrays whose length it does not know.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
@State(Scope.Thread)
public class Allocation {
    private static final int VARYING_LENGTHS = 512;

    private int seed = 1;
    private int length = 240;

    /** An object of 64 bytes. */
    static final class SixLongs {
        long first = 1;
        long second;
        long third;
        long fourth;
        long fifth;
        long sixth;
    }

    @Benchmark
    public Object object16() {
        return new Object();
    }

    @Benchmark
    public Object object64() {
        return new SixLongs();
    }

    @Benchmark
    public Object bytes240() {
        return new byte[240];
    }

    /** The same length, which the compiler does not know. */
    @Benchmark
    public Object bytes240Variable() {
        return new byte[length];
    }

    @Benchmark
    public Object bytes1008() {
        return new byte[1008];
    }

    /** Lengths below 512, one after the other by a linear congruential generator. */
    @Benchmark
    public Object bytesVarying() {
        seed = seed * 1664525 + 1013904223;
        return new byte[(seed >>> 16) % VARYING_LENGTHS];
    }

    @Benchmark
    public Object bytes16384() {
        return new byte[16384];
    }
}
