package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each entry of the column "cannot" of SECURITY.md has tests that try it in vain. */
class SecurityPageTest {
  private static final String EXTENDER = "extender ";
  private static final String WEBHOOK = "webhook ";
  private static final String E2E = "e2e ";

  /**
   * An entry of the page.
   *
   * @param words how it begins
   * @param tests each by module, class and the beginning of its method's name
   */
  private record Claim(String words, List<String> tests) {
    static Claim of(String words, String... tests) {
      return new Claim(words, List.of(tests));
    }
  }

  private static final List<Claim> CLAIMS =
      List.of(
          Claim.of(
              "under [the guard's mode `deny`]",
              E2E + "GuardPolicyE2E#pod_isRefusedAsTheFileSays",
              E2E + "GuardPolicyE2E#annotationThatIsADevice_",
              E2E + "GuardPolicyE2E#podThatTheWebhookDidNotChange_"),
          Claim.of(
              "hold the extender's decisions for seconds with one pod",
              EXTENDER + "HostilePodsTest#",
              EXTENDER + "VerbsTest#listsOfAPod_areReadOnceForAllNodes",
              EXTENDER + "PreemptTurnsTest#hundredNodes"),
          Claim.of(
              "fill the extender's memory with pods or budgets",
              EXTENDER + "KeptPodsTest#whatTenantsWrite_",
              EXTENDER + "KeptPodsTest#podsOnNodesThatAreNot_",
              EXTENDER + "BudgetStoreTest#"),
          Claim.of("end the webhook with a large pod", WEBHOOK + "HostileReviewsIT#"),
          Claim.of(
              "read another namespace by the API",
              EXTENDER + "NamespaceViewIT#tenant_seesNobodyElse",
              EXTENDER + "NamespaceViewIT#tenant_readsNoOtherNamespace",
              EXTENDER + "NamespaceViewIT#tenant_readsNothingOfTheCluster",
              EXTENDER + "NamespaceViewIT#whatIf_withTheUidOfAnotherTenantsPod_"),
          Claim.of(
              "pose as the API server or as another user",
              EXTENDER + "NamespaceViewIT#onlyTheApiServer_mayCallItsPort",
              EXTENDER + "NamespaceViewIT#headersOfTheApiServer_countAlone"),
          Claim.of(
              "cause events with names that Kubernetes does not take",
              WEBHOOK + "AdmissionEventsIT#"),
          Claim.of(
              "forge lines of a log, an event or a page",
              WEBHOOK + "HostileTextTest#",
              EXTENDER + "StrangersIT#pagesThatAreNotThere_"),
          Claim.of(
              "end a part by the connections and requests",
              WEBHOOK + "FloodedPortsIT#allThatThePortsAllow_",
              EXTENDER + "FloodedExtenderIT#",
              "node-plugin MetricsServerIT#"),
          Claim.of(
              "change anything",
              EXTENDER + "ReadApiIT#otherMethods_areRefused",
              EXTENDER + "ReadApiIT#podThatFits_isToldWhereItWouldGo_andNothingIsHeld"),
          Claim.of("read more at once than the limits allow", EXTENDER + "EndpointIT#"),
          Claim.of(
              "reach it by another `Host`", EXTENDER + "ReadApiIT#otherNames_areRefusedOnLoopback"),
          Claim.of(
              "report for another node", EXTENDER + "ExtenderIT#reportForAnotherNode_isRefused"),
          Claim.of(
              "fill the extender's memory by reports",
              EXTENDER + "ReportBoundsTest#",
              EXTENDER + "LoadCacheTest#podsThatAllNodesName_"),
          Claim.of("hold its decisions by reports", EXTENDER + "ReportBoundsTest#flood"),
          Claim.of("read Secrets except the one", E2E + "RightsTest#nobodyReadsAllSecrets_"),
          Claim.of(
              "change its configuration otherwise",
              E2E + "GuardPolicyE2E#webhooksAccount_writesItsCaBundle_"),
          Claim.of("create Secrets, which could", E2E + "RightsTest#nobodyMayCreateSecrets_"),
          Claim.of("change workloads", E2E + "RightsTest#nobodyReadsAllSecrets_orWritesWorkloads"));

  @Test
  void everyEntry_hasItsTests() throws IOException {
    List<String> entries = entries();
    assertThat(entries)
        .hasSize(CLAIMS.size())
        .allMatch(entry -> CLAIMS.stream().anyMatch(claim -> entry.startsWith(claim.words())));
    for (Claim claim : CLAIMS) {
      assertThat(entries).as(claim.words()).anyMatch(entry -> entry.startsWith(claim.words()));
      for (String test : claim.tests()) {
        assertThat(exists(test)).as(test).isTrue();
      }
    }
  }

  private static List<String> entries() throws IOException {
    return Files.readAllLines(Path.of("../SECURITY.md")).stream()
        .dropWhile(line -> !line.startsWith("| who |"))
        .skip(1)
        .takeWhile(line -> line.startsWith("|"))
        .filter(line -> line.startsWith("| "))
        .map(line -> line.split(" \\| ")[2].replaceFirst(" \\|$", ""))
        .flatMap(cell -> Stream.of(cell.split("; ")))
        .toList();
  }

  private static boolean exists(String test) throws IOException {
    String[] parts = test.split("[ #]", -1);
    for (Path file : Sources.of(parts[0], "test")) {
      if (file.endsWith(parts[1] + ".java")) {
        return Files.readString(file).contains("  void " + parts[2]);
      }
    }
    return false;
  }
}
