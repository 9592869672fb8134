package dev.tranche.process.listen;

/**
 * Limits on the connections of one port.
 *
 * @param connectionsMax from all addresses
 * @param perAddressMax from one address
 * @param loopbackLimited whether 127.0.0.1 is limited
 */
public record ConnectionLimits(int connectionsMax, int perAddressMax, boolean loopbackLimited) {
  /**
   * The limits of a port for probes and Prometheus. It has none for all addresses together: whoever
   * has many could then end the kubelet's connections.
   */
  public static final ConnectionLimits METRICS = new ConnectionLimits(Integer.MAX_VALUE, 16);

  public ConnectionLimits(int connectionsMax, int perAddressMax) {
    this(connectionsMax, perAddressMax, true);
  }

  /**
   * Returns the same limits, but with none for 127.0.0.1. Only processes of our own pod connect
   * from there, and they could do worse than connect often.
   */
  public ConnectionLimits withoutLoopback() {
    return new ConnectionLimits(connectionsMax, perAddressMax, false);
  }
}
