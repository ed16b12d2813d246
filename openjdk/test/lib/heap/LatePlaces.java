// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

/** Places for references that concurrent marking comes to late: no initial pause gets to the middle of so long an array. */
public final class LatePlaces {
    public static final int COUNT = 512;
    private static final int ELEMENTS = 2_000_000;
    private static final int FIRST = ELEMENTS / 2;

    private final Object[] elements = new Object[ELEMENTS];

    public LatePlaces() {
        for (int i = 0; i < ELEMENTS; i++) {
            elements[i] = i < FIRST || i >= FIRST + COUNT ? new Object() : null;
        }
    }

    /** What a place holds, of which there are COUNT; at first nothing. */
    public Object get(int place) {
        return elements[FIRST + place];
    }

    public void set(int place, Object held) {
        elements[FIRST + place] = held;
    }
}
