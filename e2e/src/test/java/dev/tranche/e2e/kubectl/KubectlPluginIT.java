package dev.tranche.e2e.kubectl;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.kubectl.FakeCluster.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** {@code kubectl tranche} under each shell that is here; dash and bash are. */
@Tag("slow")
@ParameterizedClass
@MethodSource("shells")
class KubectlPluginIT {
  private static final int OK = 0;
  private static final int FAILED = 1;
  private static final int MISUSED = 2;
  private static final int WAITS = 3;
  private static final int UNKNOWN = 4;
  private static final String GPUS =
      """
          "index" : 0,
          "uuid" : "GPU-c",
          "index" : 1,
          "uuid" : "GPU-a",
          "index" : 2,
          "uuid" : "GPU-b",
      """;

  /** The command, its exit status, and a part of what it writes. */
  private static final String COMMANDS =
      """
      top                                      | 0 | b      1
      top gpus -n team-b                       | 0 | b      1
      top pods -A --output=wide                | 0 | b      1
      explain bound                            | 0 | State:         Bound
      explain -nteam-a pod/waiting             | 3 | Waiting
      explain team-a/waiting                   | 3 | Waiting
      explain -n b team-a/x                    | 2 | another namespace than -n
      explain team-a/A;id                      | 2 | a name of Kubernetes
      explain nobody                           | 4 | nothing is known
      explain broken                           | 1 | the extender failed
      explain                                  | 2 | the pod's name is ""
      explain A;id                             | 2 | allowed: a name of Kubernetes
      explain a b                              | 2 | "b" is one argument too many
      explain deploy/web -n x                  | 2 | explain takes a pod
      ui b                                     | 2 | "b" is one argument too many
      ui --api https://a:9444                  | 2 | ui is only for a cluster that kubectl reaches
      support-bundle b                         | 2 | "b" is one argument too many
      top -n a&b                               | 2 | -n is "a&b"
      what-if --fraction 0.3                   | 0 | Node:          a
      what-if -f pod.yaml                      | 0 | Node:          a
      what-if -fnone.yaml                      | 1 | path "none.yaml" does not exist
      what-if                                  | 2 | -f FILE, --fraction or --memory
      what-if --memory 4Gi                     | 0 | Node:          a
      what-if --fraction 1/3                   | 0 | Node:          a
      what-if --fraction 30%                   | 0 | Node:          a
      what-if --fraction 0.3 --memory 4Gi      | 2 | --fraction cannot go with --memory
      what-if pod.yaml                         | 2 | "pod.yaml" is one argument too many
      what-if -f a --gpus 2                    | 2 | -f cannot go with
      what-if --count 3&x                      | 2 | allowed: letters
      top clouds                               | 2 | not "clouds"
      top waste -n team-b                      | 0 | a      2
      cordon node-a                            | 2 | such as node-a/1; kubectl cordon
      drain node-a/x                           | 2 | allowed: a number
      drain node-a/7 --yes                     | 1 | GPU 7 of node node-a was not found
      top -o csv                               | 2 | table, wide, json
      top -oyaml                               | 2 | pipe json to a YAML tool
      top --file                               | 2 | --file needs a value
      top --fast                               | 2 | there is no option --fast
      dance                                    | 2 | there is no command "dance"
      ''                                       | 2 | kubectl tranche explain POD
      version                                  | 0 | tranche 0.1.0
      check -o json                            | 2 | check has only the output table
      --help                                   | 0 | Exit status: 0
      """;

  @Parameter String shell;
  @TempDir private Path folder;
  private FakeCluster cluster;

  @BeforeEach
  void start() throws Exception {
    cluster = new FakeCluster(shell, folder);
  }

  static Stream<String> shells() {
    return Stream.of("dash", "bash", "bash --posix", "busybox sh", "zsh --emulate sh")
        .filter(shell -> List.of("dash", "bash").contains(shell) || onPath(shell.split(" ")[0]));
  }

  private static boolean onPath(String program) {
    return Stream.of(System.getenv("PATH").split(":"))
        .anyMatch(part -> Files.isExecutable(Path.of(part, program)));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = COMMANDS)
  void command_endsAsDocumented(String words, int status, String expected) throws Exception {
    Ended ended = cluster.run(words.isEmpty() ? new String[0] : words.split(" "));
    assertThat(ended.out() + ended.errors()).contains(expected);
    assertThat(ended.status()).isEqualTo(status);
    if (status == MISUSED) {
      assertThat(cluster.calls()).as("asked before the command line was read").isEmpty();
    }
  }

  @Test
  void optionsForKubectl_arriveAsGiven_andStayOutOfTheLocalRequest() throws Exception {
    cluster.run(
        "--as", "o'brien $(id) x", "top", "pods", "-A", "--context=c 1", "--kubeconfig", "/k");
    assertThat(cluster.calls())
        .anySatisfy(
            call ->
                assertThat(call)
                    .startsWith("--as=o'brien $(id) x --context=c 1 --kubeconfig=/k -n tranche")
                    .endsWith("port-forward --address 127.0.0.1 pod/tranche-extender-1 :9445"));
    assertThat(cluster.calls())
        .filteredOn(call -> call.contains("get --raw"))
        .isNotEmpty()
        .allMatch(
            call -> call.startsWith("--kubeconfig /dev/null --server http://127.0.0.1:40001"));
  }

  /** In each form, scripts learn whether all fit. */
  @Test
  void whatIf_endsByWhetherAllFit() throws Exception {
    cluster.put("foretold", "{\n  \"fits\" : true,\n");
    assertThat(cluster.run("what-if", "--fraction", "1").status()).isEqualTo(OK);
    for (String not : List.of("Fits:          no\n", "{\n  \"fits\" : false,\n")) {
      cluster.put("foretold", not);
      assertThat(cluster.run("what-if", "--fraction", "1").status()).as(not).isEqualTo(WAITS);
    }
    String[] three = {"what-if", "--fraction", "1", "--count", "3"};
    for (String fits :
        List.of(
            "Fits:          3 of 3\n",
            "{\n  \"fits\" : true,\n  \"count\" : {\n    \"requested\" : 3,\n    \"fit\" : 3,\n")) {
      cluster.put("foretold", fits);
      assertThat(cluster.run(three).status()).as(fits).isEqualTo(OK);
    }
    for (String not :
        List.of(
            "Fits:          2 of 3, and perhaps more: the time limit was reached\n",
            "{\n  \"fits\" : true,\n  \"count\" : {\n    \"requested\" : 3,\n    \"fit\" : 2,\n")) {
      cluster.put("foretold", not);
      assertThat(cluster.run(three).status()).as(not).isEqualTo(WAITS);
    }
    cluster.put("refuse-pod", "exceeded quota");
    Ended refused = cluster.run("what-if", "--fraction", "1");
    assertThat(refused.status()).isEqualTo(FAILED);
    assertThat(refused.errors()).contains("exceeded quota");
    cluster.put("refuse-pod", "pods is forbidden: cannot create resource \"pods\"");
    assertThat(cluster.run("what-if", "--fraction", "1").errors())
        .contains("Where you have no right to create pods");
  }

  @Test
  void whatIf_asksForWhatIsSaid() throws Exception {
    cluster.run(
        "what-if",
        "--memory=4Gi",
        "--gpus=2",
        "--model",
        "Tesla T4,!L4",
        "--count",
        "20",
        "-n",
        "team-b",
        "-o",
        "json");
    assertThat(new ObjectMapper().readTree(cluster.read("asked")).at("/metadata/annotations"))
        .hasToString(
            "{\"tranche.dev/gpu-memory\":\"4Gi\",\"tranche.dev/gpu-count\":\"2\","
                + "\"tranche.dev/gpu-model\":\"Tesla T4,!L4\"}");
    assertThat(cluster.calls())
        .anyMatch(call -> call.startsWith("-n team-b create --dry-run=server "))
        .anyMatch(call -> call.contains("--raw /api/v1/what-if?output=json&count=20 -f "));
  }

  @Test
  void whatIf_takesTheTemplateOfAWorkload() throws Exception {
    cluster.put("pod.yaml", "kind: Deployment\nmetadata: {name: a}\n");
    assertThat(cluster.run("what-if", "-f", "pod.yaml").status()).isEqualTo(OK);
    assertThat(new ObjectMapper().readTree(cluster.read("asked")))
        .hasToString(
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"what-if-\","
                + "\"labels\":{\"app\":\"a\"}},\"spec\":{\"containers\":[]}}");
    assertThat(cluster.calls())
        .as("of a manifest with one pod")
        .anyMatch(call -> call.contains("--raw /api/v1/what-if?output=table -f "));
    cluster.put("pod.yaml", "kind: Deployment\nnamespace: team-c\nreplicas: 3\n");
    cluster.run("what-if", "-f", "pod.yaml");
    cluster.run("what-if", "-f", "pod.yaml", "-n", "team-d", "--count", "7");
    assertThat(cluster.calls())
        .anyMatch(call -> call.startsWith("-n team-c create --dry-run=server "))
        .anyMatch(call -> call.contains("--raw /api/v1/what-if?output=table&count=3 -f "))
        .anyMatch(call -> call.startsWith("-n team-d create --dry-run=server "))
        .anyMatch(call -> call.contains("--raw /api/v1/what-if?output=table&count=7 -f "));
  }

  @Test
  void whatIf_movesAPodToTheNamespaceOfTheCommandLine() throws Exception {
    assertThat(cluster.run("what-if", "-f", "pod.yaml", "-n", "team-d").status()).isEqualTo(OK);
    assertThat(new ObjectMapper().readTree(cluster.read("asked")).get("metadata"))
        .hasToString("{\"generateName\":\"what-if-\",\"name\":\"p\",\"namespace\":\"team-d\"}");
  }

  @Test
  void whatIf_answersForEachDocumentThatHasPods() throws Exception {
    cluster.put(
        "pod.yaml",
        """
        # a comment
        ---
        kind: Deployment
        --- # the Service needs no GPU
        kind: Service
        ---
        kind: Pod
        ---
        """);
    Ended both = cluster.run("what-if", "-f", "pod.yaml");
    assertThat(both.errors()).isEmpty();
    assertThat(both.status()).isEqualTo(OK);
    assertThat(both.out().split("Fits:", -1)).hasSize(3);
    assertThat(cluster.read("asked")).contains("\"name\":\"p\"").doesNotContain("Deployment");
    assertThat(cluster.calls().stream().filter(call -> call.contains(" port-forward "))).hasSize(1);
    cluster.put("foretold", "Fits:          no\n");
    assertThat(cluster.run("what-if", "-f", "pod.yaml").status()).isEqualTo(WAITS);
    cluster.put("pod.yaml", "kind: Service\n---\nkind: ConfigMap\n");
    Ended none = cluster.run("what-if", "-f", "pod.yaml");
    assertThat(none.status()).isEqualTo(FAILED);
    assertThat(none.errors()).contains("pod.yaml has Service ConfigMap; allowed: Pods");
  }

  @Test
  void whatIf_saysThatAPodRequestsNoGpu() throws Exception {
    cluster.put("no-gpu", "");
    Ended ended = cluster.run("what-if", "-f", "pod.yaml");
    assertThat(ended.status()).isEqualTo(OK);
    assertThat(ended.out()).startsWith("The pod requests no GPU.");
  }

  @Test
  void cordon_writesTheNodesAnnotation_besideTheOtherGpus() throws Exception {
    cluster.put("page1", GPUS);
    cluster.put("cordoned", "12 GPU-b,GPU-c");
    Ended cordoned = cluster.run("cordon", "node-a/1");
    assertThat(cordoned.errors()).isEmpty();
    assertThat(cordoned.out()).isEqualTo("GPU 1 of node node-a cordoned\n");
    cluster.run("uncordon", "node-a/2");
    cluster.put("cordoned", "13 GPU-b");
    cluster.run("uncordon", "node-a/2");
    String annotate =
        "annotate node node-a --overwrite --resource-version=%s tranche.dev/cordon-gpus";
    assertThat(cluster.calls())
        .contains(
            annotate.formatted(12) + "=GPU-b,GPU-c,GPU-a",
            annotate.formatted(12) + "=GPU-c",
            annotate.formatted(13) + "-");
  }

  @Test
  void drain_showsWhatItEvicts_andRetriesWhatABudgetRefuses() throws Exception {
    cluster.put("page1", GPUS);
    cluster.put("cordoned", "12 ");
    cluster.put("holders", "NAMESPACE   NAME   STATE\nteam-a      web    Bound\n");
    Ended shown = cluster.run("drain", "node-a/1", "--dry-run");
    assertThat(shown.out()).contains("Cordons GPU 1 of node node-a, and evicts:", "web    Bound");
    Ended unanswered = cluster.run("drain", "node-a/1");
    assertThat(unanswered.status()).isEqualTo(FAILED);
    assertThat(unanswered.errors()).contains("nothing was changed");
    assertThat(cluster.calls()).noneMatch(call -> call.matches(".*(annotate|eviction).*"));
    cluster.put("budget", "");
    Ended done = cluster.run("drain", "node-a/1", "--yes");
    assertThat(done.errors()).contains("pod team-a/web: Error from server (TooManyRequests)");
    assertThat(done.out()).endsWith("no pod is known to be on GPU 1 of node node-a\n");
    assertThat(done.status()).isEqualTo(OK);
    assertThat(cluster.calls())
        .anyMatch(call -> call.endsWith("cordon-gpus=GPU-a"))
        .filteredOn(
            call -> call.contains("create --raw /api/v1/namespaces/team-a/pods/web/eviction"))
        .hasSize(2);
  }

  /** The API server deletes a pod that is not on a node without asking its budget. */
  @Test
  void drain_evictsOnlyBoundPods_andNamesThoseThatMayBeOnTheGpu() throws Exception {
    cluster.put("page1", GPUS);
    cluster.put("cordoned", "12 ");
    cluster.put(
        "on-node",
        """
        NAMESPACE   NAME      STATE        NODE     GPU
        team-a      web       Bound        node-a   0
        team-a      new       Bound        node-a   <none>
        team-a      next      Scheduling   node-a   1
        team-a      done      Ended        node-a   <none>
        """);
    Ended ended = cluster.run("drain", "node-a/1", "--yes");
    assertThat(ended.errors()).contains("error: team-a/new team-a/next: it is not known yet");
    assertThat(ended.status()).isEqualTo(FAILED);
    assertThat(cluster.calls())
        .noneMatch(call -> call.contains("/eviction"))
        .filteredOn(call -> call.contains("&gpu="))
        .isNotEmpty()
        .allMatch(call -> call.endsWith("&state=Bound"));
  }

  @Test
  void drain_saysWhyItEnds_ifItCannotListThePods() throws Exception {
    cluster.put("page1", GPUS);
    cluster.put("refuse-pods", "");
    Ended ended = cluster.run("drain", "node-a/1", "--yes");
    assertThat(ended.errors()).contains("cannot list the pods on node node-a: Error from server");
    assertThat(ended.status()).isEqualTo(FAILED);
  }

  @Test
  void historyOfAnUnknownNode_failsAsKubectlWould() throws Exception {
    Ended ended = cluster.run("history", "nonode");
    assertThat(ended.status()).isEqualTo(FAILED);
    assertThat(ended.out()).isEmpty();
    assertThat(ended.errors())
        .isEqualTo("Error from server (NotFound): node nonode was not found\n");
  }

  @Test
  void topOfANamespace_countsItsQuotaInGpus() throws Exception {
    cluster.put("page1", "Namespace:     team-a\nReplicas:      10 per GPU\n");
    cluster.put("quotas", "cpu  \ngpus 15 12\n");
    assertThat(cluster.run("top", "-n", "team-a").out())
        .endsWith("per GPU\nQuota:         1.2 of 1.5 GPUs, by ResourceQuota gpus\n");
    cluster.put("page1", "Namespace:     team-a\n");
    assertThat(cluster.run("top", "-n", "team-a").out())
        .as("where GPUs have different numbers of replicas")
        .endsWith("team-a\nQuota:         12 of 15 replicas, by ResourceQuota gpus\n");
    assertThat(cluster.run("top", "-n", "team-a", "-o", "json").out()).doesNotContain("Quota");
    cluster.remove("quotas");
    assertThat(cluster.run("top", "-n", "team-a").errors()).isEmpty();
  }

  /** The dry run of one pod does not tell whether a quota admits all. */
  @Test
  void whatIf_holdsTheQuotasAgainstAllPods() throws Exception {
    cluster.put("requested", "3 1");
    cluster.put("foretold", "Fits:          5 of 5\n");
    assertThat(cluster.run("what-if", "-f", "pod.yaml", "--count", "5").status())
        .as("of quotas that may not be read")
        .isEqualTo(OK);
    cluster.put("quotas", "cpu  \ngpus 20 4\nlarge 100 0\n");
    Ended four = cluster.run("what-if", "-f", "pod.yaml", "--count", "5");
    assertThat(four.status()).isEqualTo(WAITS);
    assertThat(four.out()).isEqualTo("Fits:          4 of 5, by a ResourceQuota\n");
    assertThat(four.errors())
        .contains(
            "ResourceQuota gpus admits 4 of 5 pods: 4 of 20 requests.nvidia.com/gpu are"
                + " used, and a pod requests 4.")
        .doesNotContain("large");
    cluster.put("foretold", "Fits:          4 of 4\n");
    assertThat(cluster.run("what-if", "-f", "pod.yaml", "--count", "4").status()).isEqualTo(OK);
  }

  @Test
  void pagesOfJson_followEachOther() throws Exception {
    cluster.put("page1", "{\n  \"metadata\" : {\n    \"continue\" : \"c2\"\n  }\n}\n");
    cluster.put("page2", "{ \"items\" : [ ] }\n");
    assertThat(cluster.run("top", "-o", "json").out()).endsWith("}\n{ \"items\" : [ ] }\n");
  }

  @Test
  void whatIsMissing_isSaid() throws Exception {
    cluster.remove("lease");
    Ended leaderless = cluster.run("top");
    assertThat(leaderless.status()).isZero();
    assertThat(leaderless.errors()).contains("the right to get leases");
    cluster.put("refuse-forward", "");
    Ended refused = cluster.run("top");
    assertThat(refused.status()).isEqualTo(FAILED);
    assertThat(refused.errors())
        .contains("cannot forward a port to pod tranche-extender-0", "Role tranche-kubectl")
        .doesNotContain("cannot create resource");
    cluster.put("extenders", "tranche-extender-0 0.1.0 False\n");
    assertThat(cluster.run("top").errors()).contains("no pod of Tranche's extender is ready");
    cluster.put("extenders", "");
    Ended nowhere = cluster.run("top", "--tranche-namespace", "gpu");
    assertThat(nowhere.status()).isEqualTo(FAILED);
    assertThat(nowhere.errors())
        .contains("in the namespace gpu; --tranche-namespace names another");
  }

  @Test
  void tenant_readsTheNamespaceThroughTheApiServer() throws Exception {
    cluster.put("tenant", "");
    cluster.put("aggregated", "");
    for (String words :
        List.of("top", "top pods", "top gpus -n team-b", "explain bound", "history node-a")) {
      Ended ended = cluster.run(words.split(" "));
      assertThat(ended.status()).as(words + ended.errors()).isEqualTo(OK);
      assertThat(ended.errors()).as(words).isEmpty();
    }
    assertThat(cluster.run("explain", "nobody").status()).isEqualTo(UNKNOWN);
    assertThat(cluster.run("what-if", "--fraction", "0.3").status()).isEqualTo(OK);
    String team = "/apis/read.tranche.dev/v1/namespaces/";
    assertThat(cluster.calls())
        .anyMatch(call -> call.endsWith(" " + team + "team-a/summary?output=table"))
        .anyMatch(call -> call.endsWith(team + "team-a/pods?output=table&limit=500&continue=c2"))
        .anyMatch(call -> call.endsWith(team + "team-b/gpus?output=table&limit=500"))
        .anyMatch(call -> call.endsWith(team + "team-a/pods/bound?output=table"))
        .anyMatch(call -> call.endsWith(team + "team-a/history?output=json&node=node-a"))
        .anyMatch(call -> call.contains("create --raw " + team + "team-a/what-if?output=table -f "))
        .noneMatch(call -> call.contains("port-forward"));
  }

  @Test
  void tenant_isToldWhatIsMissing() throws Exception {
    cluster.put("tenant", "");
    Ended off = cluster.run("top", "pods");
    assertThat(off.status()).isEqualTo(FAILED);
    assertThat(off.errors())
        .contains("extender.api.aggregated.enabled=true", "Role tranche-kubectl", "--api https://");
    cluster.put("aggregated", "");
    for (String words : List.of("top nodes", "top pods -A", "ui", "support-bundle")) {
      Ended ended = cluster.run(words.split(" "));
      assertThat(ended.status()).as(words).isEqualTo(FAILED);
      assertThat(ended.errors())
          .as(words)
          .contains("is about all namespaces", "Role tranche-kubectl in the namespace tranche");
    }
    assertThat(cluster.run("version").errors()).contains("Role tranche-kubectl");
  }

  @Test
  void apiWithAToken_isReadWithoutTheUsersCredentials() throws Exception {
    cluster.put("token", "secret-token");
    String url = "https://tranche-extender.tranche.svc:9444/";
    String[] pods = {
      "top", "pods", "--as", "x", "--api", url, "--api-token", "token", "--api-ca=ca.crt"
    };
    Ended ended = cluster.run(pods);
    assertThat(ended.status()).as(ended.errors()).isEqualTo(OK);
    assertThat(ended.out()).contains("b      1");
    assertThat(cluster.calls())
        .anyMatch(
            call ->
                call.startsWith("--kubeconfig /")
                    && call.contains("/direct --user api --server " + url)
                    && call.contains(" --certificate-authority ca.crt get --raw")
                    && call.contains("/namespaces/team-a/pods?output=table"))
        .noneMatch(call -> call.contains("secret-token"))
        .noneMatch(call -> call.contains("port-forward"));
    cluster.run("top", "nodes", "--api=" + url, "--api-token=token");
    assertThat(cluster.calls())
        .anyMatch(call -> call.contains("/direct --") && call.contains(" /api/v1/summary"));
    Ended none = cluster.run("top", "pods", "--api", url, "--api-token", "none");
    assertThat(none.status()).isEqualTo(FAILED);
    assertThat(none.errors()).contains("/none cannot be read");
  }

  /** As kubectl does: scripts that read a table get nothing. */
  @Test
  void emptyList_isSaid() throws Exception {
    cluster.put("page1", "NAMESPACE   NAME   STATE\n");
    Ended here = cluster.run("top", "pods", "-n", "team-b");
    assertThat(here.status()).isZero();
    assertThat(here.out()).isEmpty();
    assertThat(here.errors()).isEqualTo("No resources found in team-b namespace.\n");
    assertThat(cluster.run("top", "pods", "-A").errors()).isEqualTo("No resources found\n");
  }

  /** The extender is away for a while, as during an update. */
  @Test
  void watch_survivesTriesThatFail() throws Exception {
    Process process = cluster.start("kubectl-tranche", "top", "--watch");
    awaitText(process, "out", "NODE");
    cluster.put("extenders", "");
    cluster.put("refuse-lists", "");
    awaitText(process, "errors", "no pod of Tranche's extender is ready");
    cluster.put("extenders", "tranche-extender-0 0.1.0 True\n");
    cluster.put("refuse-forward", "");
    awaitText(process, "errors", "cannot forward a port to pod tranche-extender-0");
    cluster.remove("refuse-forward");
    cluster.put("page1", "NODE   GPUS\nback   1\n");
    cluster.remove("refuse-lists");
    awaitText(process, "out", "back");
    process.destroy();
    assertThat(cluster.end(process).status()).isEqualTo(143);
  }

  private void awaitText(Process process, String file, String text) throws InterruptedException {
    while (!cluster.read(file).contains(text) && process.isAlive()) {
      Thread.sleep(20);
    }
    assertThat(cluster.read(file)).contains(text);
  }

  /** As Ctrl-C and a closed terminal do. */
  @ParameterizedTest
  @CsvSource({"ui --no-open, http://127.0.0.1:40001/", "top --watch, NODE"})
  void commandThatIsEnded_leavesNothingBehind(String command, String shown) throws Exception {
    Process process = cluster.start("kubectl-tranche", command.split(" "));
    awaitText(process, "out", shown);
    assertThat(cluster.forwards()).isTrue();
    process.destroy();
    assertThat(cluster.end(process).status()).isEqualTo(143);
  }

  @Test
  void supportBundle_hasAllThatMayBeRead_andNoToken() throws Exception {
    Ended ended = cluster.run("support-bundle", "--file", "bundle.tar.gz");
    assertThat(ended.status()).as(ended.errors()).isZero();
    assertThat(ended.out()).isEqualTo("bundle.tar.gz\n");
    String content = Shell.run(folder, "tar xzOf bundle.tar.gz").orFail();
    assertThat(content)
        .contains("REDACTED", "NODE   GPUS", "nodes is forbidden")
        .contains("validatingadmissionpolicies -l", "get resourcequotas,priorityclasses -A")
        .doesNotContain("abc123", "eyJ", "c2lnbmF0");
    assertThat(cluster.calls())
        .anyMatch(call -> call.endsWith("/pods/t-extender-0:9090/proxy/metrics"))
        .anyMatch(call -> call.contains(" logs t-node-plugin-0 ") && call.endsWith(" --previous"))
        .anyMatch(call -> call.endsWith("get --raw /api/v1/pods/a/2?output=wide"))
        .anyMatch(call -> call.endsWith("get --raw /api/v1/invariants"))
        .noneMatch(call -> call.contains("secret"));
    assertThat(Files.getPosixFilePermissions(folder.resolve("bundle.tar.gz")))
        .as("others on this machine")
        .hasSize(2);
  }

  @Test
  void completion_offersWhatFits() throws Exception {
    assertThat(cluster.complete("").out()).contains("top\n", "explain\n").endsWith(":4\n");
    assertThat(cluster.complete("s").out()).isEqualTo("support-bundle\n:4\n");
    assertThat(cluster.complete("top", "g").out()).isEqualTo("gpus\n:4\n");
    assertThat(cluster.complete("-n", "team-a", "top", "").out()).contains("nodes\n");
    assertThat(cluster.complete("top", "-o", "").out()).isEqualTo("table\nwide\njson\n:4\n");
    assertThat(cluster.complete("top", "--tr").out())
        .isEqualTo("--tranche-namespace\n--tranche-port\n:4\n");
    assertThat(cluster.complete("support-bundle", "--file", "").out()).isEqualTo(":0\n");
    assertThat(cluster.complete("explain", "").out()).isEqualTo("trainer\n:4\n");
    for (String[] words :
        new String[][] {
          {"-n", "team-b", "explain", ""},
          {"explain", "-n", "team-b", ""},
          {"--namespace=team-b", "explain", ""},
          {"-nteam-b", "explain", ""}
        }) {
      assertThat(cluster.complete(words).out()).isEqualTo("rerank\n:4\n");
    }
    assertThat(cluster.complete("what-if", "--model", "").out())
        .isEqualTo("NVIDIA-L4\nTesla-T4\n:4\n");
  }
}
