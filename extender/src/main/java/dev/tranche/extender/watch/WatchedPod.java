package dev.tranche.extender.watch;

import dev.tranche.extender.ledger.PodDraft;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.score.packing.HostRequest;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A Pod.
 *
 * @param facts empty if it asks for none of our resources
 * @param host what it requests beside them
 * @param unmetShare the annotation that asks for a share which nobody has turned into a request
 * @param matters also others' pods do where pods are packed
 */
public record WatchedPod(
    String key,
    String uid,
    String resourceVersion,
    @Nullable String node,
    boolean ended,
    Optional<PodFacts> facts,
    HostRequest host,
    String scheduler,
    Optional<String> unmetShare,
    boolean matters)
    implements WatchedObject {
  /**
   * @param packs whether what pods request beside GPUs is asked about
   */
  static WatchedPod of(
      PodDraft draft,
      String resourceVersion,
      String scheduler,
      List<String> resources,
      boolean packs) {
    Optional<PodFacts> facts = draft.facts(resources);
    Optional<String> unmetShare = draft.unmetShare(resources);
    boolean matters = packs || facts.isPresent() || unmetShare.isPresent();
    return new WatchedPod(
        draft.key(),
        draft.uid(),
        resourceVersion,
        draft.node(),
        draft.ended(),
        facts,
        matters ? draft.host() : HostRequest.NONE,
        scheduler.intern(),
        unmetShare,
        matters);
  }
}
