package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.readiness.Readiness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * cert-manager's own controllers make the certificates: they are served, renewed while pods are
 * admitted, and signed by another authority.
 */
@Tag("matrix")
@Order(1_160)
class CertManagerE2E {
  private static final String NODE = "one";
  private static final Path POD_RESOURCES = UndisturbedPods.podResources("cert-manager");
  private static final String WEBHOOK = "tranche-webhook-tls";
  private static final String EXTENDER = "tranche-extender-tls";
  private static final String SCHEDULER_CLIENT = "tranche-scheduler-client-tls";
  private static final String RESTART =
      """
      kubectl -n tranche rollout restart deployment
      kubectl -n tranche rollout status deployment --timeout=180s
      """;
  private static final String OWN_ISSUER =
      """
      kubectl apply -n tranche -f - <<'EOF'
      apiVersion: cert-manager.io/v1
      kind: Issuer
      metadata: {name: mine-itself}
      spec: {selfSigned: {}}
      ---
      apiVersion: cert-manager.io/v1
      kind: Certificate
      metadata: {name: mine}
      spec:
        isCA: true
        commonName: mine
        secretName: mine
        privateKey: {algorithm: ECDSA, size: 256}
        issuerRef: {name: mine-itself, kind: Issuer}
      ---
      apiVersion: cert-manager.io/v1
      kind: Issuer
      metadata: {name: mine}
      spec: {ca: {secretName: mine}}
      EOF
      helm upgrade tranche charts/tranche -n tranche --reuse-values \
        --set webhook.certManager.issuerRef.name=mine --set webhook.certManager.issuerRef.kind=Issuer
      """;
  private static final String DELETE_OWN_ISSUER =
      "kubectl delete -n tranche certificate/mine issuer/mine issuer/mine-itself secret/mine";
  private static final String ASK =
      "curl -sS --cacert ca.crt --resolve tranche-extender.tranche.svc:$PORT:127.0.0.1"
          + " -H 'Content-Type: application/json' -d '{\"Pod\": {}}'"
          + " https://tranche-extender.tranche.svc:$PORT/filter";

  @Test
  void page_servesWhatCertManagerMakes_renewsItUnderTraffic_andFollowsAnotherAuthority()
      throws Exception {
    try (var reader = Walkthrough.start("../operations.md", NODE, POD_RESOURCES);
        var certManager = CertManager.start(reader, Shell.built("cert-manager"))) {
      var pods = new UndisturbedPods(reader, POD_RESOURCES);
      reader.type("Certificates");
      reader.awaitAllocatable(NODE, 2 * Tranche.DEFAULT_REPLICAS_PER_GPU);
      pods.run(PodSpecs.fraction("first", "0.3"));
      certManagerMadeThem(reader, certManager);

      try (var traffic = Traffic.start(reader);
          var admissions = Admissions.start(reader)) {
        certManager.renew(WEBHOOK);
        certManager.renew(EXTENDER);
        awaitServed(reader, certManager);
        admissions.stopAndCheck();
        traffic.stopAndCheck();
      }

      certManager.replaceAuthority();
      certManager.renew(WEBHOOK);
      certManager.renew(EXTENDER);
      awaitServed(reader, certManager);
      try (var admissions = Admissions.start(reader)) {
        reader.typeOwn(RESTART);
        admissions.stopAndCheck();
      }
      pods.run(PodSpecs.fraction("last", "0.3"));
      pods.check();
      schedulersCertificate_opensTheVerbs(reader, certManager);
      try (var admissions = Admissions.start(reader)) {
        ownIssuer_signsFromNowOn(reader, certManager);
        admissions.stopAndCheck();
      }

      reader.type("Uninstall");
      reader.awaitAllocatable(NODE, 0);
      reader.typeOwn(DELETE_OWN_ISSUER);
      reader.nothingIsLeft(NODE);
      // Requests go with their Certificates, by the garbage collector.
      Await.until("all of cert-manager's to be gone", 60, () -> requested(reader).isEmpty());
      pods.check();
    }
  }

  private static String requested(Walkthrough reader) {
    return reader.typeOwn("kubectl get certificates,certificaterequests,issuers -A -o name");
  }

  private static void certManagerMadeThem(Walkthrough reader, CertManager certManager) {
    var webhook = certManager.secret(WEBHOOK);
    assertThat(webhook.getMetadata().getAnnotations())
        .containsEntry("cert-manager.io/certificate-name", WEBHOOK);
    assertThat(reader.client().secrets().inNamespace("tranche").withName("tranche-ca").get())
        .isNull();
    assertThat(
            reader
                .client()
                .admissionRegistration()
                .v1()
                .mutatingWebhookConfigurations()
                .withName("tranche")
                .require()
                .getWebhooks())
        .allSatisfy(
            entry ->
                assertThat(entry.getClientConfig().getCaBundle())
                    .isEqualTo(webhook.getData().get("ca.crt")));
  }

  /** For a kube-scheduler of the cluster's own one more is made, and the extender believes it. */
  private static void schedulersCertificate_opensTheVerbs(
      Walkthrough reader, CertManager certManager) {
    reader.typeOwn(
        "helm upgrade tranche charts/tranche -n tranche --reuse-values --set"
            + " extender.mode=service");
    Await.until("the extender to serve the verbs", 120, () -> leader(reader).isPresent());
    Await.until("kube-scheduler's certificate", 60, () -> made(reader), certManager::log);
    var leader =
        reader.client().pods().inNamespace("tranche").withName(leader(reader).orElseThrow());
    try (var forward = leader.portForward(8443)) {
      reader.terminal().set("PORT", String.valueOf(forward.getLocalPort()));
      reader.typeOwn(
          """
          for file in tls.crt tls.key; do
            kubectl -n tranche get secret tranche-scheduler-client-tls -o jsonpath="{.data.${file/./\\\\.}}" | base64 -d > $file
          done
          kubectl -n tranche get configmap tranche-ca -o jsonpath='{.data.ca\\.crt}' > ca.crt
          """);
      assertThat(reader.typeOwn(ASK + " --cert tls.crt --key tls.key")).contains("NodeNames");
      assertThat(reader.terminal().type(ASK).exitCode()).isNotZero();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void ownIssuer_signsFromNowOn(Walkthrough reader, CertManager certManager) {
    reader.typeOwn(OWN_ISSUER);
    for (String secret : List.of(WEBHOOK, EXTENDER, SCHEDULER_CLIENT)) {
      Await.until(
          secret + " by an issuer of one's own",
          60,
          () ->
              certManager.certificate(secret).getIssuerX500Principal().getName().equals("CN=mine"),
          certManager::log);
    }
    awaitServed(reader, certManager);
    assertThat(reader.typeOwn("kubectl get issuers -n tranche -o name"))
        .doesNotContain("tranche-ca");
  }

  private static boolean made(Walkthrough reader) {
    Secret secret =
        reader.client().secrets().inNamespace("tranche").withName(SCHEDULER_CLIENT).get();
    return secret != null && secret.getData().containsKey("tls.crt");
  }

  private static Optional<String> leader(Walkthrough reader) {
    var lease = reader.client().leases().inNamespace("tranche").withName("tranche-extender").get();
    return lease == null ? Optional.empty() : ready(reader, lease.getSpec().getHolderIdentity());
  }

  private static Optional<String> ready(Walkthrough reader, String holder) {
    return reader.pods("tranche", "app.kubernetes.io/component", "extender").stream()
        .filter(pod -> pod.getSpec().getContainers().size() == 1)
        .filter(Readiness::isPodReady)
        .map(pod -> pod.getMetadata().getName())
        .filter(name -> name.equals(holder))
        .findFirst();
  }

  /** Until every webhook serves the Secret's certificate and knows the extender's. */
  private static void awaitServed(Walkthrough reader, CertManager certManager) {
    List<String> ends =
        List.of(expiry(certManager, "webhook", WEBHOOK), expiry(certManager, "extender", EXTENDER));
    Await.until(
        "the renewed certificates to be served",
        90,
        () -> metrics(reader).stream().allMatch(page -> ends.stream().allMatch(page::contains)),
        () -> ends + "\n" + metrics(reader));
  }

  private static String expiry(CertManager certManager, String certificate, String secret) {
    long seconds = certManager.certificate(secret).getNotAfter().toInstant().getEpochSecond();
    return "tranche_webhook_certificate_expiry_timestamp_seconds{certificate=\"%s\"} %s"
        .formatted(certificate, (double) seconds);
  }

  private static List<String> metrics(Walkthrough reader) {
    return reader.pods("tranche", "app.kubernetes.io/component", "webhook").stream()
        .map(Pod::getMetadata)
        .map(
            pod -> "/api/v1/namespaces/tranche/pods/%s:9090/proxy/metrics".formatted(pod.getName()))
        .map(page -> page(reader, page))
        .toList();
  }

  /** Empty of a pod that leaves. */
  private static String page(Walkthrough reader, String path) {
    try {
      return Objects.requireNonNullElse(reader.client().raw(path), "");
    } catch (KubernetesClientException gone) {
      return "";
    }
  }
}
