package dev.tranche.extender;

import static dev.tranche.extender.ExtenderSetting.API_ADDRESS;
import static dev.tranche.extender.ExtenderSetting.API_AGGREGATED_ADDRESS;
import static dev.tranche.extender.ExtenderSetting.API_LOCAL_ADDRESS;
import static dev.tranche.extender.ExtenderSetting.ASSIGNMENT_ACK_TIMEOUT_MS;
import static dev.tranche.extender.ExtenderSetting.CLUSTER_NAME;
import static dev.tranche.extender.ExtenderSetting.CONFIG_MAP;
import static dev.tranche.extender.ExtenderSetting.GPU_METRICS;
import static dev.tranche.extender.ExtenderSetting.HISTORY_MEMORY;
import static dev.tranche.extender.ExtenderSetting.IDENTITY;
import static dev.tranche.extender.ExtenderSetting.LEADER_ELECT;
import static dev.tranche.extender.ExtenderSetting.LOAD_STALE_AFTER_MS;
import static dev.tranche.extender.ExtenderSetting.MEASURED_AFTER_MS;
import static dev.tranche.extender.ExtenderSetting.MEMORY_GUARD;
import static dev.tranche.extender.ExtenderSetting.METRICS_ADDRESS;
import static dev.tranche.extender.ExtenderSetting.NAME;
import static dev.tranche.extender.ExtenderSetting.NAMESPACE;
import static dev.tranche.extender.ExtenderSetting.NODE_PLUGIN_SERVICE_ACCOUNT;
import static dev.tranche.extender.ExtenderSetting.NODE_USE_ANNOTATION;
import static dev.tranche.extender.ExtenderSetting.OFFERED_NODES_MAX;
import static dev.tranche.extender.ExtenderSetting.POD_IP;
import static dev.tranche.extender.ExtenderSetting.POD_METRICS;
import static dev.tranche.extender.ExtenderSetting.POLICY;
import static dev.tranche.extender.ExtenderSetting.RESOURCE;
import static dev.tranche.extender.ExtenderSetting.SCHEDULER_NAME;
import static dev.tranche.extender.ExtenderSetting.STREAM_ADDRESS;
import static dev.tranche.extender.ExtenderSetting.UNCONVERTED_NAMESPACES;
import static dev.tranche.extender.ExtenderSetting.VERBS_ADDRESS;
import static dev.tranche.extender.ExtenderSetting.VERBS_CLIENT_CERTIFICATE;
import static dev.tranche.extender.ExtenderSetting.VERBS_TLS;

import dev.tranche.api.Printable;
import dev.tranche.api.Quantity;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.score.Policy;
import dev.tranche.process.settings.HostPort;
import dev.tranche.process.settings.Settings;
import java.net.InetAddress;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The effective configuration; {@link ExtenderSetting} describes each value.
 *
 * @param podIp a literal; empty without leader election
 * @param resources at least one
 * @param api where the read API serves remote callers; null: nowhere
 * @param apiLocal where the read API serves callers from loopback; null: nowhere
 * @param apiAggregated where the read API serves the API server; null: nowhere
 * @param historyBytesMax of the read API's history; 0: none is kept
 * @param clusterName shown on the web page; may be empty
 * @param serviceAccount of the node plugins
 * @param configMap of their configs, in the same namespace; empty: none is known
 */
public record ExtenderConfig(
    String name,
    String namespace,
    String identity,
    String podIp,
    List<String> resources,
    Policy policy,
    HostPort verbs,
    boolean verbsTls,
    boolean verbsClientCertificate,
    String schedulerName,
    boolean leaderElect,
    HostPort stream,
    HostPort metrics,
    @Nullable HostPort api,
    @Nullable HostPort apiLocal,
    @Nullable HostPort apiAggregated,
    long historyBytesMax,
    String clusterName,
    ServiceAccount serviceAccount,
    String configMap,
    long assignmentAckTimeoutMs,
    long loadStaleAfterMs,
    long measuredAfterMs,
    MemoryGuard memoryGuard,
    int offeredNodesMax,
    boolean gpuMetrics,
    boolean podMetrics,
    boolean nodeUseAnnotation,
    Set<String> unconvertedNamespaces) {
  private static final long HISTORY_BYTES_MIN = 1L << 20;
  private static final long HISTORY_BYTES_MAX = 1L << 30;
  private static final String OFF = "off";
  private static final Pattern OBJECT_NAME =
      Pattern.compile("[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?");

  /** Whether the read API has a port. */
  boolean servesApi() {
    return api != null || apiLocal != null || apiAggregated != null;
  }

  /** The ClusterRole whose subjects may use the read API. */
  String viewerRole() {
    return name + "-viewer";
  }

  /** The common name of kube-scheduler's client certificate. */
  String schedulerClient() {
    return name + "-scheduler-client";
  }

  public record ServiceAccount(String namespace, String name) {}

  static ExtenderConfig of(Settings<ExtenderSetting> settings) {
    return new Reader(settings).read();
  }

  /** Continues after an error, so that all errors are reported at once. */
  private record Reader(Settings<ExtenderSetting> settings) {
    ExtenderConfig read() {
      return new ExtenderConfig(
          settings.dnsLabel(NAME, Settings.NAME_CHARS_MAX),
          settings.dnsLabel(NAMESPACE, Settings.DNS_LABEL_CHARS_MAX),
          identity(),
          podIp(),
          settings.resources(RESOURCE),
          settings.oneOf(POLICY, List.of(Policy.LOAD, Policy.SPREAD, Policy.PACKED)),
          settings.hostPort(VERBS_ADDRESS),
          settings.isTrue(VERBS_TLS),
          clientCertificate(),
          settings.dnsLabelOrNone(SCHEDULER_NAME),
          leaderElect(),
          settings.hostPort(STREAM_ADDRESS),
          settings.hostPort(METRICS_ADDRESS),
          optionalAddress(API_ADDRESS),
          loopbackAddress(),
          optionalAddress(API_AGGREGATED_ADDRESS),
          historyBytesMax(),
          clusterName(),
          serviceAccount(),
          configMap(),
          settings.number(ASSIGNMENT_ACK_TIMEOUT_MS, "", 10, 5_000),
          settings.number(LOAD_STALE_AFTER_MS, "", 1_000, 600_000),
          settings.number(MEASURED_AFTER_MS, "", 100, 600_000),
          settings.oneOf(MEMORY_GUARD, List.of(MemoryGuard.values())),
          settings.number(OFFERED_NODES_MAX, "", 0, 100_000),
          settings.isTrue(GPU_METRICS),
          settings.isTrue(POD_METRICS),
          settings.isTrue(NODE_USE_ANNOTATION),
          Set.copyOf(settings.dnsLabels(UNCONVERTED_NAMESPACES)));
    }

    private boolean leaderElect() {
      return settings.isTrue(LEADER_ELECT);
    }

    private String identity() {
      if (leaderElect() && settings.text(IDENTITY).isEmpty()) {
        wrong(IDENTITY, "a name for this process, since --leader-elect is set");
      }
      return settings.text(IDENTITY);
    }

    private String podIp() {
      if (!leaderElect()) {
        return "";
      }
      try {
        InetAddress.ofLiteral(settings.text(POD_IP));
      } catch (IllegalArgumentException none) {
        wrong(POD_IP, "this pod's address, since --leader-elect is set");
      }
      return settings.text(POD_IP);
    }

    private boolean clientCertificate() {
      boolean required = settings.isSecond(VERBS_CLIENT_CERTIFICATE, OFF, "required");
      if (required && !settings.isTrue(VERBS_TLS)) {
        wrong(VERBS_CLIENT_CERTIFICATE, "off, unless --verbs-tls is set");
      }
      return required;
    }

    private @Nullable HostPort optionalAddress(ExtenderSetting setting) {
      return settings.text(setting).equals(OFF) ? null : settings.hostPort(setting);
    }

    /** Allows only a loopback address, since anyone who reaches the port may read. */
    private @Nullable HostPort loopbackAddress() {
      HostPort address = optionalAddress(API_LOCAL_ADDRESS);
      if (address != null && !loopback(address.host())) {
        wrong(API_LOCAL_ADDRESS, "a port of a loopback address, such as 127.0.0.1:9445, or off");
      }
      return address;
    }

    private static boolean loopback(String host) {
      try {
        return InetAddress.ofLiteral(host).isLoopbackAddress();
      } catch (IllegalArgumentException name) {
        return false;
      }
    }

    private long historyBytesMax() {
      long bytes = Quantity.parse(settings.text(HISTORY_MEMORY)).orElse(-1);
      if (bytes != 0 && (bytes < HISTORY_BYTES_MIN || bytes > HISTORY_BYTES_MAX)) {
        wrong(HISTORY_MEMORY, "0, or memory from 1Mi to 1Gi");
      }
      return bytes;
    }

    private String clusterName() {
      String name = settings.text(CLUSTER_NAME);
      if (name.length() > Settings.DNS_LABEL_CHARS_MAX || !Printable.name(name).equals(name)) {
        wrong(CLUSTER_NAME, "at most 63 printable characters");
      }
      return name;
    }

    private ServiceAccount serviceAccount() {
      Matcher matcher =
          Settings.SERVICE_ACCOUNT.matcher(settings.text(NODE_PLUGIN_SERVICE_ACCOUNT));
      if (!matcher.matches()) {
        wrong(NODE_PLUGIN_SERVICE_ACCOUNT, Settings.SERVICE_ACCOUNT_ALLOWED);
        return new ServiceAccount("", "");
      }
      return new ServiceAccount(matcher.group(1), matcher.group(2));
    }

    private String configMap() {
      String name = settings.text(CONFIG_MAP);
      if (!name.isEmpty() && !OBJECT_NAME.matcher(name).matches()) {
        wrong(CONFIG_MAP, "the name of a ConfigMap");
      }
      return name;
    }

    private void wrong(ExtenderSetting setting, String allowed) {
      settings.reportInvalid(setting, allowed);
    }
  }
}
