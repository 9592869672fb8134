package dev.tranche.extender.watch;

import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.NodeTraits;
import java.util.Map;
import java.util.Optional;

/**
 * The fields of a Node that we read.
 *
 * @param host the allocatable CPU and memory
 * @param labels no others than those that {@link GpuLabels} lists
 * @param labelsAnnotation our annotation that lists which of these labels are ours
 * @param useAnnotation our annotation that shows GPU use to people
 * @param tainted empty if the node has no startup taint
 * @param traits empty if the node has no GPUs
 */
public record WatchedNode(
    String uid,
    String resourceVersion,
    NodeFacts facts,
    HostRequest host,
    Map<String, String> labels,
    String labelsAnnotation,
    String useAnnotation,
    Optional<TaintedNode> tainted,
    Optional<NodeTraits> traits)
    implements WatchedObject {
  @Override
  public String key() {
    return facts.name();
  }
}
