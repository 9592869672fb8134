package dev.tranche.e2e.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The Kubernetes versions of tests, full ones such as {@code v1.34.4}. */
public final class KubernetesVersion {
  /** The version of the tests, and of the images in plain YAML. */
  public static final String DEFAULT = readDefault();

  private static final Pattern FULL = Pattern.compile("v1\\.([0-9]+)\\.[0-9]+(-[a-z0-9.]+)?");

  private KubernetesVersion() {}

  /** Returns the version of test clusters: {@code $KUBERNETES_VERSION}, or else the default. */
  public static String ofClusters() {
    return Objects.requireNonNullElse(System.getenv("KUBERNETES_VERSION"), DEFAULT);
  }

  /** Returns the minor version of test clusters, such as 37. */
  public static int minorOfClusters() {
    return minor(ofClusters());
  }

  /** Returns 34 for {@code v1.34.4}, and 38 for {@code v1.38.0-alpha.1}. */
  public static int minor(String version) {
    Matcher full = FULL.matcher(version);
    if (!full.matches()) {
      throw new IllegalArgumentException(
          "\"%s\" is no Kubernetes version; one is v1.34.4".formatted(version));
    }
    return Integer.parseInt(full.group(1));
  }

  private static String readDefault() {
    try (var lines = Files.lines(Scripts.root().resolve("e2e/stand-in/kubernetes-versions"))) {
      return lines
          .map(line -> line.split(" ", 2))
          .filter(words -> words.length == 2 && words[1].equals("default"))
          .map(words -> words[0])
          .findFirst()
          .orElseThrow();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
