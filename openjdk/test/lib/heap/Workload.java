// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A small program with objects of many shapes that checks all that it has built, again and again: a sorted tree that is rebuilt,
 * maps of strings, arrays of arrays, large arrays, threads. The same work for the same arguments.
 */
public final class Workload {
    private static final int THREADS = 4;

    private final Random random;
    private final int size;

    private Node tree;
    private final Map<String, int[]> map = new LinkedHashMap<>();
    private final List<long[][]> grids = new ArrayList<>();

    private Workload(long seed, int size) {
        random = new Random(seed);
        this.size = size;
    }

    private static final class Node {
        final int key;
        final String text;
        Node left;
        Node right;

        Node(int key) {
            this.key = key;
            text = Integer.toString(key);
        }
    }

    /** Arguments: rounds, and the size, in objects a round and thread. Prints {@code done} when all was right. */
    public static void main(String[] args) throws InterruptedException {
        run(Integer.parseInt(args[0]), Integer.parseInt(args[1]));
        System.out.println("done");
    }

    /** Does {@code rounds} rounds of {@code size} objects in each of four threads. */
    public static void run(int rounds, int size) throws InterruptedException {
        Threads.run(THREADS, number -> {
            Workload workload = new Workload(number, size);
            for (int round = 0; round < rounds; round++) {
                workload.round();
            }
        });
    }

    private void round() {
        tree = null;
        int[] keys = random.ints(size).toArray();
        for (int key : keys) {
            insert(key);
        }
        for (int i = 0; i < size; i++) {
            map.put("key " + random.nextInt(size), new int[] {i, ~i});
        }
        grids.add(grid(1 + random.nextInt(20)));
        if (grids.size() > 10) {
            grids.remove(random.nextInt(grids.size()));
        }
        check(keys);
    }

    private void insert(int key) {
        Node node = new Node(key);
        if (tree == null) {
            tree = node;
            return;
        }
        for (Node at = tree;;) {
            Node next = key < at.key ? at.left : at.right;
            if (next == null) {
                if (key < at.key) {
                    at.left = node;
                } else {
                    at.right = node;
                }
                return;
            }
            at = next;
        }
    }

    private static long[][] grid(int rows) {
        long[][] grid = new long[rows][];
        for (int i = 0; i < rows; i++) {
            // The last rows are larger than what any allocator calls small.
            grid[i] = new long[1 << Math.min(i, 13)];
            Arrays.fill(grid[i], i * 1_000_003L);
        }
        return grid;
    }

    private void check(int[] keys) {
        Arrays.sort(keys);
        Check.equal(keys.length, checkInOrder(tree, keys, 0), "nodes of the tree");
        map.forEach((key, value) -> Check.that(key.startsWith("key ") && value.length == 2 && value[0] == ~value[1], "an entry of the map"));
        Map<String, int[]> copy = new HashMap<>(map);
        map.forEach((key, value) -> Check.same(value, copy.get(key), "a value of the copied map"));
        for (long[][] grid : grids) {
            for (int i = 0; i < grid.length; i++) {
                Check.equal(1 << Math.min(i, 13), grid[i].length, "the length of a row");
                for (long element : grid[i]) {
                    Check.that(element == i * 1_000_003L, "an element of a grid");
                }
            }
        }
    }

    private static int checkInOrder(Node node, int[] keys, int index) {
        if (node == null) {
            return index;
        }
        int at = checkInOrder(node.left, keys, index);
        Check.that(node.key == keys[at] && node.text.equals(Integer.toString(node.key)), "node " + at + " of the tree");
        return checkInOrder(node.right, keys, at + 1);
    }
}
