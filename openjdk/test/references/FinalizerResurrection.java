// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A whole structure that a finalizer makes reachable again is intact, and no object is finalized twice.
 * @library /lib
 * @run main/othervm -Xmx64m FinalizerResurrection
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class FinalizerResurrection {
    private static final int TREES = 500;
    private static final int DEPTH = 6;
    private static final AtomicInteger FINALIZED = new AtomicInteger();
    private static final List<Root> RESURRECTED = new ArrayList<>();

    private static final class Node {
        final int value;
        final Node left;
        final Node right;

        Node(int depth, int value) {
            this.value = value;
            left = depth == 0 ? null : new Node(depth - 1, 2 * value);
            right = depth == 0 ? null : new Node(depth - 1, 2 * value + 1);
        }

        void check(int expected) {
            Check.equal(expected, value, "a node of a resurrected tree");
            if (left != null) {
                left.check(2 * expected);
                right.check(2 * expected + 1);
            }
        }
    }

    private static final class Root {
        private final int number;
        private final Node tree;
        /** Another finalizable object, dead at the same time. */
        private final Root other;

        Root(int number, Root other) {
            this.number = number;
            this.other = other;
            tree = new Node(DEPTH, number);
        }

        @Override
        @SuppressWarnings("deprecation")
        protected void finalize() {
            synchronized (RESURRECTED) {
                RESURRECTED.add(this);
            }
            FINALIZED.incrementAndGet();
        }

        void check() {
            tree.check(number);
            if (other != null) {
                other.tree.check(number - 1);
            }
        }
    }

    public static void main(String[] args) {
        make();
        Heap.collect(1);
        Check.eventually(() -> FINALIZED.get() == TREES, "all finalizers have run");
        Heap.churn(32 * Heap.MIB);
        Heap.collect(3);
        synchronized (RESURRECTED) {
            Check.equal(TREES, RESURRECTED.size(), "resurrected trees");
            RESURRECTED.forEach(Root::check);
            RESURRECTED.clear();
        }
        Heap.collect(3);
        Check.equal(TREES, FINALIZED.get(), "finalizers that have run in the end");
    }

    /** All become unreachable at once: a tree that is finalized earlier would keep the others to which it refers. */
    private static void make() {
        Root[] roots = new Root[TREES];
        for (int i = 0; i < TREES; i++) {
            roots[i] = new Root(i, i % 5 == 0 ? null : roots[i - 1]);
        }
        Reference.reachabilityFence(roots);
    }
}
