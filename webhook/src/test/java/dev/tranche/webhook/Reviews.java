package dev.tranche.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.GuardRules;
import dev.tranche.webhook.guard.GuardedPod;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import io.fabric8.zjsonpatch.JsonPatch;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** AdmissionReviews as the API server sends them, and pods made of less. */
public final class Reviews {
  public static final ObjectMapper JSON =
      JsonMapper.builder().enable(JsonReadFeature.ALLOW_SINGLE_QUOTES).build();

  /** Where a pod has the terms of its required node affinity. */
  public static final String TERMS =
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

  /** The chart's: what a node does not state is unknown, and the plugin sets no limits. */
  public static final MutationRules.Memory MEMORY =
      new MutationRules.Memory(640L << 20, 0, new MutationRules.Limits(false, true));

  /** Ten replicas per GPU, and whoever's words. */
  public static final MutationRules RULES = rules(Set.of(SharingSystem.values()));

  private Reviews() {}

  /** The same, but only these others' words. */
  public static MutationRules rules(Set<SharingSystem> dialects) {
    return limits(dialects, MEMORY.limits());
  }

  /** The same, with other rules for memory limits. */
  public static MutationRules limits(Set<SharingSystem> dialects, MutationRules.Limits limits) {
    var memory = new MutationRules.Memory(MEMORY.reserveBytes(), 0, limits);
    return rules(List.of("nvidia.com/gpu"), 10, "tranche-scheduler", "nvidia", memory)
        .with(PlainRequests.REPLICAS, dialects);
  }

  /** With the default memory, and no words but ours. */
  public static MutationRules rules(
      List<String> resources, int replicasPerGpu, String schedulerName, String runtimeClass) {
    return rules(resources, replicasPerGpu, schedulerName, runtimeClass, MEMORY);
  }

  /** No words but ours. */
  public static MutationRules rules(
      List<String> resources,
      int replicasPerGpu,
      String schedulerName,
      String runtimeClass,
      MutationRules.Memory memory) {
    return new MutationRules(
        resources,
        replicasPerGpu,
        schedulerName,
        runtimeClass,
        memory,
        Set.of(),
        PlainRequests.REPLICAS,
        Set.of());
  }

  /**
   * @param assumeDefaultRuntime whether pods that name no RuntimeClass may run with nvidia's
   */
  public static GuardRules guardRules(GuardMode mode, boolean assumeDefaultRuntime) {
    return new GuardRules(
        mode, assumeDefaultRuntime, Set.of(), List.of(), "/var/lib/kubelet", List.of());
  }

  /**
   * @param labels keys, each with its value
   */
  public static GpuNode node(String name, String... labels) {
    return node(name, pairs("", labels));
  }

  /** A node of one model, whose capacity is not known. */
  public static GpuNode node(String name, Map<String, String> labels) {
    return new GpuNode(name, labels, Map.of(), Taints.NONE);
  }

  /** Nodes of all kinds. */
  public static MutationRules.Cluster cluster(GpuNode... nodes) {
    return cluster(List.of(nodes));
  }

  public static MutationRules.Cluster cluster(List<GpuNode> nodes) {
    Map<Boolean, List<GpuNode>> byForeign =
        nodes.stream().collect(Collectors.partitioningBy(GpuNode::isForeign));
    return new MutationRules.Cluster(
        byForeign.get(false), byForeign.get(true), true, node -> Optional.empty(), "");
  }

  public static byte[] bytes(String name) {
    try (var in = Reviews.class.getResourceAsStream("/reviews/" + name + ".json")) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static ObjectNode pod(String name) {
    return (ObjectNode) json(new String(bytes(name), UTF_8)).at("/request/object");
  }

  /** A pod that is about to be created, as the guard gets it. */
  public static GuardedPod created(String namespace, JsonNode pod) {
    return new GuardedPod(namespace, new PodView(pod), MissingNode.getInstance());
  }

  /** Strings may have single quotes. */
  public static JsonNode json(String text) {
    try {
      return JSON.readTree(text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One container, main, with annotations as pairs of key and value. */
  public static ObjectNode annotated(String... annotations) {
    return pod(pairs("tranche.dev/", annotations));
  }

  private static Map<String, String> pairs(String prefix, String... pairs) {
    var map = new LinkedHashMap<String, String>();
    for (int i = 0; i < pairs.length; i += 2) {
      map.put(prefix + pairs[i], pairs[i + 1]);
    }
    return map;
  }

  /** One container, main, that requests GPUs by number. */
  public static ObjectNode plain(int gpus) {
    ObjectNode pod = annotated();
    pod.withObject("/spec/containers/0/resources/limits")
        .put("nvidia.com/gpu", String.valueOf(gpus));
    return pod;
  }

  /** The same pod, with this nodeSelector alone. */
  public static ObjectNode selecting(ObjectNode pod, String label, String value) {
    pod.withObject("/spec").putObject("nodeSelector").put(label, value);
    return pod;
  }

  /** One container, main, with these annotations. */
  public static ObjectNode pod(Map<String, String> annotations) {
    ObjectNode pod =
        (ObjectNode) json("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'main'}]}}");
    ObjectNode map = pod.withObject("/metadata/annotations");
    annotations.forEach(map::put);
    return pod;
  }

  public static JsonNode apply(Mutation mutation, JsonNode pod) {
    return switch (mutation) {
      case Mutation.Admitted(var patch, var warnings) -> JsonPatch.apply(patch, pod);
      case Mutation.Denied(String message, String reason) ->
          throw new AssertionError("denied: " + message);
    };
  }

  /** Whether a pod is admitted as it is. */
  public static boolean changesNothing(Mutation mutation) {
    return mutation instanceof Mutation.Admitted(var patch, var warnings) && patch.isEmpty();
  }

  /** Of the first container. */
  public static String replicas(JsonNode pod) {
    return pod.at("/spec/containers/0/resources/limits").path("nvidia.com/gpu").asText();
  }

  /** One of ours. */
  public static String annotation(JsonNode pod, String name) {
    return pod.at("/metadata/annotations").path("tranche.dev/" + name).asText();
  }

  /** What the pod requires of its node's labels, in the first of its terms. */
  public static List<String> expressions(JsonNode pod) {
    return pod.at(TERMS + "/0/matchExpressions").valueStream().map(JsonNode::toString).toList();
  }

  /** The same pod, of a controller. */
  public static ObjectNode owned(ObjectNode pod, String version, String kind, String name) {
    pod.withArray("/metadata/ownerReferences")
        .addObject()
        .put("apiVersion", version)
        .put("kind", kind)
        .put("name", name)
        .put("uid", "1-2-3")
        .put("controller", true);
    return pod;
  }

  /** The same pod, with one more term of required node affinity. */
  public static ObjectNode requiring(
      ObjectNode pod, String label, String operator, String... values) {
    ObjectNode expression =
        pod.withArray(TERMS)
            .addObject()
            .withArray("matchExpressions")
            .addObject()
            .put("key", label)
            .put("operator", operator);
    if (values.length > 0) {
      List.of(values).forEach(expression.putArray("values")::add);
    }
    return pod;
  }

  /** How many reviews the webhook has counted with these tags. */
  public static double counted(MeterRegistry registry, String... tags) {
    return registry.get("tranche_webhook_admissions").tags(tags).counter().count();
  }

  public static String denial(Mutation mutation) {
    return mutation instanceof Mutation.Denied(String message, String reason)
        ? message
        : "not denied";
  }

  public static List<String> warnings(Mutation mutation) {
    return switch (mutation) {
      case Mutation.Admitted(var patch, var warnings) -> warnings;
      case Mutation.Denied(String message, String reason) ->
          throw new AssertionError("denied: " + message);
    };
  }
}
