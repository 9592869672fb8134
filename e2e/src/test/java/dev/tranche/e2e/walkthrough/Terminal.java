package dev.tranche.e2e.walkthrough;

import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.cluster.Output;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;

/**
 * A shell in a folder of its own, which has this repository's {@code charts} and {@code deploy}.
 */
record Terminal(Path folder, Map<String, String> variables) {

  static Terminal open(Path folder, Artifacts artifacts, String kubeconfigYaml) {
    try {
      Path bin = Files.createDirectories(folder.resolve("bin"));
      Files.writeString(folder.resolve("kubeconfig"), kubeconfigYaml);
      program(bin.resolve("helm"), helm(artifacts));
      program(
          bin.resolve("kubectl"), "exec -a kubectl %s \"$@\"".formatted(artifacts.tool("kubectl")));
      Files.createSymbolicLink(folder.resolve("charts"), artifacts.root().resolve("charts"));
      copyDeploy(artifacts, Files.createDirectory(folder.resolve("deploy")));
      return new Terminal(folder, new HashMap<>());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String helm(Artifacts artifacts) {
    int colon = artifacts.image().lastIndexOf(':');
    return """
    case $1 in
      install | upgrade | template) exec %1$s "$@" --set image.repository=%2$s --set image.tag=${IMAGE_TAG:-%3$s} --set nvidiaDriverRoot=%4$s \
        --set nodePlugin.env.TRANCHE_MPS_CONTROL_PROGRAM=/driver-root/usr/bin/nvidia-cuda-mps-control \
        --set nodePlugin.env.TRANCHE_FAKENVML_COMPUTE_MODES=/mps ;;
      *) exec %1$s "$@" ;;
    esac
    """
        .formatted(
            artifacts.tool("helm"),
            artifacts.image().substring(0, colon),
            artifacts.image().substring(colon + 1),
            Node.DRIVER_ROOT);
  }

  /** With the image that a reader would write there, and the place of the simulated driver. */
  private static void copyDeploy(Artifacts artifacts, Path to) throws IOException {
    try (var files = Files.newDirectoryStream(artifacts.root().resolve("deploy"), "*.yaml")) {
      for (Path file : files) {
        String text =
            Files.readString(file)
                .replaceAll("tranche/tranche:\\d[\\w.-]*", artifacts.image())
                .replace(
                    "kube-scheduler:" + KubernetesVersion.DEFAULT,
                    "kube-scheduler:" + KubernetesVersion.ofClusters())
                .replaceAll(
                    "newTag: .*", "newTag: \"" + artifacts.image().replaceFirst(".*:", "") + "\"")
                .replace(
                    "NVIDIA_DRIVER_ROOT, value: \"/\"",
                    "NVIDIA_DRIVER_ROOT, value: " + Node.DRIVER_ROOT)
                .replaceAll(
                    "hostPath: \\{path: \"(/usr|/lib|/dev)\"}",
                    "hostPath: {path: " + Node.DRIVER_ROOT + "$1}");
        Files.writeString(to.resolve(file.getFileName()), text);
      }
    }
  }

  private static void program(Path file, String script) throws IOException {
    Files.writeString(file, "#!/usr/bin/env bash\n" + script + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  /** A word that the reader fills in: {@code $NODE}. */
  void set(String variable, String value) {
    variables.put(variable, value);
  }

  /** Runs commands one after the other; the first that fails is the last. */
  Output type(String commands) {
    Path errors = folder.resolve("stderr");
    try {
      var builder =
          new ProcessBuilder("bash", "-euo", "pipefail", "-c", commands)
              .directory(folder.toFile())
              .redirectError(errors.toFile());
      var environment = builder.environment();
      environment.putAll(variables);
      environment.put("KUBECONFIG", folder.resolve("kubeconfig").toString());
      environment.put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
      environment.put("HELM_CACHE_HOME", folder.resolve("helm").toString());
      Shell.Result ended = Shell.run(builder);
      return new Output(ended.status(), ended.output(), Files.readString(errors));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
