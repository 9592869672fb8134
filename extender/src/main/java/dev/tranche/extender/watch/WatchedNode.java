package dev.tranche.extender.watch;

import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.NodeTraits;
import java.util.Map;
import java.util.Optional;

/**
 * A Node.
 *
 * @param host what it has beside GPUs
 * @param labels those that {@link GpuLabels} is about
 * @param written our annotation about them
 * @param use our annotation for people
 * @param tainted with a startup taint
 * @param traits of a node with GPUs
 */
public record WatchedNode(
    String uid,
    String resourceVersion,
    NodeFacts facts,
    HostRequest host,
    Map<String, String> labels,
    String written,
    String use,
    Optional<TaintedNode> tainted,
    Optional<NodeTraits> traits)
    implements WatchedObject {
  @Override
  public String key() {
    return facts.name();
  }

  @Override
  public boolean matters() {
    return true;
  }
}
