package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.NodeEvent;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.http.Recorded;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.stream.FakeNode;
import dev.tranche.process.settings.HostPort;
import io.fabric8.kubernetes.api.model.Binding;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.vertx.core.json.JsonObject;
import io.vertx.grpc.common.GrpcStatus;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The whole process against an API server that remembers, with node plugins that answer. */
final class ExtenderIT {
  private static final String MISSING =
      "tranche_extender_mistaken_pods{mistake=\"GpuShareMissing\"}";

  private static final String NAMESPACE = "gpu";
  private static final long GIB = 1L << 30;
  private final MockCluster cluster = new MockCluster();
  private final KubernetesClient client = cluster.client();
  private final List<Binding> bindings = new CopyOnWriteArrayList<>();
  @AutoClose private RunningExtender running;
  private Extender extender;

  @BeforeEach
  void start() throws Exception {
    acceptBindings();
    node("node-a");
    node("node-b");
    running = new RunningExtender(cluster);
    extender = running.extender;
  }

  @Test
  void node_saysHowItsGpusAreUsed() throws Exception {
    try (var a =
        connect(
            FakeNode.node(
                "node-a",
                FakeNode.gpu("GPU-a0", 0, 90, 2 * GIB),
                FakeNode.gpu("GPU-a1", 1, 10, GIB)))) {
      ready();
      until(() -> !use("node-a").isEmpty());
      assertThat(use("node-a"))
          .matches(
              "0\\.0 of 2 GPUs granted, largest free share \\d+/10, \\d+ replicas free, 50% SM"
                  + " load, 3 of \\d+ GiB memory used, as of .*Z");
      assertThat(use("node-b")).as("a node without GPUs").isEmpty();
    }
  }

  private String use(String node) {
    var annotations = client.nodes().withName(node).get().getMetadata().getAnnotations();
    return annotations == null ? "" : annotations.getOrDefault(Names.GPU_USE, "");
  }

  @Test
  void pod_goesToTheIdleNodeAndItsGpuIsKnownEverywhere() throws Exception {
    try (var a = connect(FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 90, GIB)));
        var b =
            connect(
                FakeNode.node(
                    "node-b",
                    FakeNode.gpu("GPU-b0", 0, 80, GIB),
                    FakeNode.gpu("GPU-b1", 1, 5, GIB)))) {
      ready();
      pod("trainer", 3);
      JsonObject filtered = verb("filter", args("trainer"));
      assertThat(filtered.getString("Error")).isEmpty();
      assertThat(filtered.getJsonArray("NodeNames")).containsExactly("node-a", "node-b");

      var scores = post("prioritize", args("trainer"));
      assertThat(scores).contains("\"Host\":\"node-b\",\"Score\":9");

      assertThat(bind("trainer", "node-b").getString("Error")).isEmpty();
      assertThat(bindings).hasSize(1);
      assertThat(bindings.getFirst().getMetadata().getAnnotations())
          .containsEntry(Names.GPU, "GPU-b1");
      assertThat(bindings.getFirst().getMetadata().getUid()).isEqualTo(uid("trainer"));
      assertThat(b.directives).anyMatch(d -> d.getAssignCount() == 1);

      cluster.carryOut(bindings.getFirst());
      b.report(r -> r.addHoldings(FakeNode.holding("team-a", "trainer", "main", "GPU-b1", 3)));
      until(
          () -> api("gpus?uuid=GPU-b1").contains("\"replicasPerGpu\":10,\"stage\":\"Confirmed\""));
      assertThat(api("pods/team-a/trainer?output=table"))
          .containsPattern("Chosen: +node-b")
          .containsPattern("node-a +\\d");
      assertThat(ops("/metrics"))
          .contains("tranche_extender_gpu_free_replicas{")
          .contains("tranche_extender_verb_duration_seconds_bucket{")
          .contains("tranche_extender_holds{stage=\"confirmed\"} 1");
      assertThat(a.directives).noneMatch(d -> d.getAssignCount() > 0);

      // Asked again, as after a timeout: once is enough.
      assertThat(bind("trainer", "node-b").getString("Error")).isEmpty();
      assertThat(bind("trainer", "node-a").getString("Error")).contains("node-b");
      assertThat(bindings).hasSize(1);
    }
  }

  @Test
  void podFromBeforeTheWebhook_isToldByAnEvent() throws Exception {
    try (var a = connect(FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, GIB)))) {
      ready();
      Pod early = template("early", 3).build();
      early.getMetadata().getAnnotations().remove(Names.REPLICAS_PER_GPU);
      early.getSpec().getContainers().getFirst().setResources(null);
      client.pods().inNamespace("team-a").resource(early).create();
      until(() -> !client.v1().events().inNamespace("team-a").list().getItems().isEmpty());
      var event = client.v1().events().inNamespace("team-a").list().getItems().getFirst();
      assertThat(event.getReason()).isEqualTo("GpuShareMissing");
      assertThat(event.getInvolvedObject().getUid()).isEqualTo(uid("early"));
      assertThat(ops("/metrics")).contains(MISSING + " 1.0");
      client.pods().inNamespace("team-a").withName("early").delete();
      until(() -> ops("/metrics").contains(MISSING + " 0.0"));
      assertThat(a.directives).noneMatch(d -> d.getAssignCount() > 0);
    }
  }

  @Test
  void rejectedPod_isToldWhyAndWokenWhenMemoryEases() throws Exception {
    try (var a = connect(FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, 14 * GIB)))) {
      ready();
      pod("trainer", 3);
      JsonObject filtered = verb("filter", args("trainer"));
      assertThat(filtered.getJsonObject("FailedNodes").getString("node-a"))
          .isEqualTo("the node's GPUs have too little measured free memory");
      assertThat(filtered.getJsonObject("FailedNodes").getString("node-b"))
          .isEqualTo("the node's GPU plugin sends no reports");
      // Told once it has waited for some seconds, in which the node reports on.
      until(
          () ->
              a.reportsOn()
                  && !client.v1().events().inNamespace("team-a").list().getItems().isEmpty());
      assertThat(
              client.v1().events().inNamespace("team-a").list().getItems().getFirst().getMessage())
          .startsWith("Memory: it needs 0.3 of one GPU")
          .contains("gpu 0: 1 free, needs 0.3 of one GPU; measured free memory of 1.8 GiB");
      unschedulable("trainer", "0/2 nodes are available: 1 Insufficient nvidia.com/gpu.");
      assertThat(api("pods/team-a/trainer?output=table"))
          .containsPattern("State: +Waiting")
          .containsPattern("Scheduler: +0/2 nodes")
          .contains("needs 0.3", "Scheduler:");

      // All rejected pods are woken once at first, whatever room there is.
      until(() -> !wokenAt("node-a").isEmpty() || !wokenAt("node-b").isEmpty());
      String before = wokenAt("node-a");
      a.report(r -> r.setGpus(0, FakeNode.gpu("GPU-a0", 0, 5, GIB)));
      until(() -> !wokenAt("node-a").equals(before));
      assertThat(verb("filter", args("trainer")).getJsonArray("NodeNames"))
          .containsExactly("node-a");
    }
  }

  private String wokenAt(String node) {
    Map<String, String> annotations =
        client.nodes().withName(node).get().getMetadata().getAnnotations();
    return annotations == null ? "" : annotations.getOrDefault(Names.RETRY_TIME, "");
  }

  @Test
  void nodeThatDoesNotAcknowledge_getsNoPod() throws Exception {
    try (var a = connect(FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, GIB)))) {
      ready();
      pod("trainer", 3);
      verb("filter", args("trainer"));
      a.deaf();
      assertThat(bind("trainer", "node-a").getString("Error")).contains("did not acknowledge");
      assertThat(bindings).isEmpty();
      until(() -> a.directives.stream().anyMatch(d -> d.getRetractPodUidsCount() == 1));
    }
  }

  @Test
  void nodesEvents_areWritten_andItIsLabelled() throws Exception {
    var report = FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, GIB));
    long now = System.currentTimeMillis();
    report.addEvents(NodeEvent.newBuilder().setId(1).setAtMs(now).setReason("GpuUnhealthy"));
    try (var a = connect(report)) {
      until(
          () -> {
            a.report(r -> r);
            return !client.v1().events().inNamespace("default").list().getItems().isEmpty();
          });
      until(
          () ->
              client
                  .nodes()
                  .withName("node-a")
                  .get()
                  .getMetadata()
                  .getLabels()
                  .containsKey("nvidia.com/gpu.product"));
      var events = client.v1().events().inNamespace("default").list().getItems();
      assertThat(events).hasSize(1);
      assertThat(events.getFirst().getInvolvedObject().getName()).isEqualTo("node-a");
      assertThat(client.nodes().withName("node-a").get().getMetadata().getAnnotations())
          .containsKeys(Names.NODE_LABELS, "example.com/a");
    }
  }

  @Test
  void startupTaint_staysUntilThePluginIsRegistered_andGoesAlone() throws Exception {
    client
        .nodes()
        .withName("node-a")
        .edit(
            n ->
                new NodeBuilder(n)
                    .editOrNewSpec()
                    .addNewTaint("NoSchedule", "example.com/mine", null, "1")
                    .addNewTaint("NoSchedule", Names.STARTUP_TAINT, null, "true")
                    .addNewTaint("NoExecute", Names.STARTUP_TAINT, null, null)
                    .endSpec()
                    .build());
    until(() -> ops("/metrics").contains("tranche_extender_startup_tainted_nodes 1"));
    try (var a =
        connect(FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, GIB)).setRegistered(false))) {
      ready();
      until(() -> ops("/metrics").contains("UUID=\"GPU-a0\""));
      assertThat(client.nodes().withName("node-a").get().getSpec().getTaints()).hasSize(3);
      a.report(r -> r.setRegistered(true));
      until(() -> client.nodes().withName("node-a").get().getSpec().getTaints().size() == 1);
      assertThat(client.nodes().withName("node-a").get().getSpec().getTaints().getFirst().getKey())
          .isEqualTo("example.com/mine");
      until(() -> ops("/metrics").contains("tranche_extender_startup_tainted_nodes 0"));
    }
  }

  @Test
  void reportForAnotherNode_isRefused() throws Exception {
    try (var liar =
        running.connect(
            "token-of-node-a", FakeNode.node("node-b", FakeNode.gpu("GPU-b0", 0, 5, GIB)))) {
      assertThat(liar.ended.get()).startsWith(GrpcStatus.PERMISSION_DENIED.code + " ");
    }
  }

  @Test
  void reportOfMoreThanANodeCanHave_isRefused() throws Exception {
    var report = FakeNode.node("node-a");
    for (int i = 0; i <= 1_024; i++) {
      report.addGpus(FakeNode.gpu("GPU-" + i, i, 5, GIB));
    }
    try (var liar = connect(report)) {
      assertThat(liar.ended.get()).startsWith(GrpcStatus.INVALID_ARGUMENT.code + " ");
    }
    assertThat(ops("/metrics"))
        .contains("tranche_extender_streams_ended_total{cause=\"oversized\"} 1");
  }

  @Test
  void briefReportThatDoesNotFitTheWholeOne_isRefused() throws Exception {
    try (var a = connect(FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, GIB)))) {
      a.write(NodeReport.newBuilder().addReadings(reading()).build());
      a.write(NodeReport.newBuilder().addReadings(reading()).addReadings(reading()).build());
      assertThat(a.ended.get())
          .startsWith(GrpcStatus.INVALID_ARGUMENT.code + " ")
          .contains("2 readings; the last whole one of its stream had 1 GPUs");
      assertThat(ops("/metrics"))
          .contains("tranche_extender_streams_ended_total{cause=\"invalid\"} 1");
      // The end comes after the reports before it: a node without a stream takes no pods.
      until(() -> api("gpus").contains("\"health\":\"Silent\""));
    }
  }

  private static GpuReading.Builder reading() {
    return GpuReading.newBuilder().setLoad(FakeNode.load(50, GIB));
  }

  @Test
  void configLabel_isToldAndFollows() throws Exception {
    try (var a = connect(FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, GIB)))) {
      until(() -> a.directives.stream().anyMatch(d -> d.getConfigName().equals("shared")));
      client
          .nodes()
          .withName("node-a")
          .edit(
              n ->
                  new NodeBuilder(n)
                      .editMetadata()
                      .addToLabels(Names.LABEL_CONFIG, "exclusive")
                      .endMetadata()
                      .build());
      until(() -> a.directives.stream().anyMatch(d -> d.getConfigName().equals("exclusive")));
    }
  }

  @Test
  void requestsOfASchedulerThatSendsWholeNodes_areRefusedAndNameTheOption() throws Exception {
    for (Recorded release : Recorded.releases()) {
      String filter = new String(release.body("filter-node-list"), StandardCharsets.UTF_8);
      assertThat(verb("filter", filter).getString("Error"))
          .as("%s", release)
          .contains("nodeCacheCapable: true");
      String preempt = new String(release.body("preempt-node-list"), StandardCharsets.UTF_8);
      var answer = running.verb("preempt", preempt);
      assertThat(answer.statusCode()).isEqualTo(500);
      assertThat(answer.body()).as("%s", release).contains("nodeCacheCapable: true");
    }
  }

  @Test
  void preempt_namesVictimsThatFreeOneGpu() throws Exception {
    bound("first", "GPU-a0", 8);
    bound("second", "GPU-a1", 8);
    try (var a =
        connect(
            FakeNode.node(
                "node-a", FakeNode.gpu("GPU-a0", 0, 5, GIB), FakeNode.gpu("GPU-a1", 1, 5, GIB)))) {
      ready();
      pod("trainer", 5);
      client.pods().inNamespace("team-a").withName("trainer").edit(this::urgent);
      String args =
          """
          {"Pod":%s,"NodeNameToVictims":null,"NodeNameToMetaVictims":{
            "node-a":{"Pods":[{"UID":"%s"}],"NumPDBViolations":0},
            "node-b":{"Pods":[{"UID":"x"}],"NumPDBViolations":0}}}
          """
              .formatted(
                  Serialization.asJson(
                      client.pods().inNamespace("team-a").withName("trainer").get()),
                  uid("second"));
      until(() -> running.verb("preempt", args).statusCode() == 200);
      JsonObject victims = verb("preempt", args).getJsonObject("NodeNameToMetaVictims");
      assertThat(victims.fieldNames()).containsExactly("node-a");
      assertThat(victims.getJsonObject("node-a").getJsonArray("Pods"))
          .containsExactly(new JsonObject().put("UID", uid("second")));
      assertThat(a.ended).isNotDone();
    }
  }

  private Pod urgent(Pod pod) {
    return new PodBuilder(pod).editSpec().withPriority(100).endSpec().build();
  }

  @Test
  void readiness_saysWhatIsMissing() throws Exception {
    try (var bare = new Extender(config("young", false, "extender-0", ""), client)) {
      bare.start().await();
      var answer = running.get(bare.metricsPort(), "/readyz");
      assertThat(answer.statusCode()).isEqualTo(503);
      assertThat(answer.body())
          .startsWith("Secret gpu/young-extender-tls does not exist; the webhook writes");
    }
  }

  static ExtenderConfig config() {
    return config("tranche", false, "extender-0", "");
  }

  static ExtenderConfig serviceConfig(String identity, String podIp) {
    return config("tranche", true, identity, podIp);
  }

  private static ExtenderConfig config(String name, boolean service, String id, String podIp) {
    return new ExtenderConfig(
        name,
        NAMESPACE,
        id,
        podIp,
        List.of(Names.RESOURCE),
        Policy.LOAD,
        new HostPort("127.0.0.1", 0),
        service,
        false,
        "tranche-scheduler",
        service,
        new HostPort("127.0.0.1", 0),
        new HostPort("127.0.0.1", 0),
        new HostPort("127.0.0.1", 0),
        new HostPort("127.0.0.1", 0),
        new HostPort("127.0.0.1", 0),
        16 << 20,
        "",
        new ExtenderConfig.ServiceAccount(NAMESPACE, "tranche-node-plugin"),
        "",
        2_000,
        15_000,
        30_000,
        dev.tranche.extender.placement.MemoryGuard.ENFORCE,
        0,
        true,
        true,
        true,
        Set.of("kube-system"));
  }

  private FakeNode connect(dev.tranche.api.node.NodeReport.Builder report) throws Exception {
    return running.connect(report);
  }

  private void ready() throws Exception {
    until(() -> ops("/readyz").equals("ready\n"));
  }

  private void acceptBindings() {
    cluster
        .server()
        .expect()
        .post()
        .withPath("/api/v1/namespaces/team-a/pods/trainer/binding")
        .andReply(
            201,
            request -> {
              bindings.add(Serialization.unmarshal(request.getBody().readUtf8(), Binding.class));
              return Map.of("kind", "Status", "apiVersion", "v1", "status", "Success");
            })
        .always();
  }

  private void node(String name) {
    client
        .nodes()
        .resource(
            new NodeBuilder()
                .withNewMetadata()
                .withName(name)
                .addToLabels(Names.LABEL_CONFIG, "shared")
                .addToAnnotations("example.com/a", "b")
                .endMetadata()
                .withNewStatus()
                .addToAllocatable(Names.RESOURCE, new Quantity("20"))
                .endStatus()
                .build())
        .create();
  }

  private void unschedulable(String name, String message) {
    client
        .pods()
        .inNamespace("team-a")
        .withName(name)
        .edit(
            pod ->
                new PodBuilder(pod)
                    .editOrNewStatus()
                    .addNewCondition()
                    .withType("PodScheduled")
                    .withStatus("False")
                    .withMessage(message)
                    .endCondition()
                    .endStatus()
                    .build());
  }

  private void pod(String name, int replicas) {
    client.pods().inNamespace("team-a").resource(template(name, replicas).build()).create();
  }

  private void bound(String name, String uuid, int replicas) {
    PodBuilder pod = template(name, replicas);
    pod.editMetadata().addToAnnotations(Names.GPU, uuid).endMetadata();
    pod.editSpec().withNodeName("node-a").endSpec();
    client.pods().inNamespace("team-a").resource(pod.build()).create();
  }

  static PodBuilder template(String name, int replicas) {
    return new PodBuilder()
        .withNewMetadata()
        .withName(name)
        .withNamespace("team-a")
        .withUid("uid-" + name)
        .addToAnnotations(Names.GPU_FRACTION, "0." + replicas)
        .addToAnnotations(Names.REPLICAS_PER_GPU, "10")
        .endMetadata()
        .withNewSpec()
        .addNewContainer()
        .withName("main")
        .withNewResources()
        .addToLimits(Names.RESOURCE, new Quantity(Integer.toString(replicas)))
        .endResources()
        .endContainer()
        .endSpec();
  }

  /** As kube-scheduler sends it: the pod as the API server has it. */
  private String args(String name) {
    Pod pod = client.pods().inNamespace("team-a").withName(name).get();
    return "{\"Pod\":%s,\"Nodes\":null,\"NodeNames\":[\"node-a\",\"node-b\"]}"
        .formatted(Serialization.asJson(pod));
  }

  private JsonObject bind(String name, String node) throws Exception {
    return verb(
        "bind",
        "{\"PodName\":\"%s\",\"PodNamespace\":\"team-a\",\"PodUID\":\"%s\",\"Node\":\"%s\"}"
            .formatted(name, uid(name), node));
  }

  private String uid(String pod) {
    return client.pods().inNamespace("team-a").withName(pod).get().getMetadata().getUid();
  }

  private JsonObject verb(String verb, String body) throws Exception {
    return new JsonObject(post(verb, body));
  }

  private String post(String verb, String body) throws Exception {
    HttpResponse<String> answer = running.verb(verb, body);
    assertThat(answer.statusCode()).isEqualTo(200);
    return answer.body();
  }

  private String api(String path) throws Exception {
    return running.get(extender.apiLocalPort(), "/api/v1/" + path).body();
  }

  private String ops(String path) throws Exception {
    return running.get(extender.metricsPort(), path).body();
  }
}
