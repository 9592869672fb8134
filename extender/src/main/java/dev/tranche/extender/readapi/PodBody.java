package dev.tranche.extender.readapi;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodDraft;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.extender.watch.PodFields;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayInputStream;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** Reads a posted Pod, in the form in which the API server would store it. */
final class PodBody {
  private static final String ALLOWED =
      "a Pod as the API server would store it: kubectl create -f pod.yaml --dry-run=server -o json";

  private final List<String> resources;

  /**
   * @param resources GPU resources that pods may request
   */
  PodBody(List<String> resources) {
    this.resources = List.copyOf(resources);
  }

  sealed interface Parsed {
    /**
     * @param hasNodePreferences whether the pod has soft preferences among the nodes
     */
    record Valid(PodFacts pod, boolean hasNodePreferences, HostRequest host, PodSelection selection)
        implements Parsed {}

    record Refused(Problem problem) implements Parsed {}
  }

  Parsed parse(Buffer body) {
    Pod pod;
    try {
      pod = Serialization.unmarshal(new ByteArrayInputStream(body.getBytes()), Pod.class);
    } catch (RuntimeException malformed) {
      return refused("body", "", ALLOWED);
    }
    if (pod == null || !"Pod".equals(pod.getKind())) {
      return refused("kind", pod == null ? "" : String.valueOf(pod.getKind()), "Pod; " + ALLOWED);
    }
    if (pod.getSpec() == null
        || pod.getSpec().getContainers() == null
        || pod.getSpec().getContainers().isEmpty()) {
      return refused("spec.containers", "", "one container at least; " + ALLOWED);
    }
    setMissingMetadata(pod);
    try {
      return read(pod);
    } catch (RuntimeException unread) {
      // The API server checks quantities and names; a body from another source may have invalid
      // ones.
      return refused("spec", String.valueOf(unread.getMessage()), ALLOWED);
    }
  }

  private Parsed read(Pod pod) {
    PodFields fields = PodFields.of(pod);
    PodDraft draft = fields.draft();
    Optional<PodFacts> facts = draft.facts(resources);
    if (facts.isEmpty()) {
      String fraction = pod.getMetadata().getAnnotations().get(Names.GPU_FRACTION);
      return fraction == null
          ? refused(
              "spec.containers[].resources",
              "",
              "a request for %s; the pod asks for no GPU".formatted(String.join(" or ", resources)))
          : refused(
              "metadata.annotations[%s]".formatted(Names.GPU_FRACTION),
              fraction,
              "a share that the webhook has turned into a request; send " + ALLOWED);
    }
    return new Parsed.Valid(
        facts.get(), fields.hasNodePreferences(), draft.host(), PodSelection.of(pod));
  }

  /** Fills in missing metadata: a pod created with {@code generateName} has no name yet. */
  private static void setMissingMetadata(Pod pod) {
    if (pod.getMetadata() == null) {
      pod.setMetadata(new ObjectMeta());
    }
    ObjectMeta meta = pod.getMetadata();
    if (meta.getNamespace() == null) {
      meta.setNamespace("default");
    }
    if (meta.getName() == null) {
      meta.setName("what-if");
    }
    if (meta.getUid() == null) {
      meta.setUid(UUID.randomUUID().toString());
    }
  }

  private static Parsed refused(String field, String value, String allowed) {
    return new Parsed.Refused(Problem.badRequest(new Problem.Invalid(field, value, allowed)));
  }
}
