package dev.tranche.api.listen;

/**
 * Limits on the connections of one port.
 *
 * @param connectionsMax open at once, from all addresses
 * @param perAddressMax open at once, from one address
 * @param firstRequestMs from accepting to the head of the first request, the TLS handshake included
 * @param idleMs from one request to the next
 * @param loopbackLimited whether the limit per address also applies to 127.0.0.1
 */
public record ConnectionLimits(
    int connectionsMax,
    int perAddressMax,
    long firstRequestMs,
    long idleMs,
    boolean loopbackLimited) {
  private static final String LOOPBACK = "127.0.0.1";

  private static final long FIRST_REQUEST_MS = 10_000;

  /** An API server or a kube-scheduler may keep a connection for long between two requests. */
  private static final long IDLE_MS = 120_000;

  /** The limits of a port for probes and Prometheus. */
  public static final ConnectionLimits METRICS = of(64, 16);

  public ConnectionLimits(int connectionsMax, int perAddressMax, long firstRequestMs, long idleMs) {
    this(connectionsMax, perAddressMax, firstRequestMs, idleMs, true);
  }

  public static ConnectionLimits of(int connectionsMax, int perAddressMax) {
    return new ConnectionLimits(connectionsMax, perAddressMax, FIRST_REQUEST_MS, IDLE_MS);
  }

  /**
   * Returns the same limits, but with none per address for 127.0.0.1. Only processes of our own pod
   * connect from there, and they could do worse than connect often.
   */
  public ConnectionLimits withoutLoopback() {
    return new ConnectionLimits(connectionsMax, perAddressMax, firstRequestMs, idleMs, false);
  }

  boolean limited(String address) {
    return loopbackLimited || !LOOPBACK.equals(address);
  }
}
