package dev.tranche.extender.selection;

/**
 * The reasons why kube-scheduler never offers a node for a pod, in the order in which they are
 * checked.
 */
public enum Exclusion {
  NODE_NAME("spec.nodeName"),
  NODE_SELECTOR("nodeSelector"),
  NODE_AFFINITY("required node affinity"),
  UNSCHEDULABLE("spec.unschedulable of the node"),
  TAINTS("taints not tolerated");

  private final String words;

  Exclusion(String words) {
    this.words = words;
  }

  /** Returns the words that a page shows after "by". */
  public String words() {
    return words;
  }
}
