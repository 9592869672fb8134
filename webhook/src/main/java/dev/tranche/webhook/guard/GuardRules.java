package dev.tranche.webhook.guard;

import java.util.Collection;
import java.util.List;
import java.util.Set;

/**
 * The guard's part of the configuration.
 *
 * @param mode where the namespace names no other
 * @param assumeDefaultRuntime the nvidia runtime may serve pods that name no RuntimeClass
 * @param exemptServiceAccounts {@code namespace:name}; their pods are left alone
 * @param resources extended resources whose containers get GPUs, those of NVIDIA's plugin aside
 * @param kubeletRoot where the kubelet's sockets lie
 */
public record GuardRules(
    GuardMode mode,
    boolean assumeDefaultRuntime,
    Set<String> exemptServiceAccounts,
    List<String> resources,
    String kubeletRoot) {
  public GuardRules {
    exemptServiceAccounts = Set.copyOf(exemptServiceAccounts);
    resources = List.copyOf(resources);
  }

  /** Checks what the flags say. */
  public static GuardRules read(
      String mode,
      String assumeDefaultRuntime,
      String exemptServiceAccounts,
      List<String> resources,
      String kubeletRoot,
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
    return new GuardRules(
        parsed.orElse(GuardMode.VOID),
        assumeDefaultRuntime.equals("true"),
        accounts,
        resources,
        kubeletRoot);
  }
}
