// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.jcstress;

import java.lang.ref.WeakReference;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** What is got from a weak reference is alive, and stays so where it is stored; the other thread lets go of it meanwhile. */
@JCStressTest
@Outcome(id = "(-1|1), (0|1), -1", expect = Expect.ACCEPTABLE, desc = "nothing was got")
@Outcome(id = "1, (0|1), 1", expect = Expect.ACCEPTABLE, desc = "it was got, and is whole")
@Outcome(expect = Expect.FORBIDDEN, desc = "it was got, and freed")
@State
public class Weak {
    private Node strong = Node.make(1);
    private final WeakReference<Node> weak = new WeakReference<>(strong);
    private Node got;

    /** Gets and stores it. */
    @Actor
    public void get(III_Result result) {
        Node node = weak.get();
        Node.garbage = new byte[512];
        result.r1 = Node.look(node);
        got = node;
    }

    /** Lets go of it. */
    @Actor
    public void letGo(III_Result result) {
        strong = null;
        Node.garbage = new byte[512];
        result.r2 = weak.refersTo(null) ? 1 : 0;
    }

    /** Looks at what was stored. */
    @Arbiter
    public void look(III_Result result) {
        result.r3 = Node.look(got);
    }
}
