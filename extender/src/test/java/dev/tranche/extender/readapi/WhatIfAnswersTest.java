package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.process.Heap;
import dev.tranche.process.loop.Loop;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

final class WhatIfAnswersTest {
  private static final String SPEC =
      "{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"3\"}}}]}";

  @AutoClose private final Vertx vertx = Vertx.vertx();

  private Answer ask(Loop loop, String count, String spec, String placement) {
    var world = new FakeWorld(Policy.LOAD);
    world.report("a", new FakeWorld.Gpu("a0", 0, 0));
    var sources =
        new ReadApi.Sources(
            loop,
            null,
            Optional::empty,
            world.explain(),
            null,
            world.whatIf(),
            List.of(Names.RESOURCE),
            0,
            "",
            world.core);
    String annotations =
        "{\"%s\":\"0.3\",\"%s\":\"10\",\"%s\":\"%s\"}"
            .formatted(Names.GPU_FRACTION, Names.REPLICAS_PER_GPU, Names.GPU_PLACEMENT, placement);
    String body =
        "{\"kind\":\"Pod\",\"metadata\":{\"annotations\":%s},\"spec\":%s}"
            .formatted(annotations, spec);
    return new WhatIfAnswers(vertx, sources)
        .of(View.ALL, MultiMap.caseInsensitiveMultiMap().add("count", count), Buffer.buffer(body))
        .await();
  }

  private Answer ask(String count, String spec, String placement) {
    return ask(new Loop(vertx.getOrCreateContext()), count, spec, placement);
  }

  private static void refused(Answer answer, int status, String said) {
    assertThat(answer)
        .isInstanceOfSatisfying(
            Answer.Refused.class,
            refused -> {
              assertThat(refused.problem().status()).isEqualTo(status);
              assertThat(refused.problem().detail()).contains(said);
            });
  }

  /** What the others of it leave of CPU and memory is not known. */
  @Test
  void podThatIsPacked_isAskedAboutAlone() {
    refused(ask("2", SPEC, "packed"), 400, "count is \"2\"; allowed: 1");
    assertThat(ask("1", SPEC, "packed")).isInstanceOf(Answer.Found.class);
    assertThat(ask("2", SPEC, "load")).isInstanceOf(Answer.Found.class);
  }

  @Test
  void loopThatIsBusy_isToBeAskedAgain() {
    var busy =
        new Loop(
            task -> {
              throw new CompletionException(new TimeoutException());
            });
    refused(ask(busy, "1", SPEC, "load"), 503, "retry");
  }

  private static Buffer pod(String container, int count) {
    String list = String.join(",", Collections.nCopies(count, container));
    return Buffer.buffer("{\"kind\":\"Pod\",\"spec\":{\"containers\":[%s]}}".formatted(list));
  }

  private static String asks(String replicas) {
    return "{\"name\":\"c\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%s\"}}}"
        .formatted(replicas);
  }

  private static Stream<Arguments> hostileBodies() {
    String aliases =
        """
        kind: Pod
        a: &a [x,x,x,x,x,x,x,x,x]
        b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
        c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
        d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
        spec: {containers: [*d,*d,*d,*d,*d,*d,*d,*d,*d]}
        """;
    return Stream.of(
        Arguments.of("aliases of YAML", Buffer.buffer(aliases)),
        Arguments.of("YAML", Buffer.buffer("kind: Pod\nspec:\n  containers: [{name: c}]\n")),
        Arguments.of("2 MiB of {}", pod("{}", 699_000)),
        Arguments.of("10,001 containers", pod(asks("1"), 10_001)),
        Arguments.of(
            "a name that is no text",
            Buffer.buffer(
                "{\"kind\":\"Pod\",\"metadata\":{\"name\":{}},\"spec\":{\"containers\":[{}]}}")),
        Arguments.of("deep", Buffer.buffer("{\"spec\":".repeat(100_000))),
        Arguments.of("two pods", pod(asks("1"), 1).appendBuffer(pod(asks("1"), 1))),
        Arguments.of("a long number", pod(asks("1").replace("\"1\"", "9".repeat(100_000)), 1)),
        Arguments.of("nothing", Buffer.buffer()));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("hostileBodies")
  void aBodyThatNoPodHas_isRefusedAndCostsLittle(String name, Buffer body) {
    long before = Heap.allocatedBytes();
    assertThat(new PodBody(List.of(Names.RESOURCE)).parse(body, View.ALL))
        .isInstanceOf(Parsed.Refused.class);
    assertThat(Heap.allocatedBytes() - before - body.length()).isLessThan(12 << 20);
  }

  /** 6.8 KB of JSON, a million replicas in each of its containers. */
  @Test
  void aMillionReplicas_fitNowhereAndCostLittle() {
    long before = Heap.allocatedBytes();
    Parsed<PodBody.PostedPod> parsed =
        new PodBody(List.of(Names.RESOURCE)).parse(pod(asks("1M"), 100), View.ALL);
    PodBody.PostedPod posted = ((Parsed.Valid<PodBody.PostedPod>) parsed).value();
    assertThat(posted.pod().demand(1).peakReplicas()).isEqualTo(10_001);
    assertThat(Heap.allocatedBytes() - before).isLessThan(4 << 20);
  }

  @Test
  void podWithoutContainers_isRefused() {
    refused(ask("1", "{\"containers\":null}", "load"), 400, "spec.containers");
  }
}
