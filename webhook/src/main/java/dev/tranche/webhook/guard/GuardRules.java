package dev.tranche.webhook.guard;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The guard's part of the configuration.
 *
 * @param mode the mode of namespaces that name no other
 * @param assumeDefaultRuntime whether the nvidia runtime may run pods that name no RuntimeClass
 * @param exemptServiceAccounts {@code namespace:name}; their pods are left alone
 * @param resources extended resources that give containers GPUs, besides those of NVIDIA's plugin
 * @param kubeletRoot the kubelet's root folder, which contains its sockets
 * @param cdiAnnotationPrefixes prefixes of annotations that request CDI devices from a runtime;
 *     those of {@link GpuAccessPath} are always among them
 */
public record GuardRules(
    GuardMode mode,
    boolean assumeDefaultRuntime,
    Set<String> exemptServiceAccounts,
    List<String> resources,
    String kubeletRoot,
    List<String> cdiAnnotationPrefixes) {
  public GuardRules {
    cdiAnnotationPrefixes =
        Stream.concat(GpuAccessPath.CDI_PREFIXES.stream(), cdiAnnotationPrefixes.stream())
            .distinct()
            .toList();
  }

  /** Reads the flags, and adds a sentence to {@code errors} for each invalid value. */
  public static GuardRules read(
      String mode,
      String assumeDefaultRuntime,
      String exemptServiceAccounts,
      List<String> resources,
      String kubeletRoot,
      String cdiAnnotationPrefixes,
      Collection<String> errors) {
    var parsed = GuardMode.parse(mode);
    if (parsed.isEmpty()) {
      errors.add("--guard-mode is \"%s\"; allowed are audit, void and deny".formatted(mode));
    }
    if (!Set.of("true", "false").contains(assumeDefaultRuntime)) {
      errors.add(
          "--guard-assume-default-runtime is \"%s\"; allowed are true and false"
              .formatted(assumeDefaultRuntime));
    }
    Set<String> accounts =
        exemptServiceAccounts.isBlank()
            ? Set.of()
            : Set.copyOf(List.of(exemptServiceAccounts.strip().split("\\s*,\\s*")));
    for (String account : accounts) {
      if (!account.matches("[a-z0-9][-a-z0-9]*:[a-z0-9][-a-z0-9.]*")) {
        errors.add(
            "--guard-exempt-service-accounts names \"%s\"; expected namespace:name, for example monitoring:dcgm-exporter"
                .formatted(account));
      }
    }
    if (!kubeletRoot.startsWith("/")) {
      errors.add("--kubelet-root is \"%s\"; expected an absolute path".formatted(kubeletRoot));
    }
    List<String> prefixes =
        Stream.of(cdiAnnotationPrefixes.split(",", -1))
            .map(String::strip)
            .filter(prefix -> !prefix.isEmpty())
            .toList();
    for (String prefix : prefixes) {
      if (!prefix.matches("[a-z0-9][-a-z0-9.]{0,252}/[-A-Za-z0-9_.]{0,62}")) {
        errors.add(
            "--cdi-annotation-prefixes names \"%s\"; expected the beginning of an annotation's key with its domain, for example example.cdi.k8s.io/"
                .formatted(prefix));
      }
    }
    return new GuardRules(
        parsed.orElse(GuardMode.VOID),
        assumeDefaultRuntime.equals("true"),
        accounts,
        resources,
        kubeletRoot,
        prefixes);
  }
}
