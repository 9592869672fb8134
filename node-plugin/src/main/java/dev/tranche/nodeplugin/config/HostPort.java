package dev.tranche.nodeplugin.config;

import java.util.Optional;

/** Where to listen or to call; an IPv6 host stands in brackets in text. */
public record HostPort(String host, int port) {
  private static final int PORT_MAX = 65_535;

  /** Empty if malformed. Port 0 asks the system for a free one. */
  public static Optional<HostPort> parse(String text) {
    int colon = text.lastIndexOf(':');
    if (colon <= 0 || !text.substring(colon + 1).matches("\\d{1,5}")) {
      return Optional.empty();
    }
    String host = text.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    }
    int port = Integer.parseInt(text.substring(colon + 1));
    return port > PORT_MAX ? Optional.empty() : Optional.of(new HostPort(host, port));
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
