package dev.tranche.extender.http;

import io.vertx.core.http.HttpServerRequest;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;

/**
 * Limits the requests that wait for the loop at once, and the bytes of their bodies. Requests
 * beyond the limits are refused before their body is read. Confined to the loop, except {@link
 * #calls()}.
 */
public final class RequestLimiter {
  /** A Pod is 1.5 MiB at most, and 15,000 node names are about 1 MiB. */
  static final int BODY_BYTES_MAX = 4 << 20;

  /**
   * The most calls at once. kube-scheduler filters one pod at a time; binds run concurrently, and
   * are small.
   */
  static final int CALLS_MAX = 1_024;

  static final int BYTES_MAX = 32 << 20;
  private static final Pattern LENGTH = Pattern.compile("\\d{1,18}");

  /**
   * The time limit for reading the body. The chart's httpTimeout is 10 s, and an answer after that
   * is useless. The rest of that time is for the decision.
   */
  public static final long READ_WITHIN_MS = 5_000;

  private long bytes;

  /** Also read by other threads, unlike the rest. */
  private final AtomicInteger calls = new AtomicInteger();

  /**
   * @param length of the body in bytes
   */
  boolean tryAcquire(long length) {
    if (calls.get() >= CALLS_MAX || bytes + length > BYTES_MAX) {
      return false;
    }
    calls.incrementAndGet();
    bytes += length;
    return true;
  }

  void release(long length) {
    calls.decrementAndGet();
    bytes -= length;
  }

  /** Returns the number of calls under way; may be called on any thread. */
  int calls() {
    return calls.get();
  }

  /** Returns the length of the body in bytes, which its head announces. */
  static long length(HttpServerRequest request) {
    String length = request.getHeader("Content-Length");
    return length != null && LENGTH.matcher(length).matches() ? Long.parseLong(length) : 0;
  }
}
