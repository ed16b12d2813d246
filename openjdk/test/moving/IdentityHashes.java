// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Identity hash codes stay what they are over collections, for all kinds of objects, locked or not.
 * @library /lib
 * @run main/othervm -Xmx64m IdentityHashes
 * @run main/othervm -Xmx64m -Xcomp IdentityHashes
 */

import heap.Check;
import heap.Heap;
import java.util.IdentityHashMap;
import java.util.Map;

public class IdentityHashes {
    private static final int OBJECTS = 30_000;

    public static void main(String[] args) {
        Object[] objects = new Object[OBJECTS];
        int[] hashes = new int[OBJECTS];
        Map<Object, Integer> map = new IdentityHashMap<>();
        for (int i = 0; i < OBJECTS; i++) {
            objects[i] = make(i);
            hashes[i] = System.identityHashCode(objects[i]);
            map.put(objects[i], i);
        }
        for (int round = 0; round < 5; round++) {
            Heap.churn(8 * Heap.MIB);
            Heap.collect(1);
            for (int i = 0; i < OBJECTS; i++) {
                check(objects[i], hashes[i], map, i);
            }
        }
    }

    private static Object make(int i) {
        return switch (i % 5) {
            case 0 -> new Object();
            case 1 -> new int[i % 100];
            case 2 -> new Object[i % 100];
            case 3 -> Integer.toString(i);
            default -> new StringBuilder(8);
        };
    }

    private static void check(Object object, int hash, Map<Object, Integer> map, int i) {
        if (i % 3 == 0) {
            synchronized (object) {
                Check.equal(hash, System.identityHashCode(object), "hash code of a locked object");
            }
        }
        Check.equal(hash, System.identityHashCode(object), "hash code");
        Check.equal(i, map.get(object), "entry of an IdentityHashMap");
    }
}
