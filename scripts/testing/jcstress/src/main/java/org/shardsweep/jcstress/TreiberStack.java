// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.jcstress;

import java.util.concurrent.atomic.AtomicReference;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** A stack of linked nodes: one thread pushes, the other pops and pushes. A cell that is used too early would be linked twice. */
@JCStressTest
@Outcome(id = "-1, (1|2), 1", expect = Expect.ACCEPTABLE, desc = "nothing was popped, and both are there")
@Outcome(id = "1, 2, -1", expect = Expect.ACCEPTABLE, desc = "what was pushed was popped")
@Outcome(expect = Expect.FORBIDDEN, desc = "a node was lost")
@State
public class TreiberStack {
    private final AtomicReference<Node> top = new AtomicReference<>();

    /** Pushes a node. */
    @Actor
    public void push() {
        push(1);
    }

    /** Pops a node, and pushes one. */
    @Actor
    public void popAndPush(III_Result result) {
        Node node;
        do {
            node = top.get();
        } while (node != null && !top.compareAndSet(node, node.next));
        push(2);
        result.r1 = Node.look(node);
    }

    private void push(int value) {
        Node node;
        do {
            node = Node.make(value, top.get());
        } while (!top.compareAndSet(node.next, node));
    }

    /** Looks at the two highest nodes. */
    @Arbiter
    public void look(III_Result result) {
        Node node = top.get();
        result.r2 = Node.look(node);
        // Popped or in the stack: the first thread's node is one of the two.
        boolean second = result.r1 == Node.NONE;
        result.r3 = second ? Math.min(Node.look(node), Node.look(node.next)) : Node.look(node.next);
    }
}
