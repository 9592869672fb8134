package dev.tranche.extender;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.ProcessSetting;
import dev.tranche.process.settings.Settings;
import java.util.List;
import java.util.Map;

/** The settings of the extender. */
enum ExtenderSetting implements ProcessSetting {
  NAME(
      "tranche",
      "Prefix of the Secret <name>-extender-tls, of the Lease <name>-extender, and of the EndpointSlice <name>-extender-verbs."),
  NAMESPACE("", "Namespace of them; by the downward API."),
  IDENTITY("", "Who holds the Lease; by the downward API."),
  POD_IP("", "Where the Service <name>-extender-verbs leads to its holder; by the downward API."),
  RESOURCE("nvidia.com/gpu", "Extended resources that are placed, comma-separated."),
  POLICY("load", "load, spread or packed; a pod may say otherwise."),
  VERBS_ADDRESS("127.0.0.1:8880", "Where kube-scheduler asks."),
  VERBS_TLS("false", "Serve the verbs over TLS, for an existing kube-scheduler."),
  VERBS_CLIENT_CERTIFICATE(
      "off",
      "required: only who shows the certificate <name>-scheduler-client of our authority may ask, with --verbs-tls; off: anybody."),
  SCHEDULER_NAME(
      "", "Scheduler of the pods that the webhook rewrites, beside the cluster's default one."),
  UNCONVERTED_NAMESPACES(
      "",
      "Namespaces in which a plain number of GPUs counts replicas, although it counts whole GPUs elsewhere, comma-separated."),
  LEADER_ELECT("false", "Only the holder of the Lease decides and is behind the verbs' Service."),
  STREAM_ADDRESS("0.0.0.0:9443", "Where node plugins report: gRPC over TLS."),
  METRICS_ADDRESS("0.0.0.0:9090", "/metrics, /healthz and /readyz."),
  API_ADDRESS("off", "Where the read API is served over TLS to who shows a token, or off."),
  API_LOCAL_ADDRESS(
      "off",
      "Where the read API is served to kubectl port-forward, which needs no token: a loopback address, or off."),
  HISTORY_MEMORY(
      "16Mi",
      "What the read API's history of GPUs may take, 1Mi to 1Gi; with more GPUs it is coarser. 0: none is kept."),
  NODE_PLUGIN_SERVICE_ACCOUNT("", "The only one that may report, namespace:name."),
  CONFIG_MAP(
      "",
      "The ConfigMap of the node plugins' configs in this namespace, which gets an event when a node refuses one."),
  ASSIGNMENT_ACK_TIMEOUT_MS(
      "1000", "A bind whose node does not acknowledge by then is tried again."),
  LOAD_STALE_AFTER_MS("15000", "A reading older than this says nothing of the load."),
  MEASURED_AFTER_MS(
      "30000",
      "A pod's share counts as load, ever less, until it has worked for so long; without work, ten times that."),
  MEMORY_GUARD(
      "enforce",
      "enforce: a GPU takes no share that its real free memory cannot back; score: that only makes it worse; off: grants only."),
  OFFERED_NODES_MAX(
      "64",
      "So many nodes, the best, are offered to a pod without soft preferences; 0: all that fit."),
  GPU_METRICS(
      "true",
      "Series of each GPU in /metrics; with --leader-elect the leader's only. false: only which GPUs are not measured."),
  NODE_USE_ANNOTATION(
      "true",
      "Write tranche.dev/gpu-use to nodes, at most once a minute each. false: take it away.");

  private static final String DUTY =
      "Decides which GPU a pod gets; asked by kube-scheduler, told by the nodes.";

  private final String fallback;
  private final String meaning;

  ExtenderSetting(String fallback, String meaning) {
    this.fallback = fallback;
    this.meaning = meaning;
  }

  static Settings<ExtenderSetting> read(
      List<String> args, Map<String, String> env, ConfigErrors errors) {
    return Settings.read(ExtenderSetting.class, args, env, errors);
  }

  static String help() {
    return Settings.help(ExtenderSetting.class, DUTY);
  }

  @Override
  public String variable() {
    return switch (this) {
      case NAMESPACE -> "POD_NAMESPACE";
      case IDENTITY -> "POD_NAME";
      case POD_IP -> "POD_IP";
      default -> "TRANCHE_" + name();
    };
  }

  @Override
  public String fallback() {
    return fallback;
  }

  @Override
  public String meaning() {
    return meaning;
  }

  @Override
  public List<String> variableAliases() {
    return this == IDENTITY ? List.of("HOSTNAME") : List.of();
  }
}
