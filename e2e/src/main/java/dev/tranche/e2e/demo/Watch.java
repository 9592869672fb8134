package dev.tranche.e2e.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Console;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** {@code ./demo watch}: every GPU, how busy it is and who holds it, once a second. */
final class Watch {
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final String CLEAR = "\033[H\033[2J";
  private static final double GIB = 1L << 30;
  private static final int BAR = 20;
  private static final String LIVE_NOTE =
      """

      SM LAST is the last reading. SM MEAN follows it with a half-life of 10 s.
      ./demo load NODE GPU PERCENT changes a load. Ctrl-C ends.
      """;

  private static final List<String> HEAD =
      List.of("NODE", "GPU", "SM MEAN", "", "SM LAST", "MEMORY FREE", "REPLICAS FREE", "PODS");

  private Watch() {}

  /** Where {@code ./demo} writes the address of the extender's pages. */
  static Path addressFile(Path folder) {
    return folder.resolve("extender-url");
  }

  /** Until the user ends it; where nobody looks on, one table. */
  static void run(Path folder) throws IOException, InterruptedException {
    Path file = addressFile(folder);
    if (!Files.exists(file)) {
      throw new IllegalArgumentException("no demo runs here; start it with ./demo");
    }
    var request =
        HttpRequest.newBuilder(URI.create(Files.readString(file).strip() + "/inspect"))
            .header("Accept", "application/json")
            .timeout(LIMIT)
            .build();
    boolean live = Optional.ofNullable(System.console()).map(Console::isTerminal).orElse(false);
    try (HttpClient client = HttpClient.newBuilder().connectTimeout(LIMIT).build()) {
      do {
        String body = client.send(request, BodyHandlers.ofString()).body();
        String table = table(new ObjectMapper().readTree(body));
        System.out.print(live ? CLEAR + table + LIVE_NOTE : table);
        System.out.flush();
        if (live) {
          Thread.sleep(1_000);
        }
      } while (live);
    }
  }

  /**
   * @param inspection what {@code /inspect} says as JSON
   */
  static String table(JsonNode inspection) {
    var rows = new ArrayList<List<String>>();
    rows.add(HEAD);
    for (JsonNode node : inspection.path("nodes")) {
      for (JsonNode gpu : node.path("gpus")) {
        rows.add(row(node.path("node").asText(), gpu));
      }
    }
    return Table.aligned(rows)
        + "\n%d pods wait for a GPU.\n".formatted(inspection.path("waitingPods").asInt());
  }

  private static List<String> row(String node, JsonNode gpu) {
    int percent = gpu.path("smMeanPercent").asInt();
    return List.of(
        node,
        gpu.path("gpu").asText() + " " + gpu.path("model").asText(),
        bar(percent),
        percent + " %",
        gpu.path("smPercent").asInt() + " %",
        String.format(
            Locale.ROOT,
            "%.0f of %.0f GiB",
            gpu.path("memoryFreeBytes").asLong() / GIB,
            gpu.path("memoryUsableBytes").asLong() / GIB),
        "%d of %d".formatted(gpu.path("freeReplicas").asInt(), gpu.path("replicas").asInt()),
        StreamSupport.stream(gpu.path("holds").spliterator(), false)
            .map(Watch::holder)
            .collect(Collectors.joining(", ")));
  }

  private static String holder(JsonNode hold) {
    String pod = hold.path("pod").asText();
    return "%s %d/%d"
        .formatted(
            pod.substring(pod.indexOf('/') + 1),
            hold.path("replicas").asInt(),
            hold.path("replicasPerGpu").asInt());
  }

  private static String bar(int percent) {
    int full = Math.min(BAR, Math.round(percent * BAR / 100f));
    return "█".repeat(full) + "·".repeat(BAR - full);
  }
}
