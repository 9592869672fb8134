package dev.tranche.api;

import java.util.Map;
import java.util.OptionalLong;

/**
 * What a pod says about the memory limit that the driver sets on its containers. Without a word,
 * the share is the limit.
 */
public final class LimitRequest {
  /** The bytes of a container that opts out. */
  public static final long NONE = 0;

  /** The annotation's value for {@link #NONE}. */
  public static final String NONE_TEXT = "none";

  private static final long BYTES_MIN = 1L << 20;

  private LimitRequest() {}

  /**
   * Returns what the annotations say about a container: a limit in bytes, or {@link #NONE}. Empty
   * if they say nothing, or nothing that can be read. The container's own annotation counts more
   * than the pod's.
   */
  public static OptionalLong of(Map<String, String> annotations, String container) {
    String own = annotations.get(Names.GPU_MEMORY_LIMIT_OF + container);
    String text = own == null ? annotations.get(Names.GPU_MEMORY_LIMIT) : own;
    return text == null ? OptionalLong.empty() : parse(text);
  }

  /** Parses a value of the annotation; empty unless it is {@code none} or at least 1Mi. */
  public static OptionalLong parse(String value) {
    if (value.length() <= RequestBounds.VALUE_CHARS_MAX && value.strip().equals(NONE_TEXT)) {
      return OptionalLong.of(NONE);
    }
    long bytes = Quantity.memoryBytes(value);
    return bytes < BYTES_MIN ? OptionalLong.empty() : OptionalLong.of(bytes);
  }
}
