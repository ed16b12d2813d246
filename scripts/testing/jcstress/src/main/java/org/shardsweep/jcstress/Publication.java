// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.jcstress;

import java.util.concurrent.ThreadLocalRandom;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A new object and a new array that are passed on by a race: they may lack values, but hold none of another object's. */
@JCStressTest
@Outcome(id = "(-1|0|1), (-1|0|1)", expect = Expect.ACCEPTABLE, desc = "not there yet, without its values, or whole")
@Outcome(expect = Expect.FORBIDDEN, desc = "what is seen was never stored")
@State
public class Publication {
    private Node node;
    private int[] array;

    /** Makes both. */
    @Actor
    public void make() {
        node = Node.make(1);
        int[] made = new int[1 + ThreadLocalRandom.current().nextInt(512)];
        for (int i = 0; i < made.length; i++) {
            made[i] = 1;
        }
        array = made;
    }

    /** Looks at both. */
    @Actor
    public void look(II_Result result) {
        result.r1 = Node.look(node);
        result.r2 = look(array);
    }

    private static int look(int[] array) {
        if (array == null) {
            return Node.NONE;
        }
        int sum = 0;
        for (int value : array) {
            if ((value & ~1) != 0) {
                return Node.BROKEN;
            }
            sum += value;
        }
        return sum == array.length ? 1 : Node.YOUNG;
    }
}
