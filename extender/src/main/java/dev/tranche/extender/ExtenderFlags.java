package dev.tranche.extender;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command line; each flag's default is an environment variable's value, if that is set. */
@Command(
    name = "extender",
    description = "Decides which GPU a pod gets; asked by kube-scheduler, told by the nodes.",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    showDefaultValues = true)
final class ExtenderFlags {
  @Option(
      names = "--name",
      defaultValue = "${env:TRANCHE_NAME:-tranche}",
      description =
          "Prefix of the Secret <name>-extender-tls, of the Lease <name>-extender, and of the"
              + " EndpointSlice <name>-extender-verbs.")
  String name = "";

  @Option(
      names = "--namespace",
      defaultValue = "${env:POD_NAMESPACE:-}",
      description = "Namespace of them; by the downward API.")
  String namespace = "";

  @Option(
      names = "--identity",
      defaultValue = "${env:POD_NAME:-${env:HOSTNAME:-}}",
      description = "Who holds the Lease; by the downward API.")
  String identity = "";

  @Option(
      names = "--pod-ip",
      defaultValue = "${env:POD_IP:-}",
      description =
          "Where the Service <name>-extender-verbs leads to its holder; by the downward API.")
  String podIp = "";

  @Option(
      names = "--resource",
      defaultValue = "${env:TRANCHE_RESOURCE:-nvidia.com/gpu}",
      description = "Extended resources that are placed, comma-separated.")
  String resource = "";

  @Option(
      names = "--policy",
      defaultValue = "${env:TRANCHE_POLICY:-load}",
      description = "load, spread or packed; a pod may say otherwise.")
  String policy = "";

  @Option(
      names = "--verbs-address",
      defaultValue = "${env:TRANCHE_VERBS_ADDRESS:-127.0.0.1:8880}",
      description = "Where kube-scheduler asks.")
  String verbsAddress = "";

  @Option(
      names = "--verbs-tls",
      arity = "0..1",
      fallbackValue = "true",
      defaultValue = "${env:TRANCHE_VERBS_TLS:-false}",
      description = "Serve the verbs over TLS, for an existing kube-scheduler.")
  boolean verbsTls;

  @Option(
      names = "--verbs-client-certificate",
      defaultValue = "${env:TRANCHE_VERBS_CLIENT_CERTIFICATE:-off}",
      description =
          "required: only who shows the certificate <name>-scheduler-client of our authority may"
              + " ask, with --verbs-tls; off: anybody.")
  String verbsClientCertificate = "";

  @Option(
      names = "--scheduler-name",
      defaultValue = "${env:TRANCHE_SCHEDULER_NAME:-}",
      description =
          "Scheduler of the pods that the webhook rewrites, beside the cluster's default one.")
  String schedulerName = "";

  @Option(
      names = "--leader-elect",
      arity = "0..1",
      fallbackValue = "true",
      defaultValue = "${env:TRANCHE_LEADER_ELECT:-false}",
      description = "Only the holder of the Lease decides and is behind the verbs' Service.")
  boolean leaderElect;

  @Option(
      names = "--stream-address",
      defaultValue = "${env:TRANCHE_STREAM_ADDRESS:-0.0.0.0:9443}",
      description = "Where node plugins report: gRPC over TLS.")
  String streamAddress = "";

  @Option(
      names = "--metrics-address",
      defaultValue = "${env:TRANCHE_METRICS_ADDRESS:-0.0.0.0:9090}",
      description = "/metrics, /healthz and /readyz.")
  String metricsAddress = "";

  @Option(
      names = "--api-address",
      defaultValue = "${env:TRANCHE_API_ADDRESS:-off}",
      description = "Where the read API is served over TLS to who shows a token, or off.")
  String apiAddress = "";

  @Option(
      names = "--api-local-address",
      defaultValue = "${env:TRANCHE_API_LOCAL_ADDRESS:-off}",
      description =
          "Where the read API is served to kubectl port-forward, which needs no token: a loopback address, or off.")
  String apiLocalAddress = "";

  @Option(
      names = "--history-memory",
      defaultValue = "${env:TRANCHE_HISTORY_MEMORY:-16Mi}",
      description =
          "What the read API's history of GPUs may take, 1Mi to 1Gi; with more GPUs it is coarser. 0: none is kept.")
  String historyMemory = "";

  @Option(
      names = "--node-plugin-service-account",
      defaultValue = "${env:TRANCHE_NODE_PLUGIN_SERVICE_ACCOUNT:-}",
      description = "The only one that may report, namespace:name.")
  String nodePluginServiceAccount = "";

  @Option(
      names = "--config-map",
      defaultValue = "${env:TRANCHE_CONFIG_MAP:-}",
      description =
          "The ConfigMap of the node plugins' configs in this namespace, which gets an event when a node refuses one.")
  String configMap = "";

  @Option(
      names = "--assignment-ack-timeout-ms",
      defaultValue = "${env:TRANCHE_ASSIGNMENT_ACK_TIMEOUT_MS:-1000}",
      description = "A bind whose node does not acknowledge by then is tried again.")
  String assignmentAckTimeoutMs = "";

  @Option(
      names = "--load-stale-after-ms",
      defaultValue = "${env:TRANCHE_LOAD_STALE_AFTER_MS:-15000}",
      description = "A reading older than this says nothing of the load.")
  String loadStaleAfterMs = "";

  @Option(
      names = "--measured-after-ms",
      defaultValue = "${env:TRANCHE_MEASURED_AFTER_MS:-30000}",
      description =
          "A pod's share counts as load, ever less, until it has worked for so long; without work, ten times that.")
  String measuredAfterMs = "";

  @Option(
      names = "--memory-guard",
      defaultValue = "${env:TRANCHE_MEMORY_GUARD:-enforce}",
      description =
          "enforce: a GPU takes no share that its real free memory cannot back; score: that only"
              + " makes it worse; off: grants only.")
  String memoryGuard = "";

  @Option(
      names = "--offered-nodes-max",
      defaultValue = "${env:TRANCHE_OFFERED_NODES_MAX:-64}",
      description = {
        "So many nodes, the best, are offered to a pod without soft preferences; 0: all that fit."
      })
  String offeredNodesMax = "";

  @Option(
      names = "--gpu-metrics",
      arity = "0..1",
      fallbackValue = "true",
      defaultValue = "${env:TRANCHE_GPU_METRICS:-true}",
      description =
          "Series of each GPU in /metrics; with --leader-elect the leader's only. false: only"
              + " which GPUs are not measured.")
  boolean gpuMetrics;

  @Option(
      names = "--node-use-annotation",
      arity = "0..1",
      fallbackValue = "true",
      defaultValue = "${env:TRANCHE_NODE_USE_ANNOTATION:-true}",
      description =
          "Write tranche.dev/gpu-use to nodes, at most once a minute each. false: take it away.")
  boolean nodeUseAnnotation;
}
