package dev.tranche.e2e.bench.attack;

import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudgetBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;

/** Objects that a tenant may create, in its own namespace. */
final class HostilePods {
  private static final int AT_ONCE = 12;
  private static final int CONTAINERS = 55;
  private static final int LABELS = 7_000;
  private static final int NOTE_BYTES = 240_000;

  private final KubernetesClient client;
  private final String namespace;

  HostilePods(KubernetesClient client, String namespace) {
    this.client = client;
    this.namespace = namespace;
  }

  /**
   * {@value #CONTAINERS} containers that ask for a million replicas each, on a node of its choice.
   */
  String millionReplicas(String node) {
    return create(1, i -> millionReplicasOn(node));
  }

  static Pod millionReplicasOn(String node) {
    var pod = PodSpecs.pod("million").editSpec().withNodeName(node).withContainers();
    for (int i = 0; i < CONTAINERS; i++) {
      pod.addToContainers(PodSpecs.container("c" + i, 1_000_000));
    }
    return pod.endSpec().build();
  }

  /** As many labels as an object may have, of different keys. */
  String labels(int pods) {
    return create(pods, i -> waiting(i).editMetadata().withLabels(many(i)).endMetadata().build());
  }

  String notes(int pods) {
    var note = Map.of("tranche.dev/note", "n".repeat(NOTE_BYTES));
    return create(pods, i -> waiting(i).editMetadata().withAnnotations(note).endMetadata().build());
  }

  /** Budgets are the tenants' own, and name as many keys as the pods have labels. */
  String budgets(int budgets) {
    return create(budgets, HostilePods::budget);
  }

  String minimal(int pods) {
    return create(pods, i -> waiting(i).build());
  }

  private static PodDisruptionBudget budget(int number) {
    return new PodDisruptionBudgetBuilder()
        .withNewMetadata()
        .withName("budget" + number)
        .endMetadata()
        .withNewSpec()
        .withMaxUnavailable(new IntOrString(1))
        .withNewSelector()
        .withMatchLabels(many(number))
        .endSelector()
        .endSpec()
        .build();
  }

  private static Map<String, String> many(int of) {
    var labels = new HashMap<String, String>();
    for (int i = 0; i < LABELS; i++) {
      labels.put("p" + of + ".example/label-number-" + i, "value-" + of + "-" + i);
    }
    return labels;
  }

  /** A pod that fits on no node. */
  private static PodBuilder waiting(int number) {
    return PodSpecs.plain("waiting" + number, 1)
        .editSpec()
        .editFirstContainer()
        .editResources()
        .addToRequests("cpu", new Quantity("1000"))
        .endResources()
        .endContainer()
        .endSpec();
  }

  /** Returns how many were created, and why the last other one was refused. */
  private String create(int count, IntFunction<HasMetadata> objects) {
    var created = new AtomicInteger();
    var why = new AtomicReference<>("");
    try (var senders = Executors.newFixedThreadPool(AT_ONCE)) {
      for (int i = 0; i < count; i++) {
        int number = i;
        senders.execute(
            () -> {
              try {
                client.resource(objects.apply(number)).inNamespace(namespace).create();
                created.incrementAndGet();
              } catch (KubernetesClientException refused) {
                why.set(String.valueOf(refused.getMessage()));
              }
            });
      }
    }
    String refusal = why.get();
    return "created %d of %d%s"
        .formatted(
            created.get(),
            count,
            refusal.isEmpty()
                ? ""
                : "; refused: " + refusal.substring(0, Math.min(300, refusal.length())));
  }
}
