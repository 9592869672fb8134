package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The figures of the table of sizes in docs/limits.md are those of the code. */
class LimitsPageTest {
  /**
   * @param row how the row begins
   * @param file module and class
   * @param constant where the code has the figure
   */
  private record Size(String row, String file, String constant) {}

  private static final List<Size> SIZES =
      List.of(
          new Size("a pod's request", "api/RequestBounds", "GPUS_MAX"),
          new Size("a pod's request", "api/RequestBounds", "REPLICAS_MAX"),
          new Size("a pod's request", "api/RequestBounds", "CONTAINERS_MAX"),
          new Size("a pod", "api/RequestBounds", "POD_CONTAINERS_MAX"),
          new Size("a pod", "webhook/ReviewReader", "TOKENS_MAX"),
          new Size("a node", "api/RequestBounds", "REPLICAS_MAX"),
          new Size("a node", "extender/ReportBounds", "GPUS_MAX"),
          new Size("a node", "extender/ReportBounds", "USES_MAX"),
          new Size("pods on a node", "extender/KeptPods", "ON_NODE_MAX"),
          new Size("pending pods", "extender/KeptPods", "WAITING_MAX"),
          new Size("pending pods", "extender/UnschedulablePods", "PODS_MAX"),
          new Size("a namespace", "extender/BudgetStore", "PER_NAMESPACE_MAX"),
          new Size("a namespace", "extender/BudgetStore", "ENTRIES_MAX"),
          new Size("pod groups", "extender/Gangs", "GROUPS_MAX"),
          new Size("pod groups", "extender/Gangs", "MEMBERS_MAX"),
          new Size("requests of kube-scheduler", "extender/VerbRoutes", "CALLS_MAX"),
          new Size("requests of kube-scheduler", "extender/VerbRoutes", "BYTES_MAX"),
          new Size("connections from one address", "process/ConnectionLimits", "METRICS"),
          new Size("connections from one address", "extender/ReadApi", "LOCAL"),
          new Size("connections from one address", "extender/ReadApi", "PROXIED"),
          new Size("connections from one address", "extender/StreamServer", "LIMITS"),
          new Size("connections from one address", "extender/VerbServer", "REMOTE"),
          new Size("connections from one address", "webhook/AdmissionServer", "LIMITS"));

  /** A number, a number of KiB or MiB, or limits of connections, of which the second counts. */
  private static final String VALUE =
      " =\\s*(?:new ConnectionLimits\\([^,]+, )?([0-9_]+)( << 10| << 20)?[;)]";

  @Test
  void figures_areThoseOfTheCode() throws IOException {
    List<String> rows =
        Files.readString(Path.of("../docs/limits.md"))
            .lines()
            .dropWhile(line -> !line.equals("## Sizes"))
            .filter(line -> line.startsWith("| "))
            .toList();
    for (Size size : SIZES) {
      assertThat(rows)
          .as("%s", size)
          .anyMatch(row -> row.startsWith("| " + size.row()) && row.contains(figure(size)));
    }
  }

  private static String figure(Size size) {
    String[] file = size.file().split("/", -1);
    try {
      for (Path source : Sources.of(file[0], "main")) {
        if (source.endsWith(file[1] + ".java")) {
          Matcher constant =
              Pattern.compile("\\b" + size.constant() + VALUE).matcher(Files.readString(source));
          if (constant.find()) {
            String unit = Objects.requireNonNullElse(constant.group(2), "");
            return String.format(
                    Locale.ROOT, "%,d", Long.parseLong(constant.group(1).replace("_", "")))
                + unit.replace(" << 10", " KiB").replace(" << 20", " MiB");
          }
        }
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    throw new AssertionError("no constant " + size);
  }
}
