package dev.tranche.webhook.request;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.webhook.pod.Messages;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class PlacementAnnotationsTest {
  private static final String PREFIX = "tranche.dev/";

  /** The chart's policy warns of the same names in templates of workloads. */
  @Test
  void knownAnnotations_areThoseOfTheChart() throws IOException, IllegalAccessException {
    String chart = Files.readString(Path.of("../charts/tranche/templates/_admission.tpl"));
    String list =
        chart
            .lines()
            .filter(
                line -> line.startsWith("{{- list \"gpu\"") || line.contains("$known := append"))
            .collect(Collectors.joining());
    Set<String> listed =
        Pattern.compile("\"([a-z-]+)\"")
            .matcher(list)
            .results()
            .map(word -> PREFIX + word.group(1))
            .collect(Collectors.toCollection(TreeSet::new));
    // Of the extender's own pods.
    assertThat(listed.remove(PREFIX + "scheduler-config")).isTrue();
    var known = new TreeSet<String>();
    for (var field : Arrays.asList(Names.class.getFields())) {
      if (field.get(null) instanceof String name && name.startsWith(PREFIX) && isKnown(name)) {
        known.add(name);
      }
    }
    known.removeIf(name -> name.endsWith("."));
    assertThat(known).isEqualTo(listed);
  }

  private static boolean isKnown(String annotation) {
    var messages = new Messages();
    PlacementAnnotations.warnOfUnknown(Map.of(annotation, ""), messages);
    return messages.warnings().isEmpty();
  }
}
