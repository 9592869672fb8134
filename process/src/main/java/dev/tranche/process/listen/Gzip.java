package dev.tranche.process.listen;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a client accepts gzip. Metric series are repetitive and compress to a twentieth.
 */
public final class Gzip {
  private Gzip() {}

  /**
   * @param header the request's {@code Accept-Encoding}
   */
  public static boolean accepted(@Nullable String header) {
    if (header == null) {
      return false;
    }
    for (String coding : header.toLowerCase(Locale.ROOT).split(",", -1)) {
      String[] parts = coding.split(";", -1);
      if (parts[0].strip().equals("gzip")) {
        return parts.length == 1 || !parts[1].strip().matches("q=0(\\.0*)?");
      }
    }
    return false;
  }
}
