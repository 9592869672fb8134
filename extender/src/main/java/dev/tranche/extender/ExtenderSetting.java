package dev.tranche.extender;

import dev.tranche.process.settings.ProcessSetting;

/** The settings of the extender. */
enum ExtenderSetting implements ProcessSetting {
  NAME(
      "tranche",
      "Prefix of the Secret <name>-extender-tls, of the Lease <name>-extender, and of the"
          + " EndpointSlice <name>-extender-verbs."),
  NAMESPACE("", "Their namespace, set by the downward API."),
  IDENTITY("", "This process's identity in the Lease, set by the downward API."),
  POD_IP(
      "",
      "Address to which the Service <name>-extender-verbs routes while this process leads, set by"
          + " the downward API."),
  RESOURCE("nvidia.com/gpu", "Extended resources that are placed, comma-separated."),
  POLICY("load", "Placement policy: load, spread or packed; a pod may override it."),
  VERBS_ADDRESS(
      "127.0.0.1:8880", "Host and port of the extender verbs, which kube-scheduler calls."),
  VERBS_TLS("false", "Serve the verbs over TLS, for an existing kube-scheduler."),
  VERBS_CLIENT_CERTIFICATE(
      "off",
      "required: only clients with the certificate <name>-scheduler-client may call the verbs, with"
          + " --verbs-tls; off: anybody may."),
  SCHEDULER_NAME(
      "", "Scheduler of the pods that the webhook rewrites, beside the cluster's default one."),
  UNCONVERTED_NAMESPACES(
      "",
      "Namespaces in which a plain number of GPUs counts replicas, although it counts whole GPUs"
          + " elsewhere, comma-separated."),
  LEADER_ELECT("false", "Only the holder of the Lease decides and serves the verbs' Service."),
  STREAM_ADDRESS("0.0.0.0:9443", "Host and port for the reports of node plugins, gRPC over TLS."),
  METRICS_ADDRESS("0.0.0.0:9090", "Host and port of /metrics, /healthz and /readyz, plain HTTP."),
  API_ADDRESS("off", "Host and port of the read API over TLS, for callers with a token; or off."),
  API_LOCAL_ADDRESS(
      "off",
      "Loopback address and port of the read API for kubectl port-forward, without a token; or"
          + " off."),
  API_AGGREGATED_ADDRESS(
      "off",
      "Host and port of the read API for the API server, which proxies requests about single"
          + " namespaces as an aggregated API; or off."),
  HISTORY_MEMORY(
      "20Mi", "Memory for the read API's history of GPUs, 1Mi to 1Gi, 2.4 KB each. 0: no history."),
  CLUSTER_NAME("", "The cluster's name, which the web page shows, at most 63 characters."),
  NODE_PLUGIN_SERVICE_ACCOUNT("", "The only ServiceAccount that may report, namespace:name."),
  CONFIG_MAP(
      "",
      "The ConfigMap of the node plugins' configs in this namespace, which gets an event when a"
          + " node refuses one."),
  ASSIGNMENT_ACK_TIMEOUT_MS(
      "1000",
      "Time within which a node has to acknowledge an assignment; later the bind fails and is"
          + " retried."),
  LOAD_STALE_AFTER_MS("15000", "Maximum age of a load reading; older ones are not used."),
  MEASURED_AFTER_MS(
      "30000",
      "A new pod's share counts as load with a falling weight, until the pod has used its GPU for"
          + " this long; without use, for ten times as long."),
  MEMORY_GUARD(
      "enforce",
      "enforce: a GPU takes no share larger than its measured free memory; score: such a GPU only"
          + " scores lower; off: only grants count."),
  OFFERED_NODES_MAX(
      "64",
      "Maximum number of nodes that filter returns for a pod without soft preferences, the best"
          + " ones; 0: all that fit."),
  GPU_METRICS(
      "true",
      "Series of each GPU in /metrics; with --leader-elect the leader's only. false: only which"
          + " GPUs are not measured."),
  POD_METRICS("true", "Whether /metrics names pods. false: the read API's /metrics does."),
  NODE_USE_ANNOTATION(
      "true", "Write tranche.dev/gpu-use to nodes, at most once a minute each. false: remove it.");

  private final String fallback;
  private final String meaning;

  ExtenderSetting(String fallback, String meaning) {
    this.fallback = fallback;
    this.meaning = meaning;
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
}
