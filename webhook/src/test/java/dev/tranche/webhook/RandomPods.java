package dev.tranche.webhook;

import static dev.tranche.webhook.Reviews.JSON;
import static dev.tranche.webhook.Reviews.json;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.nodes.GpuNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.random.RandomGenerator;

/** Pods that people and their tools write, and what other webhooks make of them. */
final class RandomPods {
  private static final List<String> KEYS =
      List.of(
          "tranche.dev/gpu-fraction",
          "tranche.dev/gpu-fraction",
          "tranche.dev/gpu-fraction.main",
          "tranche.dev/gpu-fraction.init",
          "tranche.dev/gpu-memory",
          "tranche.dev/gpu-count",
          "tranche.dev/gpu-container",
          "tranche.dev/gpu-model",
          "tranche.dev/gpu-memory.side",
          "tranche.dev/gpu-placement",
          "gpu-fraction",
          "gpu-memory",
          "nvidia.com/use-gputype",
          "nvidia.com/vgpu-mode",
          "mine");

  private static final List<String> VALUES =
      List.of(
          "0.5",
          "1/3",
          "25%",
          "1",
          "2",
          "4Gi",
          "900Mi",
          "main",
          "Tesla-T4",
          "mps",
          "0",
          "half",
          "load");

  private static final List<String> VARIABLES =
      List.of(
          "{'name':'A','value':'1'}",
          "{'name':'B','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}}",
          "{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}",
          "{'name':'NVIDIA_VISIBLE_DEVICES','value':'void'}",
          "{'name':'NVIDIA_VISIBLE_DEVICES','value':'GPU-1'}",
          "{'name':'NVIDIA_VISIBLE_DEVICES','valueFrom':{'configMapKeyRef':{'name':'m','key':'k'}}}",
          "{'name':'NVIDIA_IMEX_CHANNELS','value':'0'}",
          "{'name':'NVIDIA_NVSWITCH','value':'none'}",
          "{'name':'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT','value':'0=4G'}");

  private static final List<String> TERMS =
      List.of(
          "[{'matchExpressions':[{'key':'zone','operator':'In','values':['a']}]}]",
          "[{'matchExpressions':[{'key':'zone','operator':'Exists'}]},{'matchFields':[{'key':'metadata.name','operator':'In','values':['n1']}]}]",
          "[{}]");

  private final RandomGenerator random;

  RandomPods(RandomGenerator random) {
    this.random = random;
  }

  ObjectNode pod() {
    ObjectNode pod = JSON.createObjectNode();
    ObjectNode metadata = pod.putObject("metadata").put("name", "p");
    if (random.nextInt(4) > 0) {
      ObjectNode annotations = metadata.putObject("annotations");
      for (int i = random.nextInt(3); i >= 0; i--) {
        annotations.put(pick(KEYS), pick(VALUES));
      }
    }
    ObjectNode spec = pod.putObject("spec");
    containers(
        spec.putArray("containers"),
        random.nextBoolean() ? List.of("main") : List.of("main", "side"));
    if (random.nextInt(3) == 0) {
      containers(spec.putArray("initContainers"), List.of("init"));
    }
    if (random.nextInt(3) == 0) {
      spec.put("schedulerName", pick(List.of("default-scheduler", "kai-scheduler")));
    }
    if (random.nextInt(4) == 0) {
      spec.put("hostPID", true);
    }
    if (random.nextInt(3) == 0) {
      spec.putObject("affinity")
          .putObject("nodeAffinity")
          .putObject("requiredDuringSchedulingIgnoredDuringExecution")
          .set("nodeSelectorTerms", json(pick(TERMS)));
    }
    return pod;
  }

  private void containers(ArrayNode list, List<String> names) {
    for (String name : names) {
      ObjectNode container = list.addObject().put("name", name);
      if (name.equals("init") && random.nextBoolean()) {
        container.put("restartPolicy", "Always");
      }
      if (random.nextInt(2) == 0) {
        ObjectNode limits = container.putObject("resources").putObject("limits").put("cpu", "1");
        limits.put("nvidia.com/gpu", pick(List.of("1", "1", "2", "5")));
        if (random.nextInt(4) == 0) {
          limits.put("nvidia.com/gpumem", "4096");
        }
        // As the API server defaults them.
        ((ObjectNode) container.path("resources")).set("requests", limits.deepCopy());
      }
      var env = new ArrayList<JsonNode>();
      for (int i = random.nextInt(4); i > 0; i--) {
        JsonNode variable = json(pick(VARIABLES));
        if (env.stream().noneMatch(e -> e.path("name").equals(variable.path("name")))) {
          env.add(variable);
        }
      }
      if (!env.isEmpty()) {
        container.putArray("env").addAll(env);
      }
      if (random.nextInt(6) == 0) {
        container
            .putArray("volumeMounts")
            .add(json("{'name':'v','mountPath':'/var/run/nvidia-container-devices/all'}"))
            .add(json("{'name':'w','mountPath':'/data'}"));
      }
    }
  }

  List<GpuNode> nodes() {
    var nodes = new ArrayList<GpuNode>();
    for (int i = random.nextInt(4); i > 0; i--) {
      var labels = new HashMap<String, String>();
      labels.put("tranche.dev/replicas-per-gpu", pick(List.of("4", "10")));
      if (random.nextInt(4) > 0) {
        labels.put("nvidia.com/gpu.memory", pick(List.of("15360", "81920")));
        labels.put("nvidia.com/gpu.product", pick(List.of("Tesla-T4", "H100")));
        labels.put("nvidia.com/gpu.count", "8");
        labels.put("tranche.dev/sharing-strategy", pick(List.of("mps", "time-slicing")));
        labels.put("zone", "a");
      }
      nodes.add(Reviews.node("n" + i, labels));
    }
    return nodes;
  }

  /**
   * Changes a pod as a webhook of others does.
   *
   * @param number which one, since two do not add containers of the same name
   */
  JsonNode injected(JsonNode before, int number) {
    ObjectNode pod = before.deepCopy();
    ObjectNode spec = (ObjectNode) pod.path("spec");
    ObjectNode first = (ObjectNode) spec.path("containers").path(0);
    switch (random.nextInt(7)) {
      case 0 ->
          ((ArrayNode) spec.path("containers"))
              .insert(
                  0,
                  json("{'name':'%s'}".formatted(number == 0 ? "istio-proxy" : "proxy" + number)));
      case 1 ->
          ((ArrayNode) spec.path("containers"))
              .add(
                  json(
                      "{'name':'agent%d','env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]}"
                          .formatted(number)));
      case 2 ->
          spec.withArray("initContainers").insert(0, json("{'name':'wait%d'}".formatted(number)));
      case 3 ->
          spec.withArray("initContainers")
              .addObject()
              .put("name", "native" + number)
              .put("restartPolicy", "Always");
      case 4 -> {
        ObjectNode copy =
            spec.withArray("initContainers").insertObject(0).put("name", "preflight" + number);
        if (first.has("resources")) {
          copy.set("resources", first.path("resources").deepCopy());
        }
      }
      case 5 -> {
        // Some copy what the limits say, and some the requests.
        String section = pick(List.of("limits", "requests"));
        ObjectNode copy =
            spec.withArray("initContainers").addObject().put("name", "check" + number);
        if (first.at("/resources/" + section).has("nvidia.com/gpu")) {
          JsonNode gpus = first.at("/resources/" + section + "/nvidia.com~1gpu");
          copy.withObject("/resources/limits").set("nvidia.com/gpu", gpus);
        }
      }
      default ->
          first
              .withArray("env")
              .insert(0, json("{'name':'INJECTED_%d','value':'1'}".formatted(number)));
    }
    return pod;
  }

  /** A pod as it would be if its manifest were applied to it again. */
  JsonNode appliedAgain(JsonNode live, JsonNode manifest) {
    boolean inOrderOfManifest = random.nextBoolean();
    ObjectNode pod = live.deepCopy();
    manifest
        .at("/metadata/annotations")
        .forEachEntry((key, value) -> pod.withObject("/metadata/annotations").set(key, value));
    ObjectNode spec = (ObjectNode) pod.path("spec");
    for (String field : List.of("schedulerName", "hostPID")) {
      if (manifest.path("spec").has(field)) {
        spec.set(field, manifest.path("spec").path(field));
      }
    }
    String terms =
        "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    if (!manifest.path("spec").at(terms).isMissingNode()) {
      ((ObjectNode) spec.at(terms.substring(0, terms.lastIndexOf('/'))))
          .set("nodeSelectorTerms", manifest.path("spec").at(terms));
    }
    for (String list : List.of("containers", "initContainers")) {
      for (int i = 0; i < manifest.path("spec").path(list).size(); i++) {
        ObjectNode container = (ObjectNode) spec.path(list).path(i);
        JsonNode stated = manifest.path("spec").path(list).path(i);
        // Requests that equal the limits are seldom stated.
        stated
            .at("/resources/limits")
            .forEachEntry(
                (key, value) -> container.withObject("/resources/limits").set(key, value));
        if (random.nextBoolean()) {
          stated
              .at("/resources/requests")
              .forEachEntry(
                  (key, value) -> container.withObject("/resources/requests").set(key, value));
        }
        merge(container, stated, "env", "name", inOrderOfManifest);
        merge(container, stated, "volumeMounts", "mountPath", inOrderOfManifest);
      }
    }
    return pod;
  }

  private static void merge(
      ObjectNode container, JsonNode stated, String list, String key, boolean inOrderOfManifest) {
    if (!stated.has(list)) {
      return;
    }
    var merged = new ArrayList<JsonNode>();
    JsonNode first = inOrderOfManifest ? stated.path(list) : container.path(list).deepCopy();
    JsonNode second = inOrderOfManifest ? container.path(list).deepCopy() : stated.path(list);
    for (JsonNode element : first) {
      merged.add(find(stated.path(list), key, element, element));
    }
    for (JsonNode element : second) {
      if (merged.stream().noneMatch(m -> m.path(key).equals(element.path(key)))) {
        merged.add(element);
      }
    }
    container.putArray(list).addAll(merged);
  }

  private static JsonNode find(JsonNode in, String key, JsonNode like, JsonNode otherwise) {
    return in.valueStream()
        .filter(e -> e.path(key).equals(like.path(key)))
        .findFirst()
        .orElse(otherwise);
  }

  private String pick(List<String> of) {
    return of.get(random.nextInt(of.size()));
  }
}
