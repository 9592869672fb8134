package dev.tranche.extender.selection;

/** Why kube-scheduler never offers a node for a pod, in the order in which it is looked for. */
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

  /** As a page has it behind "by". */
  public String words() {
    return words;
  }
}
