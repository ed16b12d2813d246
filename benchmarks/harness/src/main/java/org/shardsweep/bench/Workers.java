// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

/** A number of new threads that share the work of one iteration. */
public final class Workers {
  /** A part of the work. */
  @FunctionalInterface
  public interface Work {
    /** Does the part with this number, counted from 0. */
    void run(int number) throws Exception;
  }

  private final String name;
  private final int threads;

  /** The first failure of any thread. */
  private volatile Throwable failure;

  /** Prepares {@code threads} threads, called {@code name} and their number. */
  public Workers(String name, int threads) {
    this.name = name;
    this.threads = threads;
  }

  /** Whether a thread has failed: no other one should begin anything. */
  public boolean failed() {
    return failure != null;
  }

  /**
   * Deals out {@code parts} parts: thread i of n does the parts i, i + n, i + 2n and so on, one after
   * the other, until a thread has failed. No thread is left when this method returns or throws.
   *
   * @throws Exception as {@link #run} does
   */
  public void deal(int parts, Work work) throws Exception {
    run(
        first -> {
          for (int part = first; part < parts && !failed(); part += threads) {
            work.run(part);
          }
        });
  }

  /**
   * Runs {@code work} in all threads, with each one's number. None of them is left when this method
   * returns or throws.
   *
   * @throws Exception what the first thread to fail has failed with, an {@link Error} included
   */
  public void run(Work work) throws Exception {
    Thread[] workers = new Thread[threads];
    int started = 0;
    try {
      for (; started < threads; started++) {
        int number = started;
        Thread worker = new Thread(() -> guarded(work, number), name + number);
        worker.setDaemon(true);
        worker.start();
        workers[started] = worker;
      }
    } catch (Throwable e) {
      fail(e);
    }
    for (int i = 0; i < started; i++) {
      workers[i].join();
    }
    if (failure instanceof Error error) {
      throw error;
    } else if (failure != null) {
      throw (Exception) failure;
    }
  }

  private void guarded(Work work, int number) {
    try {
      work.run(number);
    } catch (Throwable e) {
      // Memory may have run out: nothing may be allocated here.
      fail(e);
    }
  }

  private synchronized void fail(Throwable e) {
    if (failure == null) {
      failure = e;
    }
  }
}
