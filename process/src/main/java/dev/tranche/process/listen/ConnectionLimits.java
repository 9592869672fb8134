package dev.tranche.process.listen;

/**
 * Limits on the connections of one port.
 *
 * @param connectionsMax served at once, from all addresses
 * @param perAddressMax served at once, from one address
 * @param firstRequestMs from accepting to the head of the first request, the TLS handshake included
 * @param idleMs from one request to the next
 * @param loopbackLimited whether the limit per address also applies to 127.0.0.1
 * @param safeMs for this long after it is served, a connection without an answered request is not
 *     ended for another one of its address; a TLS handshake may take that long
 * @param waitingMax accepted connections that wait until they are served; they cost a socket each
 * @param admittedMax connections whose peer has shown a credential, beside the others
 */
public record ConnectionLimits(
    int connectionsMax,
    int perAddressMax,
    long firstRequestMs,
    long idleMs,
    boolean loopbackLimited,
    long safeMs,
    int waitingMax,
    int admittedMax) {
  private static final String LOOPBACK = "127.0.0.1";

  private static final long FIRST_REQUEST_MS = 10_000;

  /** An API server or a kube-scheduler may keep a connection for long between two requests. */
  private static final long IDLE_MS = 120_000;

  /** A burst of handshakes on a busy machine takes seconds. */
  private static final long SAFE_MS = 3_000;

  /** Without TLS. The kubelet waits a second for the answer to a probe. */
  private static final long PLAIN_SAFE_MS = 250;

  /** A burst of API servers may open a thousand; each waits for a place, not for memory. */
  private static final int WAITING_MAX = 1_024;

  /** The limits of a port for probes and Prometheus. */
  public static final ConnectionLimits METRICS =
      new ConnectionLimits(32, 8, FIRST_REQUEST_MS, IDLE_MS, true, PLAIN_SAFE_MS, 64, 0);

  public ConnectionLimits(int connectionsMax, int perAddressMax, long firstRequestMs, long idleMs) {
    this(connectionsMax, perAddressMax, firstRequestMs, idleMs, true, SAFE_MS, WAITING_MAX, 0);
  }

  public static ConnectionLimits of(int connectionsMax, int perAddressMax) {
    return new ConnectionLimits(connectionsMax, perAddressMax, FIRST_REQUEST_MS, IDLE_MS);
  }

  /**
   * Returns the same limits, but with none per address for 127.0.0.1. Only processes of our own pod
   * connect from there, and they could do worse than connect often.
   */
  public ConnectionLimits withoutLoopback() {
    return new ConnectionLimits(
        connectionsMax,
        perAddressMax,
        firstRequestMs,
        idleMs,
        false,
        safeMs,
        waitingMax,
        admittedMax);
  }

  boolean limited(String address) {
    return loopbackLimited || !LOOPBACK.equals(address);
  }

  /** A quarter of the waiting places remains for others, whatever one address does. */
  int waitingPerAddressMax(String address) {
    return limited(address) ? waitingMax - waitingMax / 4 : waitingMax;
  }
}
