package dev.tranche.extender.readapi;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodFields;
import dev.tranche.extender.ledger.ReadPod;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.process.client.KubernetesJson;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * Reads a posted Pod, in the form in which the API server would store it.
 *
 * @param resources GPU resources that pods may request
 */
record PodBody(List<String> resources) {
  private static final String ALLOWED =
      "a Pod as the API server would store it: kubectl create -f pod.yaml --dry-run=server -o json";

  /** Several times the fields of the largest pods. A tree node costs up to 130 bytes of memory. */
  static final int TOKENS_MAX = 50_000;

  private static final JsonMapper JSON =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder().maxTokenCount(TOKENS_MAX).build())
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  /** What of a posted pod counts. */
  record PostedPod(PodFacts pod, HostRequest host, PodSelection selection) {}

  /**
   * @param view a namespace to which the pod has to belong, unless all are shown
   */
  Parsed<PostedPod> parse(Buffer body, View view) {
    JsonNode pod;
    try {
      pod = JSON.readTree(body.getBytes());
    } catch (StreamConstraintsException large) {
      return Parsed.refused("body", String.valueOf(large.getOriginalMessage()), ALLOWED);
    } catch (IOException malformed) {
      return Parsed.refused("body", "", ALLOWED);
    }
    String kind = pod.path("kind").asText("");
    if (!kind.equals("Pod")) {
      return Parsed.refused("kind", kind, "Pod; " + ALLOWED);
    }
    if (pod.path("spec").path("containers").isEmpty()) {
      return Parsed.refused("spec.containers", "", "one container at least; " + ALLOWED);
    }
    try {
      return read(pod, view);
    } catch (JsonProcessingException | RuntimeException unread) {
      // The API server checks quantities and names; a body from another source may have invalid
      // ones.
      return Parsed.refused("spec", String.valueOf(unread.getMessage()), ALLOWED);
    }
  }

  private static void putIfAbsent(ObjectNode object, String field, String value) {
    if (!object.hasNonNull(field)) {
      object.put(field, value);
    }
  }

  private Parsed<PostedPod> read(JsonNode pod, View view) throws JsonProcessingException {
    String reviewed = view.namespace().orElse("default");
    ObjectNode metadata = pod.withObject("/metadata");
    String namespace = metadata.path("namespace").asText(reviewed);
    if (view.namespace().isPresent() && !namespace.equals(reviewed)) {
      return Parsed.refused(
          "metadata.namespace", namespace, reviewed + ", the namespace of the path");
    }
    putIfAbsent(metadata, "namespace", namespace);
    // A pod created with generateName has no name yet.
    putIfAbsent(metadata, "name", "what-if");
    if (view.namespace().isPresent()) {
      // With the uid of another tenant's pod the answer would be as if it were gone.
      metadata.remove("uid");
    }
    putIfAbsent(metadata, "uid", UUID.randomUUID().toString());
    ReadPod read = KubernetesJson.MAPPER.treeToValue(pod, PodFields.class).read();
    Optional<PodFacts> facts = read.facts(resources);
    if (facts.isEmpty()) {
      String fraction = metadata.path("annotations").path(Names.GPU_FRACTION).asText("");
      return fraction.isEmpty()
          ? Parsed.refused(
              "spec.containers[].resources",
              "",
              "a request for %s; the pod requests no GPU".formatted(String.join(" or ", resources)))
          : Parsed.refused(
              "metadata.annotations[%s]".formatted(Names.GPU_FRACTION),
              fraction,
              "a share that the webhook has converted to a request; send " + ALLOWED);
    }
    var selection = KubernetesJson.MAPPER.treeToValue(pod.path("spec"), PodSelection.class);
    return new Parsed.Valid<>(new PostedPod(facts.get(), read.host(), selection));
  }
}
