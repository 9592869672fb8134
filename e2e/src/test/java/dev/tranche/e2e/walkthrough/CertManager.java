package dev.tranche.e2e.walkthrough;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ChildProcess;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** cert-manager's controllers, as a process of this machine that is the cluster's administrator. */
final class CertManager implements AutoCloseable {
  private static final String NAMESPACE = "tranche";
  private static final ResourceDefinitionContext CERTIFICATES =
      new ResourceDefinitionContext.Builder()
          .withGroup("cert-manager.io")
          .withVersion("v1")
          .withKind("Certificate")
          .withNamespaced(true)
          .build();

  private final Walkthrough reader;
  private final ChildProcess process;

  private CertManager(Walkthrough reader, ChildProcess process) {
    this.reader = reader;
    this.process = process;
  }

  /**
   * @param built the folder that {@code e2e/build.sh cert-manager} prints
   */
  static CertManager start(Walkthrough reader, Path built) throws IOException {
    reader.typeOwn(
        "kubectl create -f %s/crds && kubectl wait --for condition=established --timeout=60s -f %1$s/crds"
            .formatted(built));
    Path folder = reader.terminal().folder();
    var process =
        ChildProcess.start(
            folder.resolve("cert-manager.log"),
            List.of(
                built.resolve("cert-manager").toString(),
                "--kubeconfig",
                folder.resolve("kubeconfig").toString()));
    return new CertManager(reader, process);
  }

  /** What {@code cmctl renew} does, and time when it is due. */
  void renew(String certificate) {
    String before = String.valueOf(secret(certificate).getData().get("tls.crt"));
    reader
        .client()
        .genericKubernetesResources(CERTIFICATES)
        .inNamespace(NAMESPACE)
        .withName(certificate)
        .editStatus(CertManager::due);
    Await.until(
        certificate + " to be another",
        60,
        () -> !before.equals(secret(certificate).getData().get("tls.crt")),
        this::log);
  }

  private static GenericKubernetesResource due(GenericKubernetesResource certificate) {
    Map<String, String> issuing =
        Map.of(
            "type",
            "Issuing",
            "status",
            "True",
            "reason",
            "ManuallyTriggered",
            "message",
            "Renewed by a test.",
            "lastTransitionTime",
            Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    Map<String, Object> status = certificate.get("status");
    List<Object> conditions = new ArrayList<>(certificate.<List<?>>get("status", "conditions"));
    conditions.add(issuing);
    status.put("conditions", conditions);
    return certificate;
  }

  /** Throws the key of the chart's authority away, so that another signs what is renewed. */
  void replaceAuthority() {
    String name = "tranche-issuing-ca";
    String before = String.valueOf(secret(name).getData().get("tls.crt"));
    reader.client().secrets().inNamespace(NAMESPACE).withName(name).delete();
    Await.until(
        "another authority",
        60,
        () -> {
          Secret now = reader.client().secrets().inNamespace(NAMESPACE).withName(name).get();
          return now != null
              && now.getData().containsKey("tls.crt")
              && !before.equals(now.getData().get("tls.crt"));
        },
        this::log);
  }

  Secret secret(String name) {
    return reader.client().secrets().inNamespace(NAMESPACE).withName(name).require();
  }

  X509Certificate certificate(String secret) {
    byte[] pem = Base64.getDecoder().decode(secret(secret).getData().get("tls.crt"));
    try {
      return (X509Certificate)
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(pem));
    } catch (CertificateException e) {
      throw new AssertionError(secret + " holds no certificate", e);
    }
  }

  String log() {
    return process.tail();
  }

  @Override
  public void close() {
    process.close();
  }
}
