// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Verse;
import org.shardsweep.bench.Workers;
import org.shardsweep.bench.Workload;

/**
 * {@code server}: a web server of the JDK, and clients that ask it for pages at a fixed rate. Each
 * page is put together anew and kept until some hundred later ones have been asked for: pages live
 * longer than a young object and not for ever. An iteration tells how long requests have taken.
 */
public final class ServerProgram implements Program {
  /** Requests a second, of all clients together. */
  private static final int RATE = 500;

  private static final long PERIOD_NANOS = 1_000_000_000L / RATE;
  private static final int VERSES = 60;
  private static final int PAGES_KEPT = 400;

  /** From one page to the next, in verses: a prime, so that the same page does not come soon. */
  private static final int STRIDE = 7919;

  /** A server whose threads have run out of memory may never answer. */
  private static final Duration LIMIT = Duration.ofMinutes(1);

  @Override
  public String name() {
    return "server";
  }

  @Override
  public Workload open(Setting setting) throws IOException {
    // Else an answer's body waits for the acknowledgement of its head.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    return new Serving(Verse.shipped(), setting, LIMIT);
  }

  /** A server that runs. */
  static final class Serving implements Workload {
    private final List<Verse> verses;
    private final Setting setting;
    private final Duration limit;
    private final HttpServer server;
    private final ExecutorService workers;
    private final HttpClient client;
    private final String[] results;
    private final Latencies latencies;

    /** What a thread of the server has failed with: a client asks again, and may get its page then. */
    private volatile Throwable failure;

    /** Pages by their first verse, the oldest first. Server threads share it: it is its own lock. */
    final Map<Integer, String> kept = new LinkedHashMap<>();

    Serving(List<Verse> verses, Setting setting, Duration limit) throws IOException {
      this.verses = verses;
      this.setting = setting;
      this.limit = limit;
      results = new String[RATE * setting.size().of(1, 8, 16)];
      latencies = new Latencies(results.length);
      client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      workers = Executors.newFixedThreadPool(setting.threads());
      server.setExecutor(workers);
      server.createContext("/", this::answer);
      server.start();
    }

    private void answer(HttpExchange exchange) throws IOException {
      try (exchange) {
        int first = Integer.parseInt(exchange.getRequestURI().getPath().substring(1));
        String page = page(first);
        keep(first, page);
        byte[] body = page.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
      } catch (Throwable e) {
        failure = e;
        throw e;
      }
    }

    private String page(int first) {
      StringBuilder text = new StringBuilder("<!DOCTYPE html><title>Verses</title><dl>");
      for (Verse verse : verses.subList(first, first + VERSES)) {
        text.append("<dt>").append(verse.reference()).append("<dd>");
        text.append(verse.text().replace("&", "&amp;").replace("<", "&lt;"));
      }
      return text.append("</dl>").toString();
    }

    private void keep(int first, String page) {
      synchronized (kept) {
        kept.remove(first);
        kept.put(first, page);
        if (kept.size() > PAGES_KEPT) {
          kept.remove(kept.keySet().iterator().next());
        }
      }
    }

    /** What the last iteration came to is not to pass for this one's, nor to live on in it. */
    @Override
    public void prepare() {
      Arrays.fill(results, null);
      synchronized (kept) {
        kept.clear();
      }
    }

    @Override
    public void run() throws Exception {
      long start = System.nanoTime();
      try {
        new Workers("Client", setting.threads())
            .deal(results.length, i -> ask(i, start + i * PERIOD_NANOS));
      } catch (Exception e) {
        if (failure != null) {
          e.addSuppressed(failure);
        }
        throw e;
      }
      if (failure != null) {
        throw new IOException("a thread of the server has failed", failure);
      }
      System.err.println(latencies.line());
    }

    /** The address of what is called {@code name} on the server. */
    URI uri(String name) {
      String host = server.getAddress().getAddress().getHostAddress();
      return URI.create("http://" + host + ":" + server.getAddress().getPort() + "/" + name);
    }

    /** Asks for page {@code number} when it is due, or at once if that is over. */
    private void ask(int number, long due) throws IOException, InterruptedException {
      for (long wait = due - System.nanoTime(); wait > 0; wait = due - System.nanoTime()) {
        LockSupport.parkNanos(wait);
      }
      int first = (int) ((long) number * STRIDE % (verses.size() - VERSES));
      URI uri = uri(String.valueOf(first));
      HttpRequest request = HttpRequest.newBuilder(uri).timeout(limit).build();
      long sent = System.nanoTime();
      HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
      latencies.record(number, due, sent, System.nanoTime());
      if (response.statusCode() != 200) {
        throw new IOException(uri + ": status " + response.statusCode());
      }
      results[number] = String.join(" ", Digests.ofText("page", response.body()).lines());
    }

    /** The digest of the pages that clients got, or another one if the pages kept are not as made. */
    @Override
    public Digests results() {
      String text = String.join("\n", results);
      if (!keptAreRight()) {
        text += "\nthe pages kept are wrong";
      }
      return Digests.ofText("server/" + setting.size().label(), text);
    }

    /** No client reads them again: what a collector loses of them is seen here alone. */
    private boolean keptAreRight() {
      synchronized (kept) {
        return kept.size() == PAGES_KEPT
            && kept.entrySet().stream().allMatch(each -> page(each.getKey()).equals(each.getValue()));
      }
    }

    @Override
    public void close() {
      server.stop(0);
      workers.shutdownNow();
    }
  }
}
