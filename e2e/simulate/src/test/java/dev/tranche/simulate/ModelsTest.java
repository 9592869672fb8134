package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.score.Policy;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What the simulator is made of behaves as what it stands for. */
class ModelsTest {
  private final World world =
      new World(new Scenario(2, Policy.PACKED, List.of(), List.of(), List.of(), 0));
  private final EventQueue queue = world.queue;
  private final ApiModel api = world.api;
  private final SimulatedProcess client =
      new SimulatedProcess("client", queue, world.randoms.of("c"));
  private final List<String> seen = new ArrayList<>();

  private void runFor(long ms) {
    long untilMs = queue.nowMs() + ms;
    while (queue.runNext(untilMs)) {
      // Until then.
    }
  }

  private static PodPlan plan(int number, String name) {
    return new PodPlan(number, 0, name, ModelKubeletStage.main(3), 10, 0, 1_000, 0, false, 0);
  }

  private Watch<PodObject> watch() {
    client.start();
    var sink =
        new Watch.Sink<PodObject>() {
          @Override
          public void seen(PodObject pod) {
            seen.add("seen " + pod.uid() + (pod.node() == null ? "" : " on " + pod.node()));
          }

          @Override
          public void gone(PodObject pod) {
            seen.add("gone " + pod.uid());
          }
        };
    var watch = new Watch<>(world, client, api.pods, pod -> true, sink);
    watch.start();
    return watch;
  }

  @Test
  void eventsOfOneTime_happenInTheOrderOfTheirPlanning() {
    for (int i = 0; i < 5; i++) {
      int number = i;
      queue.after(10, () -> seen.add("" + number));
    }
    queue.after(5, () -> seen.add("first"));
    runFor(10);
    assertThat(seen).containsExactly("first", "0", "1", "2", "3", "4");
  }

  @Test
  void frozenProcess_goesOnLater_andAKilledOneDoesNot() {
    client.start();
    client.run(10, () -> seen.add("late"));
    client.freeze(100);
    runFor(99);
    assertThat(seen).isEmpty();
    runFor(1);
    assertThat(seen).containsExactly("late");
    client.run(10, () -> seen.add("never"));
    client.kill();
    client.start();
    runFor(1_000);
    assertThat(seen).containsExactly("late");
  }

  @Test
  void suspendedMachine_hasAMonotonicClockThatStandsStill() {
    client.start();
    long monotonicMs = client.clockMs();
    long wallMs = client.wallMs();
    client.suspend(10_000);
    runFor(10_000);
    assertThat(client.clockMs() - monotonicMs).isBetween(-10L, 10L);
    assertThat(client.wallMs() - wallMs).isEqualTo(10_000);
  }

  @Test
  void watch_showsEachChange() {
    watch();
    runFor(100);
    api.create(plan(1, "a"));
    runFor(200);
    api.bind("u1", "ns/a", "n", "G", "");
    runFor(200);
    api.finish("u1");
    runFor(200);
    assertThat(seen).containsExactly("seen u1", "seen u1 on n", "gone u1");
  }

  @Test
  void watchThatIsTooOld_missesWhatCameBetween() {
    Watch<PodObject> watch = watch();
    api.create(plan(1, "a"));
    runFor(200);
    watch.breakOff(true);
    api.bind("u1", "ns/a", "n", "G", "");
    api.finish("u1");
    api.create(plan(2, "a"));
    api.create(plan(3, "b"));
    api.finish("u3");
    runFor(5_000);
    assertThat(seen).containsExactly("seen u1", "gone u1", "seen u2");
  }

  @Test
  void staleWatch_showsAllLater() {
    Watch<PodObject> watch = watch();
    runFor(100);
    watch.delay(30_000);
    api.create(plan(1, "a"));
    runFor(29_000);
    assertThat(seen).isEmpty();
    runFor(2_000);
    assertThat(seen).containsExactly("seen u1");
  }

  @Test
  void partition_isOneWay_andACallThenTimesOut() {
    client.start();
    world.network.block("api", "client", 60_000);
    world.network.<String>call(
        client,
        api,
        1_000,
        answer -> {
          seen.add("served");
          answer.accept("answer");
        },
        answer -> seen.add(answer.orElse("none")));
    runFor(2_000);
    assertThat(seen).containsExactly("served", "none");
  }

  @Test
  void secondBinding_isAConflict_andAPodOfTheNameIsAnother() {
    api.create(plan(1, "a"));
    assertThat(api.bind("u1", "ns/a", "n", "G", "")).isEqualTo(ApiModel.Bound.DONE);
    assertThat(api.bind("u1", "ns/a", "m", "H", "")).isEqualTo(ApiModel.Bound.CONFLICT);
    assertThat(api.bind("u2", "ns/a", "m", "H", "")).isEqualTo(ApiModel.Bound.CONFLICT);
    assertThat(api.bind("u3", "ns/c", "m", "H", "")).isEqualTo(ApiModel.Bound.GONE);
    assertThat(api.pods.get("u1").map(PodObject::node)).isEqualTo(Optional.of("n"));
  }

  @Test
  void leaseOfAnotherVersion_isNotWritten() {
    var spec = new LeaseSpec();
    assertThat(api.writeLease(spec, 0)).isTrue();
    assertThat(api.writeLease(spec, 0)).isFalse();
  }

  /** kubernetes#141694: the victims end while the pod that evicts them is tried again. */
  @Test
  void podThatEvicts_isForgotten_untilTheNextEvent_ifItsVictimsHaveEndedMeanwhile() {
    var waiting = new SchedulingQueue(world.scheduler, () -> {});
    PodPlan plan = plan(1, "p");
    waiting.seen(PodObject.created(plan, 1, 0));
    var attempt = waiting.pop();
    assertThat(attempt).isNotNull();
    waiting.podDeleted();
    waiting.preempting(plan.uid(), true);
    waiting.refused(attempt, true, false);
    waiting.preempting(plan.uid(), false);
    assertThat(waiting.pop()).isNull();
    assertThat(waiting.forgets(plan.uid())).isTrue();
    waiting.podDeleted();
    assertThat(waiting.forgets(plan.uid())).isFalse();
    assertThat(waiting.pop()).isNotNull();
  }
}
