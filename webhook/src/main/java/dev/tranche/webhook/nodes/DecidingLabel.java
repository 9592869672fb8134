package dev.tranche.webhook.nodes;

import dev.tranche.api.Names;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A fact of a node for which two programs write a label. The extender writes ours from the node
 * plugin's report, so ours decides. GPU Feature Discovery writes NVIDIA's from its own config,
 * which may be another one. NVIDIA's label counts only on a node without ours: one of an
 * autoscaler's template, or of an extender that is not upgraded yet.
 */
public enum DecidingLabel {
  /** The replicas of each GPU. */
  REPLICAS(Names.LABEL_REPLICAS_PER_GPU, Names.LABEL_REPLICAS),

  /** How the node shares its GPUs. */
  SHARING(Names.LABEL_SHARING_STRATEGY, Names.LABEL_SHARING);

  private final String ours;
  private final String nvidias;

  DecidingLabel(String ours, String nvidias) {
    this.ours = ours;
    this.nvidias = nvidias;
  }

  public String ours() {
    return ours;
  }

  public String nvidias() {
    return nvidias;
  }

  /** Returns the value that decides; null if the node has neither label. */
  public @Nullable String value(Map<String, String> labels) {
    String own = labels.get(ours);
    return own == null ? labels.get(nvidias) : own;
  }
}
