// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary JVMTI: tags stay on live objects and go with dead ones, with one ObjectFree event each; heap walks see what is live.
 * @library /lib
 * @run main/othervm/native -Xmx64m -agentlib:Tags Tags
 */

import heap.Check;
import heap.Heap;

public class Tags {
    private static final int OBJECTS = 2000;

    static {
        System.loadLibrary("Tags");
    }

    private static native void tag(Object object, long tag);
    private static native long tagOf(Object object);

    /** The objects that have a tag from 1 to {@code last}. */
    private static native int countTagged(long last);

    /** The ObjectFree events so far. */
    private static native int freed();

    /** The instances of a class, as JVMTI's walk over all objects sees them. */
    private static native int countInstances(Class<?> type);

    private static final class Tagged {
        int number;
    }

    public static void main(String[] args) throws Exception {
        Tagged[] kept = new Tagged[OBJECTS];
        make(kept);
        Check.equal(OBJECTS, countTagged(OBJECTS), "tagged objects before the collection");
        drop(kept);
        Heap.collect(3);
        Check.equal(OBJECTS / 2, countTagged(OBJECTS), "tagged objects after the collection");
        // JVMTI leaves it open when the events come; HotSpot posts them from a thread of its own.
        Check.eventually(() -> freed() == OBJECTS / 2, "one ObjectFree event for each dead object");
        for (int i = 1; i < OBJECTS; i += 2) {
            Check.equal(i + 1L, tagOf(kept[i]), "the tag of a live object");
            Check.equal(i, kept[i].number, "a live object");
        }
        Check.equal(OBJECTS / 2, countInstances(Tagged.class), "instances after the collection");
        Heap.collect(1);
        Check.equal(OBJECTS / 2, freed(), "ObjectFree events, each of which comes once");
    }

    private static void make(Tagged[] kept) {
        for (int i = 0; i < OBJECTS; i++) {
            kept[i] = new Tagged();
            kept[i].number = i;
            tag(kept[i], i + 1);
        }
    }

    private static void drop(Tagged[] kept) {
        for (int i = 0; i < OBJECTS; i += 2) {
            kept[i] = null;
        }
    }
}
