package dev.tranche.e2e.bench.attack;

import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Tranche;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * What an attacker has: pods on a node, and a namespace.
 *
 * @param node where the attacker's pods run
 * @param minimalPods how many pods the attacker lets wait at most
 */
record Field(Tranche tranche, Parts parts, String node, String namespace, int minimalPods) {
  /** Pods of an attacker, each with an address. */
  static final int FEW = 16;

  /** More than a port takes connections. */
  static final int MANY = 140;

  private static final int FIRST_ADDRESS = 110;

  HostilePods pods() {
    return new HostilePods(tranche.client(), namespace);
  }

  String idle(int seconds) throws InterruptedException {
    Thread.sleep(Duration.ofSeconds(seconds));
    return "";
  }

  /**
   * @param part all of its pods are attacked
   * @param connections to each of them
   * @param pods how many pods' addresses the connections have; 0: the node's
   */
  String flood(String how, String part, int port, int connections, int seconds, int pods)
      throws IOException {
    String from = pods == 0 ? "0.0.0.0" : String.join(",", give(addresses(pods)));
    String[] kind = how.split(" ");
    var command = new ArrayList<>(List.of("nsenter", "--target", pid(), "--net", "--"));
    command.addAll(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Flood.class.getName()));
    command.addAll(
        List.of(kind[0], kind[1], String.join(",", parts.addresses(part)), Integer.toString(port)));
    command.addAll(List.of(Integer.toString(connections), Integer.toString(seconds), from));
    command.add(token());
    return Shell.run(new ProcessBuilder(command).redirectErrorStream(true)).output().strip();
  }

  /** Of the same range as the node's pods. */
  private List<String> addresses(int count) {
    String pod = parts.addresses("webhook").getFirst();
    String range = pod.substring(0, pod.lastIndexOf('.') + 1);
    return IntStream.range(FIRST_ADDRESS, FIRST_ADDRESS + count)
        .mapToObj(last -> range + last)
        .toList();
  }

  /** Those that the node has already stay. */
  private List<String> give(List<String> addresses) {
    String script =
        "for a in %s; do ip addr add $a/32 dev lo; done; true"
            .formatted(String.join(" ", addresses));
    tranche.cluster().exec(node, "sh", "-c", script);
    return addresses;
  }

  private String pid() throws IOException {
    String label = "label=dev.tranche.e2e.cluster=" + tranche.cluster().name();
    String container =
        Arrays.stream(Shell.docker("ps", "-q", "--filter", label).split("\n"))
            .findFirst()
            .orElseThrow();
    return Shell.docker("inspect", "-f", "{{.State.Pid}}", container);
  }

  /** The token of a node, for a node's port. */
  private String token() {
    return tranche
        .cluster()
        .kubectl(
            "-n",
            Tranche.NAMESPACE,
            "create",
            "token",
            "tranche-node-plugin",
            "--audience=tranche-extender",
            "--bound-object-kind=Pod",
            "--bound-object-name="
                + tranche.parts("node-plugin").getFirst().getMetadata().getName())
        .orFail("a token")
        .strip();
  }
}
