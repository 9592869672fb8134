package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.state.ApiServer;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Pods whose number counts GPUs that others serve, beside nodes with Tranche's plugin. */
class PodsOfOthersTest {
  @AutoClose private final Vertx vertx = Vertx.vertx();
  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  @BeforeEach
  void oneNodeOfEachKind() {
    world.state.apply(new Event.NodeSeen(new NodeFacts("plugin", Set.of(), "", true)));
    world.report("plugin", new FakeWorld.Gpu("GPU-1", 0, 0));
    world.state.apply(new Event.NodeSeen(new NodeFacts("dra", Set.of(), "", false)));
  }

  private static PodFacts pod(int gpus, Map<String, String> annotations) {
    var request = new Demand.Request("main", Demand.Kind.APP, gpus);
    return new PodFacts(
        "uid", "ns", "whole", null, false, false, Names.RESOURCE, List.of(request), annotations);
  }

  private static PodFacts onDra(int gpus) {
    return pod(gpus, Map.of(Names.SERVED_BY, Names.OTHER));
  }

  @Test
  void wholeGpus_passOnDraNodesAlone_andHoldNothing() {
    var answer = world.filter(0).filter(onDra(1), List.of("plugin", "dra", "new"), false);
    assertThat(answer)
        .isEqualTo(
            new Filter.Answer.Nodes(
                List.of("dra"), Map.of(Reason.SERVED_BY_PLUGIN, List.of("plugin"))));
    assertThat(world.prioritize().prioritize(onDra(1), List.of("dra"))).isEmpty();
    assertThat(world.ledger.hold("uid")).isEmpty();
  }

  /** kube-scheduler may see a node first. A refusal would last until something else happens. */
  @Test
  void nodeThatIsNotReadYet_isNoRefusal() {
    FakeWorld.FilterNow filter = world.filter(0);
    List<String> names = List.of("plugin", "new");
    assertThat(filter.filter(onDra(1), names, false))
        .isInstanceOfSatisfying(
            Filter.Answer.Undecided.class, why -> assertThat(why.error()).contains("node new"));
    world.state.apply(new Event.NodeSeen(new NodeFacts("new", Set.of(), "", false)));
    assertThat(((Filter.Answer.Nodes) filter.filter(onDra(1), names, false)).nodes())
        .containsExactly("new");
  }

  @Test
  void numberOfReplicas_neverPassesOnADraNode() {
    for (PodFacts counted : List.of(pod(1, Map.of()), FakeWorld.pod("half", 5))) {
      var answer = world.filter().filter(counted, List.of("plugin", "dra"), false);
      assertThat(answer).isInstanceOf(Filter.Answer.Nodes.class);
      assertThat(((Filter.Answer.Nodes) answer).nodes()).containsExactly("plugin");
    }
  }

  @Test
  void otherValueOfTheAnnotation_isNotDra() {
    var answer = world.filter().filter(pod(1, Map.of(Names.SERVED_BY, "x")), List.of("dra"), false);
    assertThat(((Filter.Answer.Nodes) answer).nodes()).isEmpty();
  }

  /** In mode service kube-scheduler calls the extender for every pod with the resource. */
  @Test
  void podForForeignNodes_passesOnAllNodesButOurs() {
    world.state.apply(new Event.NodeSeen(new NodeFacts("aci", Set.of(), "", true)));
    PodFacts foreign = pod(1, Map.of(Names.SERVED_BY, Names.OTHER));
    List<String> names = List.of("plugin", "aci", "new");
    var answer = world.filter(0).filter(foreign, names, false);
    assertThat(answer)
        .isEqualTo(
            new Filter.Answer.Nodes(
                List.of("aci"), Map.of(Reason.SERVED_BY_PLUGIN, List.of("plugin"))));
    assertThat(world.prioritize().prioritize(foreign, List.of("aci"))).isEmpty();
    world.onServer.put("ns/whole", foreign);
    var bind = world.bind(new Loop(vertx.getOrCreateContext()));
    assertThat(bind.bind("ns/whole", "uid", "aci").await()).isEmpty();
    assertThat(bind.bind("ns/whole", "uid", "plugin").await()).isPresent();
  }

  /** An opt-out must give nobody a GPU of ours that is not counted. */
  @Test
  void podForForeignNodes_counts_ifItIsOnOurs() {
    PodFacts foreign = pod(1, Map.of(Names.SERVED_BY, Names.OTHER));
    assertThat(foreign.isCounted()).isFalse();
    assertThat(foreign.on("plugin").isCounted()).isTrue();
    world.see(foreign.on("plugin"));
    assertThat(world.ledger.hold("uid")).isPresent();
  }

  @Test
  void bind_postsTheBindingWithoutAnAssignment() {
    world.onServer.put("ns/whole", onDra(1));
    var bind = world.bind(new Loop(vertx.getOrCreateContext()));
    world.filter(0).filter(onDra(1), List.of("dra"), false);
    assertThat(bind.bind("ns/whole", "uid", "dra").await()).isEmpty();
    assertThat(world.expiries).hasSize(1);
    assertThat(world.assigned).isEmpty();
    assertThat(world.ledger.hold("uid")).isEmpty();
    assertThat(bind.bind("ns/whole", "uid", "plugin").await())
        .hasValueSatisfying(why -> assertThat(why).contains("device plugin"));
    assertThat(world.expiries).hasSize(1);
  }

  @Test
  void bindThatIsRefused_saysWhy() {
    world.onServer.put("ns/whole", onDra(1));
    world.outcome = new ApiServer.BindOutcome.Refused("it is gone");
    world.filter(0).filter(onDra(1), List.of("dra"), false);
    assertThat(
            world.bind(new Loop(vertx.getOrCreateContext())).bind("ns/whole", "uid", "dra").await())
        .hasValueSatisfying(why -> assertThat(why).contains("node dra", "it is gone"));
  }

  @Test
  void victims_areThoseThatKubeSchedulerProposes_onDraNodesAlone() {
    var victims = new Preempt.VictimUids(List.of("v"), 0);
    assertThat(world.preempt().preempt(onDra(1), Map.of("dra", victims, "plugin", victims)).await())
        .isEqualTo(new Preempt.Answer.Nodes(Map.of("dra", victims)));
  }
}
