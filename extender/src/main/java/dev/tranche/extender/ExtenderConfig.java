package dev.tranche.extender;

import dev.tranche.api.HostPort;
import dev.tranche.api.Quantity;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.score.Policy;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The effective configuration; {@link ExtenderFlags} describes each value.
 *
 * @param podIp a literal; empty without leader election
 * @param resources at least one
 * @param api where the read API serves remote callers; null: nowhere
 * @param apiLocal where the read API serves callers from loopback; null: nowhere
 * @param historyBytesMax of the read API's history; 0: none is kept
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
    long historyBytesMax,
    ServiceAccount serviceAccount,
    String configMap,
    long assignmentAckTimeoutMs,
    long loadStaleAfterMs,
    long measuredAfterMs,
    MemoryGuard memoryGuard,
    int offeredNodesMax,
    boolean gpuMetrics,
    boolean nodeUseAnnotation) {
  private static final long HISTORY_BYTES_MIN = 1L << 20;
  private static final long HISTORY_BYTES_MAX = 1L << 30;
  private static final String OFF = "off";
  private static final Pattern NAME = Pattern.compile("[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?");
  private static final Pattern OBJECT_NAME =
      Pattern.compile("[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?");
  private static final Pattern RESOURCE = Pattern.compile("[a-z0-9.-]+/[A-Za-z0-9._-]+");
  private static final Pattern SERVICE_ACCOUNT = Pattern.compile("([a-z0-9-]+):([a-z0-9.-]+)");

  /** The ClusterRole whose subjects may use the read API. */
  String viewerRole() {
    return name + "-viewer";
  }

  /** The common name of kube-scheduler's client certificate. */
  String schedulerClient() {
    return name + "-scheduler-client";
  }

  public record ServiceAccount(String namespace, String name) {}

  public sealed interface Parsed {
    record Valid(ExtenderConfig config) implements Parsed {}

    /**
     * @param errors all of them, one sentence each
     */
    record Invalid(List<String> errors) implements Parsed {}
  }

  static Parsed of(ExtenderFlags flags) {
    var reader = new Reader();
    var config =
        new ExtenderConfig(
            reader.matching("--name", flags.name, NAME, "lower case letters, digits and dashes"),
            reader.matching(
                "--namespace (or POD_NAMESPACE)", flags.namespace, NAME, "a namespace's name"),
            reader.identity(flags),
            reader.podIp(flags),
            reader.resources(flags.resource),
            reader.policy(flags.policy),
            reader.address("--verbs-address", flags.verbsAddress),
            flags.verbsTls,
            reader.clientCertificate(flags),
            flags.schedulerName,
            flags.leaderElect,
            reader.address("--stream-address", flags.streamAddress),
            reader.address("--metrics-address", flags.metricsAddress),
            reader.optionalAddress("--api-address", flags.apiAddress),
            reader.loopbackAddress("--api-local-address", flags.apiLocalAddress),
            reader.historyBytesMax(flags.historyMemory),
            reader.serviceAccount(flags.nodePluginServiceAccount),
            reader.configMap(flags.configMap),
            reader.millis("--assignment-ack-timeout-ms", flags.assignmentAckTimeoutMs, 10, 5_000),
            reader.millis("--load-stale-after-ms", flags.loadStaleAfterMs, 1_000, 600_000),
            reader.millis("--measured-after-ms", flags.measuredAfterMs, 100, 600_000),
            reader.memoryGuard(flags.memoryGuard),
            reader.number("--offered-nodes-max", flags.offeredNodesMax, 0, 100_000),
            flags.gpuMetrics,
            flags.nodeUseAnnotation);
    return reader.errors.isEmpty()
        ? new Parsed.Valid(config)
        : new Parsed.Invalid(List.copyOf(reader.errors));
  }

  /** Continues after an error, so that all errors are reported at once. */
  private static final class Reader {
    private final List<String> errors = new ArrayList<>();

    String matching(String flag, String value, Pattern allowed, String meaning) {
      if (!allowed.matcher(value).matches()) {
        wrong(flag, value, meaning);
      }
      return value;
    }

    String identity(ExtenderFlags flags) {
      if (flags.leaderElect && flags.identity.isEmpty()) {
        wrong(
            "--identity (or POD_NAME)", "", "a name for this process, since --leader-elect is set");
      }
      return flags.identity;
    }

    String podIp(ExtenderFlags flags) {
      if (!flags.leaderElect) {
        return "";
      }
      try {
        InetAddress.ofLiteral(flags.podIp);
      } catch (IllegalArgumentException none) {
        wrong(
            "--pod-ip (or POD_IP)", flags.podIp, "this pod's address, since --leader-elect is set");
      }
      return flags.podIp;
    }

    String configMap(String value) {
      return value.isEmpty()
          ? ""
          : matching("--config-map", value, OBJECT_NAME, "the name of a ConfigMap");
    }

    List<String> resources(String value) {
      List<String> resources =
          Stream.of(value.split(",", -1)).map(String::strip).filter(r -> !r.isEmpty()).toList();
      if (resources.isEmpty() || !resources.stream().allMatch(RESOURCE.asMatchPredicate())) {
        wrong("--resource", value, "extended resources such as nvidia.com/gpu, comma-separated");
      }
      return resources;
    }

    boolean clientCertificate(ExtenderFlags flags) {
      String value = flags.verbsClientCertificate;
      boolean required = value.equals("required");
      if (!required && !value.equals("off")) {
        wrong("--verbs-client-certificate", value, "required or off");
      } else if (required && !flags.verbsTls) {
        wrong("--verbs-client-certificate", value, "off, unless --verbs-tls is set");
      }
      return required;
    }

    Policy policy(String value) {
      Optional<Policy> policy = Policy.parse(value);
      if (policy.isEmpty()) {
        wrong("--policy", value, "load, spread or packed");
      }
      return policy.orElse(Policy.LOAD);
    }

    int number(String flag, String value, int least, int most) {
      if (value.matches("\\d{1,9}")) {
        int number = Integer.parseInt(value);
        if (number >= least && number <= most) {
          return number;
        }
      }
      wrong(flag, value, "a whole number from %d to %d".formatted(least, most));
      return least;
    }

    MemoryGuard memoryGuard(String value) {
      Optional<MemoryGuard> guard = MemoryGuard.parse(value);
      if (guard.isEmpty()) {
        wrong("--memory-guard", value, "enforce, score or off");
      }
      return guard.orElse(MemoryGuard.ENFORCE);
    }

    HostPort address(String flag, String value) {
      Optional<HostPort> address = HostPort.parse(value);
      if (address.isEmpty()) {
        wrong(flag, value, "host:port, such as 0.0.0.0:9090");
      }
      return address.orElse(new HostPort("", 0));
    }

    @Nullable HostPort optionalAddress(String flag, String value) {
      return value.equals(OFF) ? null : address(flag, value);
    }

    /** Allows only a loopback address, since anyone who reaches the port may read. */
    @Nullable HostPort loopbackAddress(String flag, String value) {
      HostPort address = optionalAddress(flag, value);
      if (address != null && !loopback(address.host())) {
        wrong(flag, value, "a port of a loopback address, such as 127.0.0.1:9445, or off");
      }
      return address;
    }

    private static boolean loopback(String host) {
      try {
        return host.isEmpty() || InetAddress.ofLiteral(host).isLoopbackAddress();
      } catch (IllegalArgumentException name) {
        return false;
      }
    }

    long historyBytesMax(String value) {
      long bytes = Quantity.parse(value).orElse(-1);
      if (bytes != 0 && (bytes < HISTORY_BYTES_MIN || bytes > HISTORY_BYTES_MAX)) {
        wrong("--history-memory", value, "0, or memory from 1Mi to 1Gi");
      }
      return bytes;
    }

    ServiceAccount serviceAccount(String value) {
      Matcher matcher = SERVICE_ACCOUNT.matcher(value);
      if (!matcher.matches()) {
        wrong("--node-plugin-service-account", value, "namespace:name");
        return new ServiceAccount("", "");
      }
      return new ServiceAccount(matcher.group(1), matcher.group(2));
    }

    long millis(String flag, String value, long least, long most) {
      long millis = value.matches("\\d{1,9}") ? Long.parseLong(value) : -1;
      if (millis < least || millis > most) {
        wrong(flag, value, "%d to %d milliseconds".formatted(least, most));
      }
      return millis;
    }

    private void wrong(String flag, String value, String allowed) {
      errors.add("%s is \"%s\"; allowed: %s".formatted(flag, value, allowed));
    }
  }
}
