package dev.tranche.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.GuardRules;
import dev.tranche.webhook.mutate.MutationRules;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class WebhookConfigTest {
  @Test
  void defaults_areThoseDocumented() {
    WebhookConfig config = valid("--namespace=tranche-system");
    assertThat(config.tls().name()).isEqualTo("tranche");
    assertThat(config.listen()).hasToString("0.0.0.0:8443");
    assertThat(config.metrics()).hasToString("0.0.0.0:9090");
    assertThat(config.rules())
        .isEqualTo(Reviews.rules(List.of("nvidia.com/gpu"), 20, "tranche-scheduler", "nvidia"));
    assertThat(config.tls().authorityLife()).isEqualTo(Duration.ofDays(3650));
    assertThat(config.tls().servingLife()).isEqualTo(Duration.ofDays(90));
    assertThat(config.drainDelay()).isEqualTo(Duration.ofSeconds(5));
    assertThat(config.tls().certManager()).isFalse();
    assertThat(config.guard())
        .isEqualTo(
            new GuardRules(
                GuardMode.VOID,
                true,
                Set.of(),
                List.of("nvidia.com/gpu"),
                "/var/lib/kubelet",
                List.of()));
  }

  @Test
  void everyFlag_isHeeded() {
    WebhookConfig config =
        valid(
            "--name=t",
            "--namespace=n",
            "--listen-address=127.0.0.1:1",
            "--metrics-address=[::1]:2",
            "--resource=nvidia.com/gpu.shared, nvidia.com/gpu",
            "--default-replicas-per-gpu=4",
            "--gpu-memory-reserve=1Gi",
            "--default-gpu-memory=16Gi",
            "--memory-limits-required",
            "--memory-limit-opt-out=false",
            "--compat=kai,hami",
            "--scheduler-name=",
            "--runtime-class=",
            "--authority-life=2h",
            "--certificate-life=90s",
            "--drain-delay=0s",
            "--certificates=cert-manager",
            "--guard-mode=deny",
            "--guard-assume-default-runtime=false",
            "--guard-exempt-service-accounts=a:b, c:d",
            "--kubelet-root=/k");
    assertThat(config.tls().name()).isEqualTo("t");
    assertThat(config.tls().namespace()).isEqualTo("n");
    assertThat(config.listen()).hasToString("127.0.0.1:1");
    assertThat(config.metrics()).hasToString("[::1]:2");
    assertThat(config.rules())
        .isEqualTo(
            new MutationRules(
                List.of("nvidia.com/gpu.shared", "nvidia.com/gpu"),
                4,
                "",
                "",
                new MutationRules.Memory(
                    1L << 30, 16L << 30, new MutationRules.Limits(true, false)),
                Set.of(SharingSystem.KAI, SharingSystem.HAMI),
                MutationRules.PlainRequests.REPLICAS,
                Set.of()));
    assertThat(config.tls().authorityLife()).isEqualTo(Duration.ofHours(2));
    assertThat(config.tls().servingLife()).isEqualTo(Duration.ofSeconds(90));
    assertThat(config.drainDelay()).isZero();
    assertThat(config.tls().certManager()).isTrue();
    assertThat(config.guard())
        .isEqualTo(
            new GuardRules(
                GuardMode.DENY,
                false,
                Set.of("a:b", "c:d"),
                List.of("nvidia.com/gpu.shared", "nvidia.com/gpu"),
                "/k",
                List.of()));
  }

  @Test
  void errors_areReportedTogether() {
    List<String> errors =
        errors(
            "--namespace=No",
            "--listen-address=8443",
            "--resource=gpu",
            "--default-replicas-per-gpu=0",
            "--gpu-memory-reserve=some",
            "--compat=volcano",
            "--certificate-life=forever",
            "--certificates=mine",
            "--guard-mode=off",
            "--guard-assume-default-runtime=perhaps",
            "--guard-exempt-service-accounts=dcgm",
            "--kubelet-root=k");
    assertThat(errors).hasSize(12).allMatch(e -> e.matches("--.* is \".*\"; allowed: .*"));
  }

  @Test
  void emptyEntryOfAList_isIgnored() {
    assertThat(valid("--namespace=n", "--resource=nvidia.com/gpu,").rules().resources())
        .containsExactly("nvidia.com/gpu");
  }

  private static List<String> errors(String... arguments) {
    var errors = new ConfigErrors();
    WebhookConfig.of(Settings.read(WebhookSetting.class, List.of(arguments), Map.of(), errors));
    return errors.errors();
  }

  private static WebhookConfig valid(String... arguments) {
    var errors = new ConfigErrors();
    var config =
        WebhookConfig.of(Settings.read(WebhookSetting.class, List.of(arguments), Map.of(), errors));
    assertThat(errors.errors()).isEmpty();
    return config;
  }
}
