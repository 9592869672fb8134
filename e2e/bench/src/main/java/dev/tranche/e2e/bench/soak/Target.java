package dev.tranche.e2e.bench.soak;

import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Namespaces;
import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** What faults strike: a cluster, its parts and its nodes. */
final class Target {
  private static final int SHOWN_WITHIN_S = 30;
  private static final String STATE_FOLDER = "/var/lib/tranche";
  private static final List<String> CERTIFICATES =
      List.of("tranche-webhook-tls", "tranche-extender-tls");
  private static final String EMPTY_CERTIFICATE = "{\"data\":{\"tls.crt\":\"\",\"tls.key\":\"\"}}";

  final Tranche tranche;
  final PodWatch watch;
  final Churn churn;

  /** Of the fault that strikes. */
  private Random random = new Random();

  private final List<String> stopped = new ArrayList<>();
  private int namespaces;

  Target(Tranche tranche, PodWatch watch, Churn churn) {
    this.tranche = tranche;
    this.watch = watch;
    this.churn = churn;
  }

  /** Starts another fault's choices, however often an earlier fault had to be tried. */
  void choose(long seed) {
    random = new Random(seed);
  }

  String server() {
    return tranche.nodes().getFirst();
  }

  String node() {
    return tranche.nodes().get(random.nextInt(tranche.nodes().size()));
  }

  NodeGpus gpus(String node) {
    return tranche.gpus(node);
  }

  /** Returns the extender that decides, by its Lease. */
  Pod leader() {
    String holder =
        tranche
            .client()
            .leases()
            .inNamespace(Tranche.NAMESPACE)
            .withName("tranche-scheduler")
            .get()
            .getSpec()
            .getHolderIdentity();
    return tranche.parts("extender").stream()
        .filter(pod -> holder.startsWith(pod.getMetadata().getName()))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no extender is the leader " + holder));
  }

  Pod any(String part) {
    List<Pod> pods = tranche.parts(part);
    return pods.get(random.nextInt(pods.size()));
  }

  /** Kills a pod's program, and returns once its process is gone. */
  String kill(Pod pod, String program) throws IOException {
    String pid = pid(pod, program);
    PodProcesses.signal(pid, "KILL");
    Await.until("process " + pid + " to end", SHOWN_WITHIN_S, () -> !PodProcesses.exists(pid));
    return "process %s of pod %s has ended".formatted(pid, pod.getMetadata().getName());
  }

  /** Stops a pod's program until {@link #goOn}. */
  String freeze(Pod pod, String program) throws IOException {
    String pid = pid(pod, program);
    PodProcesses.signal(pid, "STOP");
    stopped.add(pid);
    Await.until("process " + pid + " to stop", SHOWN_WITHIN_S, () -> PodProcesses.isStopped(pid));
    return "process %s of pod %s is stopped".formatted(pid, pod.getMetadata().getName());
  }

  void goOn() throws IOException {
    for (String pid : stopped) {
      PodProcesses.signal(pid, "CONT");
    }
    stopped.clear();
  }

  /** Sends a signal to a node's own program; it must be there. */
  String signal(String node, String program, String signal) {
    tranche
        .cluster()
        .exec(node, "pkill", "-" + signal, "-f", "^%s( |$)".formatted(program))
        .orFail("sending %s to %s of %s".formatted(signal, program, node));
    return "%s of node %s got the signal %s".formatted(program, node, signal);
  }

  /** Drops what an extender answers to nodes, until {@link #connect}; it still hears them. */
  String disconnect(Pod extender) throws IOException {
    rule("-I", pid(extender, "java"));
    return "pod %s reaches no node".formatted(extender.getMetadata().getName());
  }

  void connect() throws IOException {
    for (Pod extender : tranche.parts("extender")) {
      for (String pid : PodProcesses.onHost(extender, "java")) {
        // One rule for each time that it was struck.
        boolean had = true;
        while (had) {
          had = rule("-D", pid);
        }
      }
    }
  }

  private static boolean rule(String action, String pid) throws IOException {
    return Shell.run(
                "nsenter --target %s --net iptables %s OUTPUT -p tcp --sport 9443 -j DROP"
                    .formatted(pid, action))
            .status()
        == 0;
  }

  String loseGpu(String node) {
    watch.fails(gpus(node).uuid(0));
    gpus(node).setLost(0, true);
    awaitAllocatable(node, (gpus(node).count() - 1) * Tranche.REPLICAS_PER_GPU);
    watch.unhealthy(gpus(node).uuid(0));
    return "node %s offers the replicas of its other GPU only".formatted(node);
  }

  void returnGpus() {
    for (String node : tranche.nodes()) {
      watch.healthy(gpus(node).uuid(0));
      gpus(node).setLost(0, false);
      gpus(node).hang("nvmlDeviceGetMemoryInfo_v2", false);
      gpus(node).idle();
    }
  }

  String xid(String node) {
    watch.fails(gpus(node).uuid(0));
    gpus(node).xid(0, 94);
    awaitAllocatable(node, (gpus(node).count() - 1) * Tranche.REPLICAS_PER_GPU);
    return "node %s offers the replicas of its other GPU only".formatted(node);
  }

  private void awaitAllocatable(String node, int replicas) {
    Await.until(
        "%s to offer %d replicas".formatted(node, replicas),
        2 * SHOWN_WITHIN_S,
        () -> Integer.valueOf(replicas).equals(tranche.allocatable().get(node)));
  }

  /**
   * Lets a node plugin start without its files on a full disk, until {@link #restoreStateFolders}.
   */
  String fillStateFolder(String node) throws IOException {
    onNode(node, "mount -t tmpfs -o size=64k tmpfs %s".formatted(STATE_FOLDER));
    onNode(
        node,
        "! dd if=/dev/zero of=%1$s/filler bs=1k && test -s %1$s/filler".formatted(STATE_FOLDER));
    kill(plugin(node), "java");
    return "the state folder of node %s is full".formatted(node);
  }

  /** The plugins find the state from before the fault, which may have been tried more than once. */
  void restoreStateFolders() throws IOException {
    for (String node : tranche.nodes()) {
      if (onNode(node, "while umount -l %s 2>/dev/null; do echo was; done".formatted(STATE_FOLDER))
          .contains("was")) {
        // A plugin that is about to start finds the folder without being killed.
        for (String pid : PodProcesses.onHost(plugin(node), "java")) {
          PodProcesses.signal(pid, "KILL");
        }
      }
    }
  }

  private Pod plugin(String node) {
    return tranche.parts("node-plugin").stream()
        .filter(pod -> node.equals(pod.getSpec().getNodeName()))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("node " + node + " has no plugin now"));
  }

  private String onNode(String node, String script) {
    return tranche.cluster().exec(node, "sh", "-c", script).orFail(script);
  }

  /** Empties the Secrets of the serving certificates, and returns once they have others. */
  String replaceCertificates() {
    for (String name : CERTIFICATES) {
      String before = certificate(name);
      tranche
          .cluster()
          .kubectl("-n", Tranche.NAMESPACE, "patch", "secret", name, "-p", EMPTY_CERTIFICATE)
          .orFail("emptying " + name);
      Await.until(
          "another certificate in " + name,
          2 * SHOWN_WITHIN_S,
          () -> !certificate(name).isEmpty() && !certificate(name).equals(before));
    }
    return "the serving certificates are others";
  }

  private String certificate(String secret) {
    var data =
        tranche.client().secrets().inNamespace(Tranche.NAMESPACE).withName(secret).get().getData();
    return data == null ? "" : data.getOrDefault("tls.crt", "");
  }

  /** Replaces the processes of all parts, as an upgrade does. */
  String replaceAll() {
    for (String part :
        List.of("deploy/tranche-extender", "deploy/tranche-webhook", "ds/tranche-node-plugin")) {
      tranche
          .cluster()
          .kubectl("-n", Tranche.NAMESPACE, "rollout", "restart", part)
          .orFail("replacing " + part);
    }
    return "all parts are being replaced";
  }

  /** Deletes a namespace while its pods are placed. */
  String deleteNamespace() {
    String name = "soak-" + namespaces++;
    createNamespace(name);
    int created = churn.burst(name, 6);
    tranche.client().namespaces().withName(name).delete();
    return "namespace %s is deleted with %d pods".formatted(name, created);
  }

  void createNamespace(String name) {
    Namespaces.create(tranche.client(), name);
  }

  private static String pid(Pod pod, String program) {
    return PodProcesses.onHost(pod, program).stream()
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "pod %s has no process %s now"
                        .formatted(pod.getMetadata().getName(), program)));
  }
}
