// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.jcstress;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** New objects that an old array alone holds, stored by two threads at once in each of the ways that have a barrier. */
@JCStressTest
@Outcome(id = "(1|2), (1|2)", expect = Expect.ACCEPTABLE, desc = "one of the two")
@Outcome(expect = Expect.FORBIDDEN, desc = "a new object was lost")
@State
public class OldHolder {
    private static final int PLACES = 1 << 12;
    private static final Node[] PLAIN = new Node[PLACES];
    private static final Node[] ATOMIC = new Node[PLACES];
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(Node[].class);

    private final int place = System.identityHashCode(this) & (PLACES - 1);

    /** Stores, and compares and exchanges until it has done so. */
    @Actor
    public void store() {
        PLAIN[place] = Node.make(1);
        Node node = Node.make(1);
        Node before;
        do {
            before = ATOMIC[place];
        } while (!ELEMENT.compareAndSet(ATOMIC, place, before, node));
    }

    /** Copies, and exchanges. */
    @Actor
    public void copy() {
        System.arraycopy(new Node[] {Node.make(2)}, 0, PLAIN, place, 1);
        Node before = (Node) ELEMENT.getAndSet(ATOMIC, place, Node.make(2));
        if (Node.look(before) == Node.BROKEN) {
            throw new IllegalStateException("what was there before is broken");
        }
    }

    /** Looks at both. Another test's state may have the same place: its values are the same. */
    @Arbiter
    public void look(II_Result result) {
        result.r1 = Node.look(PLAIN[place]);
        result.r2 = Node.look(ATOMIC[place]);
    }
}
