package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static dev.tranche.e2e.chart.Chart.render;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** SECURITY.md tells what is rendered, no more and no less. */
class RightsTest {

  @Test
  void documentedRights_areThoseOfTheRendering() throws IOException {
    assertThat(documented("## Rights"))
        .containsExactlyInAnyOrderElementsOf(Rights.of(render(Map.of())));
  }

  @Test
  void everyRight_hasItsReason() throws IOException {
    List<String> rights =
        Files.readAllLines(Path.of("../SECURITY.md")).stream()
            .filter(line -> line.startsWith("| `tranche-"))
            .toList();
    assertThat(rights)
        .hasSizeGreaterThan(40)
        .allMatch(line -> line.matches("(\\|[^|]*)*\\|[^|]*[a-z]{2}[^|]*\\|"));
  }

  @Test
  void lessInstalled_hasNoRightMore() throws IOException {
    List<String> all = documented("## Rights");
    for (Map<String, Object> less :
        List.<Map<String, Object>>of(
            Map.of("extender.enabled", false),
            Map.of("guard.enabled", false),
            Map.of("extender.api.enabled", false),
            Map.of("extender.enabled", false, "webhook.enabled", false))) {
      assertThat(all).containsAll(Rights.of(render(less)));
    }
  }

  @Test
  void kubeSchedulerOfOnesOwn_takesItsRights_andTheServiceBringsItsOwn() throws IOException {
    List<String> expected =
        Stream.concat(
                documented("## Rights").stream()
                    .filter(line -> !line.contains("all of "))
                    .filter(line -> !(line.contains("secrets") && line.contains("webhook"))),
                documented("## Rights with a kube-scheduler of yours").stream())
            .toList();
    assertThat(Rights.of(render(Map.of("extender.mode", "service"))))
        .containsExactlyInAnyOrderElementsOf(expected);
  }

  @Test
  void aggregatedApi_bringsItsOwnRights_inEachMode() throws IOException {
    List<String> added = documented("## Rights of the aggregated API");
    for (String mode : List.of("scheduler", "service")) {
      List<String> without = Rights.of(render(Map.of("extender.mode", mode)));
      List<String> expected = Stream.concat(without.stream(), added.stream()).distinct().toList();
      assertThat(
              Rights.of(
                  render(Map.of("extender.mode", mode, "extender.api.aggregated.enabled", true))))
          .containsExactlyInAnyOrderElementsOf(expected);
    }
  }

  private static final List<Map<String, Object>> MODES =
      List.of(
          Map.of(),
          Map.of("extender.mode", "service"),
          Map.of("webhook.certManager.enabled", true),
          Map.of("webhook.certManager.enabled", true, "extender.mode", "service"),
          Map.of("extender.enabled", false),
          Map.of("nodePlugin.enabled", false, "extender.enabled", false));

  /** Who may create a Secret and read it could make it another account's token. */
  @Test
  void nobodyMayCreateSecrets_orTokens_orRights() {
    for (Map<String, Object> mode : MODES) {
      assertThat(Powers.of(Rights.of(render(mode))))
          .noneMatch(line -> line.contains("create secrets"))
          .noneMatch(line -> line.contains("serviceaccounts/token"))
          .noneMatch(line -> line.contains("rbac.authorization"));
    }
  }

  @Test
  void secretsThatTheWebhookWrites_areMadeByTheChart_withoutData() {
    for (Map<String, Object> mode : MODES) {
      List<String> made =
          documents(render(mode))
              .filter(document -> document.contains("\nkind: Secret\n"))
              .peek(document -> assertThat(document).doesNotContain("\ndata:", "\ntype:"))
              .map(document -> Serialization.unmarshal(document, Secret.class))
              .map(secret -> secret.getMetadata().getName())
              .toList();
      List<String> written =
          Rights.of(render(mode)).stream()
              .filter(line -> line.contains(" secrets named ") && line.contains("update"))
              .flatMap(line -> Stream.of(line.split(" named ")[1].split(" \\|")[0].split(", ")))
              .toList();
      // With cert-manager, that fills them, and has its own CA.
      assertThat(made).containsAll(written);
      assertThat(made.contains("tranche-ca")).isEqualTo(written.contains("tranche-ca"));
    }
  }

  @Test
  void pageSaysWhatAStolenAccountIsWorth() throws IOException {
    assertThat(documented("## What a stolen account is worth"))
        .containsExactlyInAnyOrderElementsOf(Powers.of(Rights.of(render(Map.of()))));
  }

  @Test
  void nobodyReadsAllSecrets_orWritesWorkloads() {
    assertThat(Rights.of(render(Map.of())))
        .noneMatch(line -> line.contains("*"))
        .noneMatch(line -> line.contains("secrets |"))
        .noneMatch(
            line ->
                (line.contains("deployments") || line.contains("daemonsets"))
                    && !line.endsWith("| get |"));
  }

  @Test
  void webhookAndExtender_fitTheLevelRestricted() {
    List<PodSpec> specs =
        documents(render(Map.of()))
            .filter(document -> document.contains("\nkind: Deployment\n"))
            .map(text -> Serialization.unmarshal(text, Deployment.class))
            .map(deployment -> deployment.getSpec().getTemplate().getSpec())
            .toList();
    assertThat(specs)
        .hasSize(2)
        .allSatisfy(
            pod -> {
              assertThat(pod.getHostPID()).isNull();
              assertThat(pod.getHostNetwork()).isNull();
              assertThat(pod.getVolumes()).allMatch(volume -> volume.getHostPath() == null);
              assertThat(pod.getSecurityContext().getRunAsNonRoot()).isTrue();
              assertThat(pod.getSecurityContext().getSeccompProfile().getType())
                  .isEqualTo("RuntimeDefault");
              assertThat(pod.getContainers())
                  .allSatisfy(
                      container -> {
                        var security = container.getSecurityContext();
                        assertThat(security.getAllowPrivilegeEscalation()).isFalse();
                        assertThat(security.getCapabilities().getDrop()).containsExactly("ALL");
                      });
            });
  }

  @Test
  void plainYaml_statesItsNamespacesLevel() {
    assertThat(Rendering.ALL)
        .filteredOn(rendering -> !rendering.namespace().equals("kube-system"))
        .allSatisfy(
            rendering ->
                assertThat(rendering.render(Chart.FOLDER))
                    .contains(
                        "pod-security.kubernetes.io/enforce: "
                            + (rendering.file().startsWith("guard")
                                ? "restricted"
                                : "privileged")));
  }

  /** A section's table without its last column, which says why. */
  static List<String> documented(String heading) throws IOException {
    String page = Files.readString(Path.of("../SECURITY.md"));
    String section = page.substring(page.indexOf("\n" + heading + "\n") + heading.length() + 2);
    return section
        .split("\n## ", 2)[0]
        .lines()
        .filter(line -> line.startsWith("| `"))
        .map(line -> line.substring(0, line.lastIndexOf('|', line.length() - 2) + 1))
        .toList();
  }
}
