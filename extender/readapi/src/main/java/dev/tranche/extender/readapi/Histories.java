package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.query.Parameters;
import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.History;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records what GPUs do, whether or not anybody reads it, and answers what they did in the last
 * hours. Each sample needs one snapshot from the extender's loop; lists use the same snapshots.
 */
final class Histories {
  private static final long SAMPLE_MS = 10_000;
  private static final String NODE = "node";
  private static final String UUID = "uuid";
  private static final Logger LOG = LoggerFactory.getLogger(Histories.class);

  private final Vertx vertx;
  private final ReadApi.Sources sources;

  /** Empty if none is kept. */
  final Optional<GpuHistory> history;

  Histories(Vertx vertx, ReadApi.Sources sources) {
    this.vertx = vertx;
    this.sources = sources;
    this.history =
        Optional.of(sources.historyBytesMax()).filter(most -> most > 0).map(GpuHistory::new);
  }

  void start() {
    history.ifPresent(this::sample);
  }

  /** No sample is taken while the state is incomplete. */
  private void sample(GpuHistory kept) {
    sources
        .loop()
        .submit(() -> sources.notReady().get().isEmpty())
        .compose(
            ready ->
                ready
                    ? sources.inspections().latest().compose(now -> added(kept, now))
                    : Future.succeededFuture(false))
        .onFailure(failure -> LOG.warn("the history of GPUs has a gap", failure))
        .onComplete(done -> vertx.setTimer(SAMPLE_MS, due -> sample(kept)));
  }

  private Future<@Nullable Boolean> added(GpuHistory kept, Inspection snapshot) {
    return vertx.executeBlocking(
        () -> {
          kept.add(samples(snapshot), sources.core().nowMs());
          return true;
        },
        false);
  }

  static List<GpuHistory.Sample> samples(Inspection snapshot) {
    return snapshot.nodes().stream()
        .flatMap(node -> node.gpus().stream().map(gpu -> sample(node.name(), gpu)))
        .toList();
  }

  private static GpuHistory.Sample sample(String node, Inspection.Gpu gpu) {
    var view = gpu.view();
    boolean fresh = view.measured();
    return new GpuHistory.Sample(
        node,
        view.uuid(),
        view.index(),
        fresh ? gpu.reading().smMean() : Double.NaN,
        fresh && gpu.reading().memoryKnown() ? gpu.reading().memoryUsedBytes() : -1,
        view.grantedRatio());
  }

  /**
   * @param shown which GPUs are shown, by uuid
   */
  Future<Answer> of(MultiMap parameters, Predicate<String> shown) {
    if (history.isEmpty()) {
      return Answer.refused(
          Problem.notFound("no history is kept: extender.api.historyMemory is 0"));
    }
    return Answer.of(
        Parameters.read(parameters, List.of(Field.text(NODE), Field.text(UUID))),
        asked -> {
          String node = asked.get(NODE);
          return node == null
              ? Answer.refused(
                  Problem.badRequest(new Problem.Invalid(NODE, "", "the name of a node")))
              : vertx.executeBlocking(
                  () -> answer(history.get(), node, asked.get(UUID), shown), false);
        });
  }

  private Answer answer(
      GpuHistory kept, String node, @Nullable String gpu, Predicate<String> shown) {
    long nowMs = sources.core().nowMs();
    Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    return kept.find(node, uuid -> (gpu == null || gpu.equals(uuid)) && shown.test(uuid), nowMs)
        .<Answer>map(found -> new Answer.Found(History.of(node, found, now, nowMs)))
        .orElseGet(() -> new Answer.Refused(unknown(node, gpu)));
  }

  private static Problem unknown(String node, @Nullable String gpu) {
    return Problem.notFound(
        "%snode %s was not found: nothing was recorded of it in the last %d hours, or since this extender started"
            .formatted(
                gpu == null ? "" : "GPU " + gpu + " of ",
                node,
                Duration.ofMillis(GpuHistory.WINDOW_MS).toHours()));
  }
}
