package dev.tranche.e2e.demo;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.Console;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** {@code ./demo watch}: shows every GPU, its load and its holders, once a second. */
final class Watch {
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

  /** Nodes report a changed load at once. */
  private static final int READING_S_MAX = 30;

  private Watch() {}

  /** Runs until the user ends it; prints one table if there is no terminal. */
  static void run(Path folder) throws IOException, InterruptedException {
    Path kubeconfig = folder.resolve("kubeconfig");
    if (!Files.exists(kubeconfig)) {
      throw new IllegalArgumentException("no demo runs here; start it with ./demo");
    }
    boolean live = Optional.ofNullable(System.console()).map(Console::isTerminal).orElse(false);
    var config = Config.fromKubeconfig(Files.readString(kubeconfig));
    try (var client = new KubernetesClientBuilder().withConfig(config).build();
        var api = new LocalApi(client, extender(client))) {
      do {
        JsonNode gpus = api.get("/api/v1/gpus?limit=500").json();
        JsonNode summary = api.get("/api/v1/summary").json();
        String table = table(gpus, summary);
        System.out.print(live ? CLEAR + table + LIVE_NOTE : table);
        System.out.flush();
        if (live) {
          Thread.sleep(1_000);
        }
      } while (live);
    }
  }

  /** Waits until the extender's last reading of a GPU is that load. */
  static void awaitLoad(Path folder, String node, String gpu, int percent) throws IOException {
    var config = Config.fromKubeconfig(Files.readString(folder.resolve("kubeconfig")));
    try (var client = new KubernetesClientBuilder().withConfig(config).build();
        var api = new LocalApi(client, extender(client))) {
      Await.until(
          "the extender to see a load of %d %% on GPU %s of %s".formatted(percent, gpu, node),
          READING_S_MAX,
          () -> percent == load(gpusOf(api, node), gpu));
    }
  }

  private static JsonNode gpusOf(LocalApi api, String node) {
    try {
      return api.get("/api/v1/gpus?limit=500&node=" + node).json();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns a GPU's last reading in percent; -1 without one. */
  static int load(JsonNode gpus, String index) {
    for (JsonNode gpu : gpus.path("items")) {
      if (gpu.path("index").asText().equals(index) && gpu.at("/measured/smLast").isTextual()) {
        return percent(gpu.at("/measured/smLast"));
      }
    }
    return -1;
  }

  private static Pod extender(KubernetesClient client) throws IOException {
    return client
        .pods()
        .inNamespace(Tranche.NAMESPACE)
        .withLabel("app.kubernetes.io/component", "extender")
        .list()
        .getItems()
        .stream()
        .findFirst()
        .orElseThrow(() -> new IOException("it is not there"));
  }

  /**
   * @param gpus the answer of {@code /api/v1/gpus}
   * @param summary the answer of {@code /api/v1/summary}
   */
  static String table(JsonNode gpus, JsonNode summary) {
    var rows = new ArrayList<List<String>>();
    rows.add(HEAD);
    gpus.path("items").forEach(gpu -> rows.add(row(gpu)));
    return Table.aligned(rows)
        + "\n%d pods wait for a GPU.\n".formatted(summary.at("/waitingPods/total").asInt());
  }

  private static List<String> row(JsonNode gpu) {
    int percent = percent(gpu.at("/measured/sm"));
    return List.of(
        gpu.path("node").asText(),
        gpu.path("index").asText() + " " + gpu.path("model").asText(),
        bar(percent),
        percent + " %",
        percent(gpu.at("/measured/smLast")) + " %",
        String.format(
            Locale.ROOT,
            "%.0f of %.0f GiB",
            Table.amount(gpu.at("/effective/memoryFree")) / GIB,
            Table.amount(gpu.path("memory")) / GIB),
        "%d of %d".formatted(gpu.path("freeReplicas").asInt(), gpu.path("replicas").asInt()),
        gpu.path("holders").valueStream().map(Watch::holder).collect(Collectors.joining(", ")));
  }

  private static int percent(JsonNode sm) {
    return (int) Math.round(100 * Table.amount(sm));
  }

  private static String holder(JsonNode holder) {
    return "%s %d/%d"
        .formatted(
            holder.path("name").asText(),
            holder.path("replicas").asInt(),
            holder.path("replicasPerGpu").asInt());
  }

  private static String bar(int percent) {
    int full = Math.min(BAR, Math.round(percent * BAR / 100f));
    return "█".repeat(full) + "·".repeat(BAR - full);
  }
}
