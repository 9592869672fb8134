package dev.tranche.extender;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.score.Policy;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class ExtenderConfigTest {
  @Test
  void defaults() {
    var config = valid("--namespace=gpu", "--node-plugin-service-account=gpu:tranche-node-plugin");
    assertThat(config.name()).isEqualTo("tranche");
    assertThat(config.resources()).containsExactly("nvidia.com/gpu");
    assertThat(config.policy()).isEqualTo(Policy.LOAD);
    assertThat(config.verbs()).hasToString("127.0.0.1:8880");
    assertThat(config.stream()).hasToString("0.0.0.0:9443");
    assertThat(config.metrics()).hasToString("0.0.0.0:9090");
    assertThat(config.verbsTls()).isFalse();
    assertThat(config.leaderElect()).isFalse();
    assertThat(config.assignmentAckTimeoutMs()).isEqualTo(1_000);
    assertThat(config.loadStaleAfterMs()).isEqualTo(15_000);
    assertThat(config.measuredAfterMs()).isEqualTo(30_000);
    assertThat(config.historyBytesMax()).isEqualTo(20 << 20);
    assertThat(config.unconvertedNamespaces()).isEmpty();
  }

  @Test
  void everyFlag_isRead() {
    var config =
        valid(
            "--name=slice",
            "--namespace=gpu",
            "--identity=extender-0",
            "--pod-ip=fd00::7",
            "--resource=nvidia.com/gpu,nvidia.com/gpu.shared",
            "--policy=packed",
            "--verbs-address=0.0.0.0:8443",
            "--verbs-tls",
            "--verbs-client-certificate=required",
            "--scheduler-name=slice-scheduler",
            "--unconverted-namespaces=kube-system,gpu",
            "--leader-elect",
            "--stream-address=[::]:9444",
            "--metrics-address=127.0.0.1:9091",
            "--history-memory=64Mi",
            "--cluster-name=prod eu-1",
            "--node-plugin-service-account=gpu:slice-node-plugin",
            "--assignment-ack-timeout-ms=500",
            "--load-stale-after-ms=30000",
            "--measured-after-ms=750");
    assertThat(config.measuredAfterMs()).isEqualTo(750);
    assertThat(config.historyBytesMax()).isEqualTo(64 << 20);
    assertThat(config.clusterName()).isEqualTo("prod eu-1");
    assertThat(config.resources()).hasSize(2);
    assertThat(config.policy()).isEqualTo(Policy.PACKED);
    assertThat(config.verbsTls()).isTrue();
    assertThat(config.verbsClientCertificate()).isTrue();
    assertThat(config.schedulerClient()).isEqualTo("slice-scheduler-client");
    assertThat(config.schedulerName()).isEqualTo("slice-scheduler");
    assertThat(config.unconvertedNamespaces()).containsExactlyInAnyOrder("kube-system", "gpu");
    assertThat(config.leaderElect()).isTrue();
    assertThat(config.stream().host()).isEqualTo("::");
    assertThat(config.serviceAccount().name()).isEqualTo("slice-node-plugin");
    assertThat(config.identity()).isEqualTo("extender-0");
    assertThat(config.podIp()).isEqualTo("fd00::7");
  }

  @Test
  void errors_areToldTogether() {
    assertThat(errors("--policy=best", "--metrics-address=9090", "--node-plugin-service-account=x"))
        .hasSizeGreaterThanOrEqualTo(3)
        .contains("--policy (TRANCHE_POLICY) is \"best\"; allowed: load, spread, packed");
  }

  @Test
  void historyMemory_isAnAmountOrNothing() {
    for (String wrong : new String[] {"much", "-1", "1Ki", "2Gi"}) {
      assertThat(errors("--history-memory=" + wrong))
          .anyMatch(e -> e.contains("\"%s\"; allowed: 0, or memory from 1Mi".formatted(wrong)));
    }
    assertThat(
            valid(
                    "--namespace=gpu",
                    "--node-plugin-service-account=gpu:tranche-node-plugin",
                    "--history-memory=0")
                .historyBytesMax())
        .isZero();
  }

  @Test
  void clientCertificates_needTls() {
    assertThat(errors("--verbs-client-certificate=required"))
        .anyMatch(e -> e.contains("allowed: off, unless --verbs-tls is set"));
    assertThat(errors("--verbs-client-certificate=yes"))
        .anyMatch(e -> e.contains("allowed: off, required"));
  }

  @Test
  void election_needsAnAddress() {
    assertThat(errors("--leader-elect", "--pod-ip=here"))
        .anyMatch(e -> e.contains("--pod-ip (POD_IP) is \"here\""));
  }

  @Test
  void namespace_mayBeAsLongAsKubernetesAllows() {
    String longest = "n".repeat(63);
    assertThat(
            valid("--namespace=" + longest, "--node-plugin-service-account=gpu:plugin").namespace())
        .isEqualTo(longest);
    assertThat(errors("--namespace=" + longest + "n")).anyMatch(e -> e.contains("--namespace"));
  }

  private static List<String> errors(String... args) {
    var errors = new ConfigErrors();
    ExtenderConfig.of(Settings.read(ExtenderSetting.class, List.of(args), Map.of(), errors));
    return errors.errors();
  }

  private static ExtenderConfig valid(String... args) {
    var errors = new ConfigErrors();
    var config =
        ExtenderConfig.of(Settings.read(ExtenderSetting.class, List.of(args), Map.of(), errors));
    assertThat(errors.errors()).isEmpty();
    return config;
  }
}
