// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.jcstress;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Arrays are copied and cloned while another thread replaces what they hold. */
@JCStressTest
@Outcome(id = "(1|2), (1|2)", expect = Expect.ACCEPTABLE, desc = "each element is the one before or the one after")
@Outcome(expect = Expect.FORBIDDEN, desc = "an element was lost")
@State
public class Copies {
    private static final int LENGTH = 17;

    private final Node[] from = new Node[LENGTH];
    private final Node[] to = new Node[LENGTH];
    private Node[] cloned;

    /** An array of nodes. */
    public Copies() {
        for (int i = 0; i < LENGTH; i++) {
            from[i] = Node.make(1);
        }
    }

    /** Copies within the array, out of it, and all of it. */
    @Actor
    public void copy() {
        System.arraycopy(from, 0, to, 0, LENGTH);
        System.arraycopy(from, 1, from, 0, LENGTH - 1);
        cloned = from.clone();
    }

    /** Replaces the elements. */
    @Actor
    public void replace() {
        for (int i = 0; i < LENGTH; i += 3) {
            from[i] = Node.make(2);
        }
    }

    /** Looks at the copies: at the first element that is broken, or else at the last. */
    @Arbiter
    public void look(II_Result result) {
        result.r1 = look(to);
        result.r2 = look(cloned);
    }

    private static int look(Node[] nodes) {
        int seen = Node.BROKEN;
        for (Node node : nodes) {
            seen = Node.look(node);
            if (seen != 1 && seen != 2) {
                return seen;
            }
        }
        return seen;
    }
}
