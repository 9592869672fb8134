package dev.tranche.extender.readapi.table;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The formats of an answer. */
public enum Output {
  JSON("application/json"),
  TABLE("text/plain; charset=utf-8"),
  WIDE("text/plain; charset=utf-8");

  public static final List<String> NAMES = Arrays.stream(values()).map(Output::toString).toList();

  private final String mediaType;

  Output(String mediaType) {
    this.mediaType = mediaType;
  }

  /** Finds a format by the name that {@code kubectl -o} takes. */
  public static Optional<Output> of(String name) {
    return Arrays.stream(values()).filter(each -> each.toString().equals(name)).findFirst();
  }

  public String mediaType() {
    return mediaType;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
