package dev.tranche.extender.verb;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.api.Names;
import dev.tranche.extender.verb.Preempt.VictimUids;
import dev.tranche.extender.verb.PreemptionScene.Node;
import dev.tranche.extender.verb.PreemptionScene.Pod;
import dev.tranche.process.Programs;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** kube-scheduler's own code, in a process that answers a line for a line. */
final class SchedulerDryRun implements AutoCloseable {
  private static final String HOSTNAME = "kubernetes.io/hostname";
  private static final String NAMESPACE = "ns";
  private static final int FIRST_PORT = 10_000;

  private final Process process;
  private final BufferedWriter questions;
  private final BufferedReader answers;

  private SchedulerDryRun(Process process) {
    this.process = process;
    this.questions = process.outputWriter(UTF_8);
    this.answers = process.inputReader(UTF_8);
  }

  /** Builds the program first if its sources are new. */
  static SchedulerDryRun start() throws IOException, InterruptedException {
    Path script = Path.of("..", "e2e", "stand-in", "dry-run.sh").toAbsolutePath().normalize();
    String program = Programs.output(script.toString()).strip();
    return new SchedulerDryRun(
        new ProcessBuilder(program, NAMESPACE)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start());
  }

  /**
   * @param fits the nodes on which the default plugins let the pod run
   * @param victims of the others, as far as an eviction there helps
   */
  record Offer(Set<String> fits, Map<String, VictimUids> victims) {}

  Offer offer(List<Node> nodes, Pod pod, Predicate<Pod> present) {
    JsonObject answer = ask(question(nodes, pod, present));
    var victims = new HashMap<String, VictimUids>();
    for (Map.Entry<String, Object> of : answer.getJsonObject("victims")) {
      var each = (JsonObject) of.getValue();
      List<String> uids =
          each.getJsonArray("uids").stream().map(String::valueOf).collect(Collectors.toList());
      victims.put(of.getKey(), new VictimUids(uids, each.getLong("violations")));
    }
    return new Offer(
        answer.getJsonArray("fits").stream().map(String::valueOf).collect(Collectors.toSet()),
        victims);
  }

  boolean lets(Node node, Pod pod, Predicate<Pod> present) {
    return offer(List.of(node), pod, present).fits().contains(node.name());
  }

  /** Returns the node that it chooses among those of an extender's answer. */
  String choice(List<Node> nodes, Pod pod, Map<String, VictimUids> kept) {
    var of = new JsonObject();
    kept.forEach(
        (node, victims) ->
            of.put(
                node,
                new JsonObject()
                    .put("uids", new JsonArray(victims.uids()))
                    .put("violations", victims.violations())));
    return ask(question(nodes, pod, each -> true).put("kept", of)).getString("chosen");
  }

  private static JsonObject question(List<Node> nodes, Pod pod, Predicate<Pod> present) {
    var of = new JsonArray();
    var pods = new JsonArray();
    for (Node node : nodes) {
      of.add(json(node));
      node.pods().stream()
          .filter(present)
          .map(SchedulerDryRun::json)
          .peek(each -> each.getJsonObject("spec").put("nodeName", node.name()))
          .forEach(pods::add);
    }
    var budgets = new JsonArray();
    nodes.getFirst().budgets().forEach((group, allowed) -> budgets.add(budget(group, allowed)));
    return new JsonObject()
        .put("nodes", of)
        .put("pods", pods)
        .put("budgets", budgets)
        .put("pod", json(pod));
  }

  private JsonObject ask(JsonObject question) {
    try {
      questions.write(question.encode());
      questions.newLine();
      questions.flush();
      String answer = answers.readLine();
      if (answer == null) {
        throw new IOException("the program ended at " + question);
      }
      return new JsonObject(answer);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static JsonObject json(Node node) {
    var allocatable =
        new JsonObject()
            .put("cpu", node.cpu() + "m")
            .put("memory", node.memory() + "Mi")
            .put("pods", Integer.toString(node.podsMax()))
            .put(Names.RESOURCE, Integer.toString(node.gpus() * PreemptionScene.REPLICAS));
    var metadata =
        new JsonObject()
            .put("name", node.name())
            .put("labels", new JsonObject().put(HOSTNAME, node.name()));
    return new JsonObject()
        .put("metadata", metadata)
        .put("status", new JsonObject().put("allocatable", allocatable));
  }

  private static JsonObject json(Pod pod) {
    var spec =
        new JsonObject()
            .put("priority", pod.priority())
            .put("containers", new JsonArray().add(container(pod)));
    if (pod.apart() > 0) {
      spec.put("affinity", apartFrom(pod.apart()));
    }
    var metadata =
        new JsonObject()
            .put("name", pod.uid())
            .put("namespace", NAMESPACE)
            .put("uid", pod.uid())
            .put("labels", group(pod.group()));
    if (pod.deletionAtMs() > 0) {
      metadata.put("deletionTimestamp", Instant.ofEpochMilli(pod.deletionAtMs()).toString());
    }
    // Whole seconds: the API has no others.
    var status =
        new JsonObject().put("startTime", Instant.ofEpochSecond(pod.startedAtMs()).toString());
    return new JsonObject().put("metadata", metadata).put("spec", spec).put("status", status);
  }

  private static JsonObject container(Pod pod) {
    var requests = new JsonObject().put("cpu", pod.cpu() + "m").put("memory", pod.memory() + "Mi");
    var resources = new JsonObject().put("requests", requests);
    if (pod.replicas() > 0) {
      String replicas = Integer.toString(pod.replicas());
      requests.put(Names.RESOURCE, replicas);
      resources.put("limits", new JsonObject().put(Names.RESOURCE, replicas));
    }
    var container = new JsonObject().put("name", "main").put("resources", resources);
    if (pod.port() > 0) {
      var port =
          new JsonObject().put("containerPort", 9000).put("hostPort", FIRST_PORT + pod.port());
      container.put("ports", new JsonArray().add(port));
    }
    return container;
  }

  private static JsonObject group(int group) {
    return new JsonObject().put(PreemptionScene.GROUP, Integer.toString(group));
  }

  private static JsonObject selector(int group) {
    return new JsonObject().put("matchLabels", group(group));
  }

  private static JsonObject budget(int group, int allowed) {
    return new JsonObject()
        .put("metadata", new JsonObject().put("name", "of-" + group).put("namespace", NAMESPACE))
        .put("spec", new JsonObject().put("selector", selector(group)))
        .put("status", new JsonObject().put("disruptionsAllowed", allowed));
  }

  private static JsonObject apartFrom(int group) {
    var term = new JsonObject().put("topologyKey", HOSTNAME).put("labelSelector", selector(group));
    var required =
        new JsonObject()
            .put("requiredDuringSchedulingIgnoredDuringExecution", new JsonArray().add(term));
    return new JsonObject().put("podAntiAffinity", required);
  }

  @Override
  public void close() throws IOException, InterruptedException {
    questions.close();
    process.waitFor();
  }
}
