// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test id=default
 * @summary A program that checks all its data, in each way that the VM has to run code and to lay out objects.
 * @library /lib
 * @run main/othervm -Xmx64m Modes 10
 */
/*
 * @test id=int
 * @library /lib
 * @run main/othervm -Xmx64m -Xint Modes 3
 */
/*
 * @test id=c1
 * @library /lib
 * @run main/othervm -Xmx64m -XX:TieredStopAtLevel=1 Modes 10
 * @run main/othervm -Xmx64m -XX:TieredStopAtLevel=3 Modes 5
 */
/*
 * @test id=c2
 * @library /lib
 * @run main/othervm -Xmx64m -XX:-TieredCompilation Modes 10
 */
/*
 * @test id=comp
 * @library /lib
 * @run main/othervm -Xmx64m -Xcomp Modes 5
 * @run main/othervm -Xmx64m -Xcomp -XX:-TieredCompilation Modes 5
 */
/*
 * @test id=oops
 * @library /lib
 * @run main/othervm -Xmx64m -XX:-UseCompressedOops Modes 10
 * @run main/othervm -Xmx64m -XX:-UseCompressedClassPointers Modes 10
 * @run main/othervm -Xmx64m -XX:-UseCompressedOops -XX:-UseCompressedClassPointers Modes 10
 * @run main/othervm -Xmx64m -XX:-UseCompressedOops -Xint Modes 2
 */
/*
 * @test id=large-heap
 * @library /lib
 * @run main/othervm -Xms32m -Xmx6g Modes 10
 * @run main/othervm -Xms6g -Xmx6g Modes 10
 * @run main/othervm -Xms32m -Xmx6g -Xint Modes 2
 * @run main/othervm -Xms32m -Xmx6g -XX:TieredStopAtLevel=1 Modes 10
 */
/*
 * @test id=sharing
 * @library /lib
 * @run main/othervm -Xmx64m -Xshare:off Modes 5
 * @run main/othervm -Xmx64m -Xshare:auto Modes 5
 * @run main/othervm -Xmx64m -Xshare:auto -XX:-UseCompressedOops Modes 5
 */
/*
 * @test id=allocation
 * @library /lib
 * @run main/othervm -Xmx64m -XX:+UnlockDiagnosticVMOptions -XX:-ThirdPartyHeapInlineAllocation Modes 5
 * @run main/othervm -Xmx64m -XX:-DoEscapeAnalysis -XX:-ReduceInitialCardMarks Modes 5
 */

import heap.Heap;
import heap.Workload;

public class Modes {
    public static void main(String[] args) throws Exception {
        try (Heap.Collector collector = new Heap.Collector()) {
            Workload.run(Integer.parseInt(args[0]), 2000);
        }
    }
}
