package dev.tranche.e2e.bench.ui;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/** Readers that ask what has changed as an open page does, and discard the rows. */
public final class PageReaders implements AutoCloseable {
  private static final Pattern VERSION = Pattern.compile("\"resourceVersion\":\"([^\"]*)\"");
  private static final int START_BYTES = 256;
  private static final long PERIOD_MS = 950;

  private final HttpClient client = HttpClient.newHttpClient();
  private final URI changes;
  private final LongAdder bytes = new LongAdder();
  private volatile @Nullable String failure;
  private volatile boolean closing;

  /**
   * @param port of the read API on loopback
   */
  public PageReaders(int port, int count) {
    changes = URI.create("http://127.0.0.1:%d/api/v1/changes?resourceVersion=".formatted(port));
    for (int i = 0; i < count; i++) {
      long firstMs = i * PERIOD_MS / count;
      Thread.ofVirtual().start(() -> read(firstMs));
    }
  }

  private void read(long firstMs) {
    try {
      Thread.sleep(firstMs);
      String known = "";
      while (!closing) {
        known = versionAfter(known);
        Thread.sleep(PERIOD_MS);
      }
    } catch (IOException | InterruptedException e) {
      if (!closing) {
        failure = e.toString();
      }
    }
  }

  private String versionAfter(String known) throws IOException, InterruptedException {
    HttpResponse<byte[]> answer =
        client.send(
            HttpRequest.newBuilder(URI.create(changes + known))
                .header("Accept-Encoding", "gzip")
                .build(),
            HttpResponse.BodyHandlers.ofByteArray());
    bytes.add(answer.body().length);
    if (answer.statusCode() != 200) {
      throw new IOException("the answer has status " + answer.statusCode());
    }
    try (var json = new GZIPInputStream(new ByteArrayInputStream(answer.body()))) {
      var start = new String(json.readNBytes(START_BYTES), StandardCharsets.UTF_8);
      Matcher version = VERSION.matcher(start);
      if (!version.find()) {
        throw new IOException("the answer begins with " + start);
      }
      return version.group(1);
    }
  }

  /** What all of them have read by now. */
  public long bytes() {
    return bytes.sum();
  }

  /**
   * @throws IllegalStateException if a reader has stopped, so that fewer readers were measured
   */
  public void requireAlive() {
    if (failure != null) {
      throw new IllegalStateException("a reader of the changes failed: " + failure);
    }
  }

  @Override
  public void close() {
    closing = true;
    client.shutdownNow();
  }
}
