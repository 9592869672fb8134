package dev.tranche.simulate;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.simulate.script.Script;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** What real parts of Kubernetes did in scripts. */
final class Recordings {
  private static final List<String> VERSIONS = List.of("v1.34.4", "v1.37.2");

  private Recordings() {}

  /** Returns each script with each version. */
  static Stream<Arguments> withVersions(Script<?>[] scripts) {
    return VERSIONS.stream()
        .flatMap(version -> Stream.of(scripts).map(script -> Arguments.of(version, script)));
  }

  /**
   * Returns the lines of each script, by its title.
   *
   * @param part kube-scheduler or kubelet
   */
  static Map<String, List<String>> of(String part, String version) throws IOException {
    String name = "/recorded/" + part + "-" + version + ".txt";
    Map<String, List<String>> recordings = new LinkedHashMap<>();
    try (InputStream in =
        Objects.requireNonNull(Recordings.class.getResourceAsStream(name), name)) {
      var lines = new ArrayList<String>();
      for (String line : new String(in.readAllBytes(), UTF_8).lines().toList()) {
        if (line.startsWith("# ")) {
          lines = new ArrayList<>();
          recordings.put(line.substring(2), lines);
        } else {
          lines.add(line);
        }
      }
    }
    return recordings;
  }
}
