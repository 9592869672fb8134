package dev.tranche.e2e.kubectl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.kubectl.FakeCluster.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** {@code kubectl tranche} under each shell that is here; dash and bash are. */
@Tag("slow")
class KubectlPluginIT {
  private static final int OK = 0;
  private static final int FAILED = 1;
  private static final int MISUSED = 2;
  private static final int WAITS = 3;
  private static final int UNKNOWN = 4;

  @TempDir private Path folder;

  static Stream<String> shells() {
    return Stream.of("dash", "bash", "bash --posix", "busybox sh", "zsh --emulate sh")
        .filter(shell -> List.of("dash", "bash").contains(shell) || onPath(shell.split(" ")[0]));
  }

  private static boolean onPath(String program) {
    return Stream.of(System.getenv("PATH").split(":"))
        .anyMatch(part -> Files.isExecutable(Path.of(part, program)));
  }

  static Stream<Arguments> commands() {
    return shells()
        .flatMap(
            shell ->
                Stream.of(
                    arguments(shell, "top", OK, "NODE   GPUS\na      2\nb      1\n"),
                    arguments(shell, "top gpus -n team-b", OK, "b      1"),
                    arguments(shell, "top pods -A --output=wide", OK, "b      1"),
                    arguments(shell, "explain bound", OK, "State:         Bound"),
                    arguments(shell, "explain -nteam-a pod/waiting", WAITS, "Waiting"),
                    arguments(shell, "explain team-a/waiting", WAITS, "Waiting"),
                    arguments(shell, "explain -n b team-a/x", MISUSED, "another namespace than -n"),
                    arguments(shell, "explain team-a/A;id", MISUSED, "a name of Kubernetes"),
                    arguments(shell, "explain nobody", UNKNOWN, "nothing is known"),
                    arguments(shell, "explain broken", FAILED, "the extender failed"),
                    arguments(shell, "explain", MISUSED, "needs the name of a pod"),
                    arguments(shell, "explain A;id", MISUSED, "allowed: a name of Kubernetes"),
                    arguments(shell, "explain a b", MISUSED, "\"b\" is one argument too many"),
                    arguments(shell, "explain deploy/web -n x", MISUSED, "explain takes a pod"),
                    arguments(shell, "ui b", MISUSED, "\"b\" is one argument too many"),
                    arguments(shell, "support-bundle b", MISUSED, "\"b\" is one argument too"),
                    arguments(shell, "top -n a&b", MISUSED, "-n is \"a&b\""),
                    arguments(shell, "what-if --fraction 0.3", OK, "Node:          a"),
                    arguments(shell, "what-if -f pod.yaml", OK, "Node:          a"),
                    arguments(
                        shell, "what-if -fnone.yaml", FAILED, "path \"none.yaml\" does not exist"),
                    arguments(shell, "what-if", MISUSED, "-f FILE, --fraction or --memory"),
                    arguments(shell, "what-if --memory 4Gi", OK, "Node:          a"),
                    arguments(shell, "what-if --fraction 1/3", OK, "Node:          a"),
                    arguments(shell, "what-if --fraction 30%", OK, "Node:          a"),
                    arguments(
                        shell,
                        "what-if --fraction 0.3 --memory 4Gi",
                        MISUSED,
                        "--fraction cannot go with --memory"),
                    arguments(shell, "what-if pod.yaml", MISUSED, "-f names a manifest"),
                    arguments(shell, "what-if -f a --gpus 2", MISUSED, "-f cannot go with"),
                    arguments(shell, "what-if --fraction 0,3", MISUSED, "a part of a GPU"),
                    arguments(shell, "what-if --count few", MISUSED, "allowed: a number"),
                    arguments(shell, "top clouds", MISUSED, "not \"clouds\""),
                    arguments(shell, "top -o csv", MISUSED, "table, wide, json"),
                    arguments(shell, "top -oyaml", MISUSED, "-o json and pipe it to a YAML tool"),
                    arguments(shell, "top --file", MISUSED, "--file needs a value"),
                    arguments(shell, "top --fast", MISUSED, "there is no option --fast"),
                    arguments(shell, "dance", MISUSED, "there is no command \"dance\""),
                    arguments(shell, "", MISUSED, "kubectl tranche explain POD"),
                    arguments(shell, "version", OK, "tranche " + FakeCluster.version()),
                    arguments(shell, "check -o json", MISUSED, "check has only the output table"),
                    arguments(shell, "--help", OK, "Exit status: 0")));
  }

  @ParameterizedTest
  @MethodSource("commands")
  void command_endsAsDocumented(String shell, String words, int status, String expected)
      throws Exception {
    var cluster = new FakeCluster(shell, folder);
    Ended ended = cluster.run(words.isEmpty() ? new String[0] : words.split(" "));
    assertThat(ended.out() + ended.errors()).contains(expected);
    assertThat(ended.status()).isEqualTo(status);
    if (status == MISUSED) {
      assertThat(cluster.calls()).as("asked before the command line was read").isEmpty();
    }
  }

  @ParameterizedTest
  @MethodSource("shells")
  void optionsForKubectl_arriveAsGiven_andStayOutOfTheLocalRequest(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    cluster.run(
        "--as", "o'brien $(id) x", "top", "pods", "-A", "--context=c 1", "--kubeconfig", "/k");
    assertThat(cluster.calls())
        .anySatisfy(
            call ->
                assertThat(call)
                    .startsWith("--as=o'brien $(id) x --context=c 1 --kubeconfig=/k -n tranche")
                    .endsWith("port-forward --address 127.0.0.1 pod/e-1 :9445"));
    assertThat(cluster.calls())
        .filteredOn(call -> call.contains("get --raw"))
        .isNotEmpty()
        .allMatch(
            call -> call.startsWith("--kubeconfig /dev/null --server http://127.0.0.1:40001"));
  }

  /** In each form, scripts learn whether all fit. */
  @ParameterizedTest
  @MethodSource("shells")
  void whatIf_endsByWhetherAllFit(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    for (String fits :
        List.of(
            "Fits:          3 of 3\n",
            "{\n  \"fits\" : true,\n",
            "{\n  \"fits\" : true,\n  \"count\" : {\n    \"requested\" : 3,\n    \"fit\" : 3,\n")) {
      cluster.put("foretold", fits);
      assertThat(cluster.run("what-if", "--fraction", "1").status()).as(fits).isEqualTo(OK);
    }
    for (String not :
        List.of(
            "Fits:          no\n",
            "Fits:          2 of 3, and perhaps more: the time limit was reached\n",
            "{\n  \"fits\" : true,\n  \"count\" : {\n    \"requested\" : 3,\n    \"fit\" : 2,\n",
            "{\n  \"fits\" : false,\n")) {
      cluster.put("foretold", not);
      assertThat(cluster.run("what-if", "--fraction", "1").status()).as(not).isEqualTo(WAITS);
    }
    cluster.put("refuse-pod", "exceeded quota");
    Ended refused = cluster.run("what-if", "--fraction", "1");
    assertThat(refused.status()).isEqualTo(FAILED);
    assertThat(refused.errors()).contains("exceeded quota").doesNotContain("dry run");
    cluster.put("refuse-pod", "pods is forbidden: cannot create resource \"pods\"");
    assertThat(cluster.run("what-if", "--fraction", "1").errors())
        .contains("needs the right to create pods there");
  }

  @ParameterizedTest
  @MethodSource("shells")
  void whatIf_asksForWhatIsSaid(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
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

  @ParameterizedTest
  @MethodSource("shells")
  void whatIf_takesTheTemplateOfAWorkload(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
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

  @ParameterizedTest
  @MethodSource("shells")
  void whatIf_movesAPodToTheNamespaceOfTheCommandLine(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    assertThat(cluster.run("what-if", "-f", "pod.yaml", "-n", "team-d").status()).isEqualTo(OK);
    assertThat(new ObjectMapper().readTree(cluster.read("asked")).get("metadata"))
        .hasToString("{\"generateName\":\"what-if-\",\"name\":\"p\",\"namespace\":\"team-d\"}");
  }

  @ParameterizedTest
  @MethodSource("shells")
  void whatIf_answersForEachDocumentThatHasPods(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
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

  @ParameterizedTest
  @MethodSource("shells")
  void whatIf_saysThatAPodRequestsNoGpu(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    cluster.put("no-gpu", "");
    Ended ended = cluster.run("what-if", "-f", "pod.yaml");
    assertThat(ended.status()).isEqualTo(OK);
    assertThat(ended.out()).startsWith("The pod requests no GPU.");
  }

  /** The dry run of one pod does not tell whether a quota admits all. */
  @ParameterizedTest
  @MethodSource("shells")
  void whatIf_holdsTheQuotasAgainstAllPods(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
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

  @ParameterizedTest
  @MethodSource("shells")
  void pagesOfJson_followEachOther(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    cluster.put("page1", "{\n  \"metadata\" : {\n    \"continue\" : \"c2\"\n  }\n}\n");
    cluster.put("page2", "{ \"items\" : [ ] }\n");
    assertThat(cluster.run("top", "-o", "json").out()).endsWith("}\n{ \"items\" : [ ] }\n");
  }

  @ParameterizedTest
  @MethodSource("shells")
  void whatIsMissing_isSaid(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    cluster.remove("lease");
    Ended leaderless = cluster.run("top");
    assertThat(leaderless.status()).isZero();
    assertThat(leaderless.errors()).contains("the right to get leases");
    cluster.put("refuse-forward", "");
    Ended refused = cluster.run("top");
    assertThat(refused.status()).isEqualTo(FAILED);
    assertThat(refused.errors())
        .contains("cannot forward a port to pod e-0", "Role tranche-kubectl")
        .doesNotContain("cannot create resource");
    cluster.put("extenders", "e-0 tranche 0.1.0 False\n");
    assertThat(cluster.run("top").errors()).contains("no pod of Tranche's extender is ready");
    cluster.put("extenders", "");
    Ended nowhere = cluster.run("top", "--tranche-namespace", "gpu");
    assertThat(nowhere.status()).isEqualTo(FAILED);
    assertThat(nowhere.errors())
        .contains("in the namespace gpu; --tranche-namespace names another");
  }

  @ParameterizedTest
  @MethodSource("shells")
  void tenant_readsTheNamespaceThroughTheApiServer(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
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
        .anyMatch(call -> call.endsWith(team + "team-a/history?node=node-a"))
        .anyMatch(call -> call.contains("create --raw " + team + "team-a/what-if?output=table -f "))
        .noneMatch(call -> call.contains("port-forward"));
  }

  @ParameterizedTest
  @MethodSource("shells")
  void tenant_isToldWhatIsMissing(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
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
          .contains("shows all namespaces", "Role tranche-kubectl in the namespace tranche");
    }
    assertThat(cluster.run("version").errors()).contains("Role tranche-kubectl");
  }

  @ParameterizedTest
  @MethodSource("shells")
  void apiWithAToken_isReadWithoutTheUsersCredentials(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
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
                    && call.contains("/direct get --raw")
                    && call.contains("/namespaces/team-a/pods?output=table"))
        .noneMatch(call -> call.contains("secret-token"))
        .noneMatch(call -> call.contains("port-forward"));
    cluster.run("top", "nodes", "--api=" + url, "--api-token=token");
    assertThat(cluster.calls())
        .anyMatch(call -> call.contains("/direct get --raw /api/v1/summary"));
    Ended none = cluster.run("top", "pods", "--api", url, "--api-token", "none");
    assertThat(none.status()).isEqualTo(FAILED);
    assertThat(none.errors()).contains("/none cannot be read");
    assertThat(cluster.run("top", "--api", "http://x y").status()).isEqualTo(MISUSED);
  }

  /** As kubectl does: scripts that read a table get nothing. */
  @ParameterizedTest
  @MethodSource("shells")
  void emptyList_isSaid(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    cluster.put("page1", "NAMESPACE   NAME   STATE\n");
    Ended here = cluster.run("top", "pods", "-n", "team-b");
    assertThat(here.status()).isZero();
    assertThat(here.out()).isEmpty();
    assertThat(here.errors()).isEqualTo("No resources found in team-b namespace.\n");
    assertThat(cluster.run("top", "pods", "-A").errors()).isEqualTo("No resources found\n");
  }

  /** The extender is away for a while, as during an update. */
  @ParameterizedTest
  @MethodSource("shells")
  void watch_survivesTriesThatFail(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    Process process = cluster.start("kubectl-tranche", "top", "--watch");
    awaitText(cluster, process, "out", "NODE");
    cluster.put("extenders", "");
    cluster.put("refuse-lists", "");
    awaitText(cluster, process, "errors", "no pod of Tranche's extender is ready");
    cluster.put("extenders", "e-0 tranche 0.1.0 True\n");
    cluster.put("refuse-forward", "");
    awaitText(cluster, process, "errors", "cannot forward a port to pod e-0");
    cluster.remove("refuse-forward");
    cluster.put("page1", "NODE   GPUS\nback   1\n");
    cluster.remove("refuse-lists");
    awaitText(cluster, process, "out", "back");
    process.destroy();
    assertThat(cluster.end(process).status()).isEqualTo(143);
  }

  private static void awaitText(FakeCluster cluster, Process process, String file, String text)
      throws InterruptedException {
    while (!cluster.read(file).contains(text) && process.isAlive()) {
      Thread.sleep(20);
    }
    assertThat(cluster.read(file)).contains(text);
  }

  /** As Ctrl-C and a closed terminal do. */
  @ParameterizedTest
  @MethodSource("shells")
  void commandThatIsEnded_leavesNothingBehind(String shell) throws Exception {
    for (String command : List.of("ui --no-open", "top --watch")) {
      var cluster = new FakeCluster(shell, folder);
      Process process = cluster.start("kubectl-tranche", command.split(" "));
      while (cluster.read("out").isEmpty() && process.isAlive()) {
        Thread.sleep(20);
      }
      assertThat(cluster.forwards()).isTrue();
      process.destroy();
      assertThat(cluster.end(process).status()).isEqualTo(143);
      assertThat(cluster.read("out"))
          .startsWith(command.startsWith("ui") ? "http://127.0.0.1:40001/\n" : "NODE");
    }
  }

  @ParameterizedTest
  @MethodSource("shells")
  void supportBundle_hasAllThatMayBeRead_andNoToken(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
    Ended ended = cluster.run("support-bundle", "--file", "bundle.tar.gz");
    assertThat(ended.status()).as(ended.errors()).isZero();
    assertThat(ended.out()).isEqualTo("bundle.tar.gz\n");
    String content = Shell.run(folder, "tar xzOf bundle.tar.gz").orFail();
    assertThat(content)
        .contains("REDACTED", "NODE   GPUS", "nodes is forbidden")
        .contains("validatingadmissionpolicies -l", "get resourcequotas -A")
        .doesNotContain("abc123", "eyJ", "c2lnbmF0");
    assertThat(cluster.calls())
        .anyMatch(call -> call.endsWith("/pods/e-0:9090/proxy/metrics"))
        .anyMatch(call -> call.endsWith("get --raw /api/v1/pods/a/2?output=wide"))
        .anyMatch(call -> call.endsWith("get --raw /api/v1/invariants"))
        .noneMatch(call -> call.contains("secret"));
    assertThat(Files.getPosixFilePermissions(folder.resolve("bundle.tar.gz")))
        .as("others on this machine")
        .hasSize(2);
  }

  @ParameterizedTest
  @MethodSource("shells")
  void completion_offersWhatFits(String shell) throws Exception {
    var cluster = new FakeCluster(shell, folder);
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

  @Test
  void version_isTheCharts() throws Exception {
    String chart = Files.readString(Path.of("../charts/tranche/Chart.yaml"));
    String plugin = Files.readString(FakeCluster.PLUGIN.resolve("kubectl-tranche"));
    String version = chart.replaceAll("(?s).*appVersion: (\\S+).*", "$1");
    assertThat(plugin).contains("\nversion=" + version + "\n");
  }

  @Test
  void release_isReproducible_andItsManifestNamesTheArchive() throws Exception {
    for (String into : List.of("one", "two")) {
      Process release =
          new ProcessBuilder(
                  FakeCluster.PLUGIN.resolve("release.sh").toString(),
                  "1.2.3",
                  "https://example.com/downloads",
                  folder.resolve(into).toString())
              .inheritIO()
              .start();
      assertThat(release.waitFor()).isZero();
    }
    byte[] archive = Files.readAllBytes(folder.resolve("one/kubectl-tranche-1.2.3.tar.gz"));
    assertThat(Files.readAllBytes(folder.resolve("two/kubectl-tranche-1.2.3.tar.gz")))
        .isEqualTo(archive);
    var sum =
        java.util.HexFormat.of()
            .formatHex(java.security.MessageDigest.getInstance("SHA-256").digest(archive));
    assertThat(Files.readString(folder.resolve("one/tranche.yaml")))
        .contains("version: v1.2.3\n", "sha256: " + sum + "\n")
        .contains("uri: https://example.com/downloads/kubectl-tranche-1.2.3.tar.gz\n")
        .doesNotContain("@");
  }
}
