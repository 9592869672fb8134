package dev.tranche.process.settings;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A host and port to listen on or to call. In text, an IPv6 host is in brackets. */
public record HostPort(String host, int port) {
  private static final Pattern TEXT = Pattern.compile("\\[?([^\\[\\]]+)]?:(\\d{1,5})");
  private static final int PORT_MAX = 65_535;

  /** Parses {@code host:port}; empty if malformed. Port 0 asks the system for a free one. */
  public static Optional<HostPort> parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    return matcher.matches() && Integer.parseInt(matcher.group(2)) <= PORT_MAX
        ? Optional.of(new HostPort(matcher.group(1), Integer.parseInt(matcher.group(2))))
        : Optional.empty();
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
