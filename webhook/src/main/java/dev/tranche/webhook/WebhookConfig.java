package dev.tranche.webhook;

import dev.tranche.api.HostPort;
import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.guard.GuardRules;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.tls.CertificateController;
import dev.tranche.webhook.tls.TlsNames;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The effective configuration.
 *
 * @param tls names of the TLS objects and certificates
 * @param listen address of the webhook, TLS
 * @param metrics address of /metrics and the probes, plain HTTP
 * @param rules rules for pods that request GPUs
 * @param certificateOptions how certificates are made
 * @param drainDelay time from SIGTERM until no more connections are accepted
 * @param guard rules for pods that reach for GPUs that they were not given
 */
record WebhookConfig(
    TlsNames tls,
    HostPort listen,
    HostPort metrics,
    MutationRules rules,
    CertificateController.CertificateOptions certificateOptions,
    Duration drainDelay,
    GuardRules guard) {
  private static final Pattern DNS_LABEL = Pattern.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?");
  private static final Pattern RESOURCE =
      Pattern.compile("[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?");
  private static final Pattern DURATION = Pattern.compile("\\d{1,6}[smhd]");
  private static final int NAME_CHARS_MAX = 40;

  /** The kubelet accepts at most this many devices of a resource in one message. */
  private static final int REPLICAS_MAX = RequestBounds.REPLICAS_MAX;

  /** The result of reading the flags. */
  sealed interface Read {
    record Valid(WebhookConfig config) implements Read {}

    /**
     * @param errors a sentence for each invalid value
     */
    record Invalid(List<String> errors) implements Read {}
  }

  static Read read(WebhookFlags flags) {
    var errors = new ArrayList<String>();
    if (flags.name.length() > NAME_CHARS_MAX) {
      errors.add("--name is longer than " + NAME_CHARS_MAX + " characters: " + flags.name);
    }
    label("--name", flags.name, "tranche", errors);
    label("--namespace (POD_NAMESPACE)", flags.namespace, "tranche-system", errors);
    if (!flags.schedulerName.isEmpty()) {
      label("--scheduler-name", flags.schedulerName, "tranche-scheduler", errors);
    }
    if (!flags.runtimeClass.isEmpty()) {
      label("--runtime-class", flags.runtimeClass, "nvidia", errors);
    }
    HostPort listen = address("--listen-address", flags.listenAddress, errors);
    HostPort metrics = address("--metrics-address", flags.metricsAddress, errors);
    List<String> resources = resources(flags.resources, errors);
    int replicas = replicas(flags.defaultReplicasPerGpu, errors);
    var memory =
        new MutationRules.Memory(
            memory("--gpu-memory-reserve", flags.gpuMemoryReserve, errors),
            flags.defaultGpuMemory.isEmpty()
                ? 0
                : memory("--default-gpu-memory", flags.defaultGpuMemory, errors));
    Set<SharingSystem> dialects = dialects(flags.compat, errors);
    Set<String> replicaSchedulers = schedulers(flags.replicaSchedulers, errors);
    Duration authority = duration("--authority-life", flags.authorityLife, 60, errors);
    Duration certificate = duration("--certificate-life", flags.certificateLife, 30, errors);
    Duration drain = duration("--drain-delay", flags.drainDelay, 0, errors);
    boolean certManager = flags.certificates.equals("cert-manager");
    if (!certManager && !flags.certificates.equals("own")) {
      errors.add(
          "--certificates is \"%s\"; allowed are own and cert-manager"
              .formatted(flags.certificates));
    }
    GuardRules guard =
        GuardRules.read(
            flags.guardMode,
            flags.guardAssumeDefaultRuntime,
            flags.guardExemptServiceAccounts,
            resources,
            flags.kubeletRoot,
            flags.cdiAnnotationPrefixes,
            errors);
    if (certificate.compareTo(authority) > 0) {
      errors.add(
          "--certificate-life %s is longer than --authority-life %s; a certificate cannot outlive what it is verified by"
              .formatted(flags.certificateLife, flags.authorityLife));
    }
    if (!errors.isEmpty()) {
      return new Read.Invalid(List.copyOf(errors));
    }
    return new Read.Valid(
        new WebhookConfig(
            new TlsNames(flags.name, flags.namespace),
            listen,
            metrics,
            new MutationRules(
                resources,
                replicas,
                flags.schedulerName,
                flags.runtimeClass,
                memory,
                dialects,
                MutationRules.PlainRequests.REPLICAS,
                replicaSchedulers),
            new CertificateController.CertificateOptions(
                certManager, authority, certificate, flags.schedulerClientCertificate),
            drain,
            guard));
  }

  private static void label(String flag, String value, String example, List<String> errors) {
    if (!DNS_LABEL.matcher(value).matches()) {
      errors.add(
          "%s is \"%s\"; allowed are lower-case letters, digits and inner dashes, for example %s"
              .formatted(flag, value, example));
    }
  }

  private static Set<String> schedulers(String value, List<String> errors) {
    var names = new TreeSet<String>();
    for (String name : value.isEmpty() ? new String[0] : value.split(",", -1)) {
      label("--replica-schedulers", name.strip(), "kai-scheduler", errors);
      names.add(name.strip());
    }
    return names;
  }

  private static HostPort address(String flag, String value, List<String> errors) {
    Optional<HostPort> address = HostPort.parse(value);
    if (address.isEmpty()) {
      errors.add(
          "%s is \"%s\"; expected host:port, for example 0.0.0.0:9090".formatted(flag, value));
    }
    return address.orElse(new HostPort("", 0));
  }

  private static List<String> resources(String value, List<String> errors) {
    List<String> resources = Stream.of(value.split(",", -1)).map(String::strip).distinct().toList();
    for (String resource : resources) {
      if (!RESOURCE.matcher(resource).matches()) {
        errors.add(
            "--resource names \"%s\"; expected extended resources, for example nvidia.com/gpu"
                .formatted(resource));
      }
    }
    return resources;
  }

  private static int replicas(String value, List<String> errors) {
    int replicas = value.matches("\\d{1,5}") ? Integer.parseInt(value) : 0;
    if (replicas < 1 || replicas > REPLICAS_MAX) {
      errors.add(
          "--default-replicas-per-gpu is \"%s\"; allowed are 1 to %d"
              .formatted(value, REPLICAS_MAX));
    }
    return Math.max(replicas, 1);
  }

  private static long memory(String flag, String value, List<String> errors) {
    OptionalLong bytes = Quantity.parse(value);
    if (bytes.isEmpty()) {
      errors.add(
          "%s is \"%s\"; expected an amount of memory, for example 640Mi".formatted(flag, value));
    }
    return bytes.orElse(0);
  }

  private static Set<SharingSystem> dialects(String value, List<String> errors) {
    var dialects = EnumSet.noneOf(SharingSystem.class);
    for (String word : value.isEmpty() ? new String[0] : value.split(",", -1)) {
      switch (word.strip()) {
        case "kai" -> dialects.add(SharingSystem.KAI);
        case "hami" -> dialects.add(SharingSystem.HAMI);
        default -> errors.add("--compat names \"%s\"; allowed are kai and hami".formatted(word));
      }
    }
    return dialects;
  }

  private static Duration duration(String flag, String value, int secondsMin, List<String> errors) {
    boolean readable = DURATION.matcher(value).matches();
    Duration duration =
        readable ? Duration.parse((value.endsWith("d") ? "P" : "PT") + value) : Duration.ZERO;
    if (!readable || duration.toSeconds() < secondsMin) {
      errors.add(
          "%s is \"%s\"; expected a number with s, m, h or d, at least %ds, for example 90d"
              .formatted(flag, value, secondsMin));
    }
    return duration;
  }
}
