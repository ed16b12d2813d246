// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.jcstress;

import java.util.concurrent.ThreadLocalRandom;

/** An object that shows whether it is whole. */
final class Node {
    /** What {@link #look} says of no node, of one whose fields are not all there yet, and of one that is none. */
    static final int NONE = -1;
    static final int YOUNG = 0;
    static final int BROKEN = 99;

    private static final long SALT = 0x5bd1e995L;

    /** Takes long to mark, as one worker does it link by link: a plan that marks concurrently does so while actors run. */
    private static final Link LINKS = Link.chain(1_000_000);

    /** Garbage, so that there are collections; a field, so that compilers leave it alone. */
    static Object garbage;

    final Node next;
    private int value;
    private long check;

    /** With a value from 1 on. */
    Node(int value, Node next) {
        this.value = value;
        this.next = next;
        check = value * SALT;
    }

    /** A new node, among garbage of sizes that vary. */
    static Node make(int value) {
        return make(value, null);
    }

    static Node make(int value, Node next) {
        garbage = new byte[ThreadLocalRandom.current().nextInt(700)];
        return new Node(value, next);
    }

    /** The value of a node, or one of the constants. */
    static int look(Object object) {
        if (object == null) {
            return NONE;
        }
        if (object.getClass() != Node.class) {
            return BROKEN;
        }
        Node node = (Node) object;
        int value = node.value;
        long check = node.check;
        // Without a barrier between the threads, any field may be seen before it is set.
        if (value == 0 || check == 0) {
            return value < 0 || value > 9 || check % SALT != 0 ? BROKEN : YOUNG;
        }
        return check == value * SALT ? value : BROKEN;
    }

    private static final class Link {
        final Link next;

        Link(Link next) {
            this.next = next;
        }

        static Link chain(int length) {
            Link first = null;
            for (int i = 0; i < length; i++) {
                first = new Link(first);
            }
            return first;
        }
    }
}
