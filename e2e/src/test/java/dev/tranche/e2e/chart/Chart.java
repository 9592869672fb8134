package dev.tranche.e2e.chart;

import com.marcnuri.helm.Helm;
import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The chart, rendered for tests. */
final class Chart {
  static final Path FOLDER = Path.of("../charts/tranche");

  private Chart() {}

  /**
   * @param values by Helm's {@code --set} paths
   */
  static String render(Map<String, Object> values) {
    return new Rendering("none", "none", "tranche", values).render(FOLDER);
  }

  /**
   * @param settings as Helm's {@code --set} takes them
   */
  static String render(String... settings) {
    return render(values(settings));
  }

  /** What Helm prints after it has installed the chart. */
  static String notes(Map<String, Object> values) {
    var install =
        new Helm(FOLDER)
            .install()
            .withName("tranche")
            .withNamespace("tranche")
            .withKubeVersion(KubernetesVersion.DEFAULT)
            .clientOnly()
            .dryRun();
    values.forEach(install::set);
    String output = install.call().getOutput();
    return output.substring(output.indexOf("\nNOTES:"));
  }

  static Map<String, Object> values(String... settings) {
    return Stream.of(settings)
        .map(setting -> setting.split("=", 2))
        .collect(Collectors.toMap(parts -> parts[0], parts -> parts[1]));
  }

  /**
   * @param folder for the file
   * @param values as a values file has them
   */
  static String renderFile(Path folder, String values) throws IOException {
    Path file = Files.writeString(folder.resolve("values.yaml"), values);
    return new Helm(FOLDER)
        .template()
        .withName("tranche")
        .withNamespace("tranche")
        .withKubeVersion(KubernetesVersion.DEFAULT)
        .withValuesFile(file)
        .call();
  }

  /** What Helm's command renders, hooks included, unlike the library that {@link #render} uses. */
  static String helmTemplate(String arguments) throws IOException {
    return Shell.output(
        "\"$("
            + Path.of("../.build/tool.sh").toAbsolutePath()
            + " helm)\" template tranche ../charts/tranche -n tranche --kube-version "
            + KubernetesVersion.DEFAULT
            + " "
            + arguments);
  }

  static Stream<String> documents(String rendered) {
    return Stream.of(rendered.split("\n---\n"));
  }
}
