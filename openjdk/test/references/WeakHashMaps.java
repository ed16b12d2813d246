// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A WeakHashMap loses the entries of dead keys and keeps the others, while several threads collect and allocate.
 * @library /lib
 * @run main/othervm -Xmx64m WeakHashMaps
 */

import heap.Check;
import heap.Heap;
import java.util.Map;
import java.util.WeakHashMap;

public class WeakHashMaps {
    private static final int KEYS = 20_000;
    private static final int ROUNDS = 5;

    private static final class Key {
        final int number;

        Key(int number) {
            this.number = number;
        }
    }

    public static void main(String[] args) throws Exception {
        try (Heap.Collector collector = new Heap.Collector()) {
            for (int round = 0; round < ROUNDS; round++) {
                fillAndCheck();
            }
        }
    }

    private static Key[] fill(Map<Key, String> map) {
        Key[] kept = new Key[KEYS];
        for (int i = 0; i < KEYS; i++) {
            Key key = new Key(i);
            map.put(key, "value " + i);
            kept[i] = i % 4 == 0 ? key : null;
        }
        return kept;
    }

    private static void fillAndCheck() {
        Map<Key, String> map = new WeakHashMap<>();
        Key[] kept = fill(map);
        Heap.collect(1);
        Check.eventually(() -> map.size() == KEYS / 4, "the entries of dead keys are gone");
        for (int i = 0; i < KEYS; i += 4) {
            Check.equal("value " + i, map.get(kept[i]), "the value of a live key");
        }
        map.forEach((key, value) -> Check.equal("value " + key.number, value, "an entry"));
    }
}
