package dev.tranche.extender.http;

import io.vertx.core.http.HttpServerRequest;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How much may wait for the one loop at once: more is refused before its body is read. The loop
 * alone uses it.
 */
public final class RequestLimiter {
  /** A Pod is 1.5 MiB at most, and 15,000 node names are about 1 MiB. */
  static final int BODY_BYTES_MAX = 4 << 20;

  /** kube-scheduler filters one pod at a time; binds run beside it, and are small. */
  static final int CALLS_MAX = 1_024;

  static final int BYTES_MAX = 32 << 20;

  private static final Pattern LENGTH = Pattern.compile("\\d{1,18}");

  /**
   * The chart's httpTimeout is 10 s, and an answer after that is wasted: so long for the body, and
   * the rest for the decision.
   */
  public static final long READ_WITHIN_MS = 5_000;

  private final Set<Pass> inside = Collections.newSetFromMap(new IdentityHashMap<>());
  private long bytes;

  /** Also read by other threads, unlike the rest. */
  private volatile int calls;

  /**
   * One request that has been let in.
   *
   * @param bytes of its body, as announced
   */
  record Pass(long bytes, long startedNs) {
    boolean late(long nowNs) {
      return nowNs - startedNs > TimeUnit.MILLISECONDS.toNanos(READ_WITHIN_MS);
    }
  }

  /** Null when too much waits already. */
  @Nullable Pass enter(HttpServerRequest request, long nowNs) {
    long said = announced(request);
    long announced = said < 0 ? BODY_BYTES_MAX : Math.min(BODY_BYTES_MAX, said);
    if (inside.size() >= CALLS_MAX || bytes + announced > BYTES_MAX) {
      return null;
    }
    bytes += announced;
    var pass = new Pass(announced, nowNs);
    inside.add(pass);
    calls = inside.size();
    return pass;
  }

  /** Once is enough. */
  void leave(Pass pass) {
    if (inside.remove(pass)) {
      bytes -= pass.bytes();
      calls = inside.size();
    }
  }

  /** On any thread. */
  int calls() {
    return calls;
  }

  /** How long a body is to be, in bytes; below 0: that is not said. */
  static long announced(HttpServerRequest request) {
    String length = request.getHeader("Content-Length");
    return length != null && LENGTH.matcher(length).matches() ? Long.parseLong(length) : -1;
  }
}
