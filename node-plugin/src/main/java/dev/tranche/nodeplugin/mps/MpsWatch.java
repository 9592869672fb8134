package dev.tranche.nodeplugin.mps;

import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Follows whether the control daemon serves what the plugin wants to advertise.
 *
 * <p>If there never was a daemon, the GPUs are advertised whole. If a daemon is lost, they are not:
 * containers hold replicas, and would lose them. Confined to one thread.
 */
public final class MpsWatch {
  /**
   * How long to wait for a daemon. After a boot both pods start at once, and the daemon's takes
   * longer.
   */
  public static final int AWAIT_MS = 10_000;

  private final String node;
  private final LongSupplier clockMs;
  private boolean served;
  // Null until one is needed and does not serve.
  private @Nullable Long awaitedSinceMs;

  /**
   * @param node its name in Kubernetes; may be empty
   * @param clockMs any monotonic clock
   */
  public MpsWatch(String node, LongSupplier clockMs) {
    this.node = node.isEmpty() ? "<node>" : node;
    this.clockMs = clockMs;
  }

  /** Updates the availability from the plugin's plan and the daemons' last status. */
  public MpsAvailability update(MpsPlan wanted, MpsStatus status) {
    if (!wanted.needed()) {
      served = false;
      awaitedSinceMs = null;
      return new MpsAvailability.NotNeeded();
    }
    // A daemon that serves more still has GPUs that the plugin has lost.
    if (status instanceof MpsStatus.Serving(var lines) && lines.containsAll(wanted.lines())) {
      served = true;
      return new MpsAvailability.Serving();
    }
    if (served) {
      return new MpsAvailability.Lost(reason(status));
    }
    long nowMs = clockMs.getAsLong();
    long sinceMs = awaitedSinceMs == null ? nowMs : awaitedSinceMs;
    awaitedSinceMs = sinceMs;
    return nowMs - sinceMs < AWAIT_MS
        ? new MpsAvailability.Awaited()
        : new MpsAvailability.Missing(reason(status));
  }

  private String reason(MpsStatus status) {
    return switch (status) {
      case MpsStatus.None ignored ->
          "sharing.mps needs an MPS control daemon, and none runs on this node. If the node lacks"
              + " the label that brings it, run: kubectl label node "
              + node
              + " nvidia.com/mps.capable=true (tranche.dev/mps-capable=true where GPU Feature"
              + " Discovery sets the former to false). If it has the label, look at the node's pod"
              + " of the DaemonSet tranche-mps-control-daemon: kubectl get pods -A -l"
              + " app.kubernetes.io/component=mps-control-daemon --field-selector spec.nodeName="
              + node;
      case MpsStatus.Failing failing ->
          "the MPS control daemon of this node does not serve: " + failing.reason();
      case MpsStatus.Serving ignored ->
          "the MPS control daemon of this node has not taken over this config yet; if that lasts,"
              + " see the log of the node's pod of the DaemonSet tranche-mps-control-daemon";
    };
  }
}
