// SPDX-License-Identifier: MIT OR Apache-2.0

/**
 * Fills and empties a small heap by some threads, and prints a number that depends on what it has read back. With an argument it
 * never ends.
 */
public final class Small {
  private static final int THREADS = 3;
  private static final int ROUNDS = 40;
  private static final int KEPT = 200;

  private Small() {}

  public static void main(String[] args) throws InterruptedException {
    do {
      System.out.println("sum " + sum());
    } while (args.length > 0);
  }

  private static long sum() throws InterruptedException {
    long[] sums = new long[THREADS];
    Thread[] threads = new Thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
      int number = i;
      threads[i] = new Thread(() -> sums[number] = work());
      threads[i].start();
    }
    long sum = 0;
    for (int i = 0; i < THREADS; i++) {
      threads[i].join();
      sum += sums[i];
    }
    return sum;
  }

  /** Objects of many sizes, up to large ones, of which some live on from round to round. */
  private static long work() {
    byte[][] kept = new byte[KEPT][];
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < KEPT; i++) {
        int size = i % 50 == 0 ? 100_000 : 16 << i % 8;
        for (int dead = 0; dead < 20; dead++) {
          kept[i] = new byte[size];
        }
        kept[i][size - 1] = 1;
        sum += kept[(i + KEPT / 2) % KEPT] == null ? 0 : kept[i][size - 1];
      }
      if (round % 10 == 9) {
        System.gc();
      }
    }
    return sum;
  }
}
