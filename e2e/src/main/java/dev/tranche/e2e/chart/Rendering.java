package dev.tranche.e2e.chart;

import com.marcnuri.helm.Helm;
import dev.tranche.e2e.cluster.KubernetesVersion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * One file of {@code deploy/}: the chart with some values, as Helm renders it.
 *
 * @param file name in {@code deploy/}
 * @param purpose one line at the file's head
 * @param values by Helm's {@code --set} paths
 */
public record Rendering(String file, String purpose, String namespace, Map<String, Object> values) {
  private static final String NAMESPACE = "tranche";
  private static final String KUBE_SYSTEM = "kube-system";

  public static final Iterable<Rendering> ALL =
      List.of(
          new Rendering(
              "tranche.yaml",
              "All of Tranche, 20 replicas per GPU, its own kube-scheduler beside the extender.",
              Map.of()),
          new Rendering(
              "tranche-existing-scheduler.yaml",
              "All of Tranche, 20 replicas per GPU, for a kube-scheduler that you configure: see"
                  + " scheduler-existing.yaml.",
              Map.of("extender.mode", "service")),
          new Rendering(
              "node-plugin-only.yaml",
              "Only the node plugin, whole GPUs: in the place of NVIDIA's device plugin.",
              Map.of("webhook.enabled", false, "extender.enabled", false, "replicas", 1)),
          new Rendering(
              "bare-cluster.yaml",
              "Only the node plugin, whole GPUs, on nodes with the label gpus=true.",
              KUBE_SYSTEM,
              Map.of(
                  "webhook.enabled",
                  false,
                  "extender.enabled",
                  false,
                  "replicas",
                  1,
                  "nodeSelector.gpus",
                  "true")),
          new Rendering(
              "guard-only.yaml",
              "Only the webhook, for its guard: no pod sees GPUs that it has not requested.",
              Map.of("nodePlugin.enabled", false, "extender.enabled", false, "replicas", 1)));

  /** In the usual namespace. */
  public Rendering(String file, String purpose, Map<String, Object> values) {
    this(file, purpose, NAMESPACE, values);
  }

  /** The file's whole text. */
  public String render(Path chart) {
    var template =
        new Helm(chart)
            .template()
            .withName("tranche")
            .withNamespace(namespace)
            // Of the kube-scheduler image; without this, Helm takes the cluster's own version.
            .withKubeVersion(KubernetesVersion.DEFAULT);
    values.forEach(template::set);
    return "# %s\n# Rendered from charts/tranche; ./check compares, and `./check --render` writes it again.\n"
            .formatted(purpose)
        + (namespace.equals(KUBE_SYSTEM)
            ? ""
            : "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n  labels:\n    pod-security.kubernetes.io/enforce: %s\n"
                .formatted(namespace, podSecurity()))
        + template.call().strip()
        + "\n";
  }

  /**
   * Returns the Pod Security level: the node plugin mounts folders of the node and needs its PID
   * namespace; the other parts need no privileges.
   */
  private String podSecurity() {
    return Boolean.FALSE.equals(values.get("nodePlugin.enabled")) ? "restricted" : "privileged";
  }

  public String committed(Path deploy) {
    try {
      Path path = deploy.resolve(file);
      return Files.exists(path) ? Files.readString(path) : "";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Writes every file: {@code Rendering <chart> <deploy>}. */
  public static void main(String[] args) throws IOException {
    for (Rendering rendering : ALL) {
      Files.writeString(Path.of(args[1], rendering.file()), rendering.render(Path.of(args[0])));
    }
  }
}
