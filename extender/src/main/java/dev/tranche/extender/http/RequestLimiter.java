package dev.tranche.extender.http;

import io.vertx.core.http.HttpServerRequest;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Limits the requests that wait for the loop at once. Requests beyond the limits are refused before
 * their body is read. Confined to the loop, except {@link #calls()}.
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

  private final Set<Admission> admitted = Collections.newSetFromMap(new IdentityHashMap<>());
  private long bytes;

  /** Also read by other threads, unlike the rest. */
  private volatile int calls;

  /**
   * A request that has been admitted.
   *
   * @param bytes of its body, as announced
   */
  record Admission(long bytes, long startedNs) {
    boolean isLate(long nowNs) {
      return nowNs - startedNs > TimeUnit.MILLISECONDS.toNanos(READ_WITHIN_MS);
    }
  }

  /** Admits a request; returns null if too many calls or bytes are waiting already. */
  @Nullable Admission admit(HttpServerRequest request, long nowNs) {
    long length = announced(request);
    long announced = length < 0 ? BODY_BYTES_MAX : Math.min(BODY_BYTES_MAX, length);
    if (admitted.size() >= CALLS_MAX || bytes + announced > BYTES_MAX) {
      return null;
    }
    bytes += announced;
    var admission = new Admission(announced, nowNs);
    admitted.add(admission);
    calls = admitted.size();
    return admission;
  }

  /** Ends an admitted request; further calls have no effect. */
  void release(Admission admission) {
    if (admitted.remove(admission)) {
      bytes -= admission.bytes();
      calls = admitted.size();
    }
  }

  /** Returns the number of calls under way; may be called on any thread. */
  int calls() {
    return calls;
  }

  /** Returns the announced length of the body in bytes; negative if it's unknown. */
  static long announced(HttpServerRequest request) {
    String length = request.getHeader("Content-Length");
    return length != null && LENGTH.matcher(length).matches() ? Long.parseLong(length) : -1;
  }
}
