package dev.tranche.extender.ledger;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFields.Container;
import dev.tranche.extender.ledger.PodFields.Metadata;
import dev.tranche.extender.ledger.PodFields.Resources;
import dev.tranche.extender.ledger.PodFields.Spec;
import dev.tranche.extender.ledger.PodFields.Status;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Builds pods with few fields. Their uid is their name. */
final class TestPod {
  private final String namespace;
  private final String name;
  private final @Nullable String node;
  private final Map<String, String> labels = new HashMap<>();
  private final Map<String, String> annotations = new HashMap<>();
  private final List<Container> containers = new ArrayList<>();
  private String phase = "";
  private String startTime = "";
  private String deletionTimestamp = "";

  TestPod(String namespace, String name, @Nullable String node) {
    this.namespace = namespace;
    this.name = name;
    this.node = node;
  }

  TestPod container(String container, String replicas) {
    var limits = new Resources(Map.of(Names.RESOURCE, replicas), Map.of());
    containers.add(new Container(container, "", limits, List.of()));
    return this;
  }

  TestPod label(String key, String value) {
    labels.put(key, value);
    return this;
  }

  TestPod annotation(String key, String value) {
    annotations.put(key, value);
    return this;
  }

  TestPod phase(String value) {
    phase = value;
    return this;
  }

  TestPod startedAt(String rfc3339) {
    startTime = rfc3339;
    return this;
  }

  TestPod deletedAt(String rfc3339) {
    deletionTimestamp = rfc3339;
    return this;
  }

  PodFacts facts() {
    var metadata = new Metadata(name, namespace, name, "", deletionTimestamp, labels, annotations);
    var spec =
        new Spec(
            node == null ? "" : node,
            "",
            0,
            containers,
            List.of(),
            Map.of(),
            null,
            List.of(),
            List.of(),
            List.of(),
            null,
            null);
    var status = new Status(phase, startTime, "", List.of());
    return new PodFields(metadata, spec, status)
        .read()
        .facts(List.of(Names.RESOURCE))
        .orElseThrow();
  }
}
