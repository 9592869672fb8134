package dev.tranche.extender.watch;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodFields;
import dev.tranche.extender.ledger.ReadPod;
import dev.tranche.extender.score.packing.HostRequest;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a Pod that we read.
 *
 * @param facts empty if the pod requests none of our resources
 * @param host the CPU and memory that the pod requests
 * @param group the PodGroup that the pod is in, {@code namespace/name}; empty if it is in none
 * @param unmetShare the annotation that asks for a share, if nothing has turned it into a request
 * @param tracked under policy {@code packed}, also true for pods that request none of our resources
 */
public record WatchedPod(
    String key,
    String uid,
    @Nullable String node,
    boolean ended,
    Optional<PodFacts> facts,
    HostRequest host,
    String scheduler,
    String group,
    Optional<String> unmetShare,
    boolean tracked)
    implements WatchedObject {
  /**
   * @param needsHostRequests whether the CPU and memory that pods request are needed, for policy
   *     {@code packed}
   */
  static WatchedPod of(PodFields pod, List<String> resources, boolean needsHostRequests) {
    ReadPod read = pod.read();
    Optional<PodFacts> facts = read.facts(resources);
    Optional<String> unmetShare = read.unmetShare(resources);
    boolean tracked = needsHostRequests || facts.isPresent() || unmetShare.isPresent();
    return new WatchedPod(
        read.key(),
        read.uid(),
        read.node(),
        read.ended(),
        facts,
        tracked ? read.host() : HostRequest.NONE,
        pod.scheduler().intern(),
        pod.group(),
        unmetShare,
        tracked);
  }
}
