package dev.tranche.e2e.install;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.e2e.cluster.Cluster;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The cluster's own kube-scheduler, configured as in {@code deploy/scheduler-existing.yaml}. Its
 * file has no extender at first, and is filled in when Tranche is installed.
 */
final class ExistingScheduler {
  /** The path of our folder on the server. */
  static final String MOUNT = "/etc/tranche-e2e";

  private static final String KUBECONFIG = "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig";

  private static final int CERTIFICATE_LIMIT_S = 60;

  private final Path folder;
  private boolean used;

  ExistingScheduler(Path folder) {
    this.folder = folder;
    withoutExtender();
  }

  private void withoutExtender() {
    write(
        "scheduler.yaml",
        """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        leaderElection: {leaderElect: false}
        clientConnection: {kubeconfig: %s}
        """
            .formatted(KUBECONFIG));
  }

  static String serverArg() {
    return "--kube-scheduler-arg=config=" + MOUNT + "/scheduler.yaml";
  }

  boolean isUsed() {
    return used;
  }

  /**
   * Configures and restarts kube-scheduler, unless it already runs as wanted.
   *
   * @param shipped its configuration with an extender, or null for the one without
   */
  void apply(Cluster cluster, @Nullable Path shipped) {
    if (used == (shipped != null)) {
      return;
    }
    if (shipped == null) {
      withoutExtender();
    } else {
      configure(cluster.client(), shipped);
    }
    cluster.restartScheduler();
    used = shipped != null;
  }

  /** Fills in the shipped file, as the comment at its head instructs. */
  private void configure(KubernetesClient client, Path shipped) {
    var ca = client.configMaps().inNamespace(Tranche.NAMESPACE).withName("tranche-ca").get();
    write("ca.crt", String.valueOf(ca.getData().get("ca.crt")));
    var own =
        client.secrets().inNamespace(Tranche.NAMESPACE).withName("tranche-scheduler-client-tls");
    Await.until(
        "kube-scheduler's certificate", CERTIFICATE_LIMIT_S, () -> hasCertificate(own.get()));
    for (String file : List.of("tls.crt", "tls.key")) {
      String encoded = String.valueOf(own.get().getData().get(file));
      write(file, new String(Base64.getDecoder().decode(encoded), UTF_8));
    }
    var service =
        client.services().inNamespace(Tranche.NAMESPACE).withName("tranche-extender-verbs");
    write(
        "scheduler.yaml",
        read(shipped)
            .replace("https://CLUSTER_IP", "https://" + service.get().getSpec().getClusterIP())
            .replace("caFile: CA_FILE", "caFile: " + MOUNT + "/ca.crt")
            .replace("certFile: CERT_FILE", "certFile: " + MOUNT + "/tls.crt")
            .replace("keyFile: KEY_FILE", "keyFile: " + MOUNT + "/tls.key")
            .replace("kubeconfig: /etc/kubernetes/scheduler.conf", "kubeconfig: " + KUBECONFIG)
            .concat("leaderElection: {leaderElect: false}\n"));
  }

  private static boolean hasCertificate(@Nullable Secret secret) {
    return secret != null && secret.getData() != null && secret.getData().containsKey("tls.crt");
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(String name, String text) {
    try {
      Files.createDirectories(folder);
      Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
