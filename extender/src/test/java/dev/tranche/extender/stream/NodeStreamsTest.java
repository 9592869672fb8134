package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Placement.Container;
import dev.tranche.extender.placement.Placement.Share;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.grpc.server.GrpcServerResponse;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

final class NodeStreamsTest {
  @AutoClose private final Vertx vertx = Vertx.vertx();

  private final BlockingQueue<NodeDirective> written = new LinkedBlockingQueue<>();

  @SuppressWarnings("unchecked")
  private final GrpcServerResponse<NodeReport, NodeDirective> response =
      (GrpcServerResponse<NodeReport, NodeDirective>)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {GrpcServerResponse.class},
              (proxy, method, args) -> {
                if (method.getName().equals("write")) {
                  written.add((NodeDirective) args[0]);
                }
                return method.getReturnType() == Future.class ? Future.succeededFuture() : proxy;
              });

  private final NodeStreams streams =
      new NodeStreams(300, new Loop((Consumer<Runnable>) Runnable::run));

  @Test
  void config_isLeftOutUntilTheLabelsHaveBeenRead() {
    assertThat(directive().hasConfigName()).isFalse();
    streams.configure("a", "");
    assertThat(directive().hasConfigName()).isTrue();
    streams.configure("a", "shared");
    assertThat(directive().getConfigName()).isEqualTo("shared");
    streams.forget("a");
    assertThat(directive().hasConfigName()).isFalse();
  }

  /** Field 30: a plugin that does not know it skips it, and takes 0 for one that is not sent. */
  @Test
  void assignment_saysWhatItsSharesAreCountedIn() throws Exception {
    var place = Placement.of(List.of(new Container("main", List.of(new Share("GPU-a", 3)))));
    var assignment = new Assignment("u", "ns/p", "nvidia.com/gpu", place, 10, Map.of());
    byte[] sent = Directives.assign(assignment).build().toByteArray();
    var read = NodeDirective.parseFrom(sent).getAssign(0);
    assertThat(read.getReplicasPerGpu()).isEqualTo(10);
    byte[] unknown = read.toBuilder().setReplicasPerGpu(0).build().toByteArray();
    assertThat(unknown).isEqualTo(read.toBuilder().clearReplicasPerGpu().build().toByteArray());
  }

  @Test
  void assignment_saysWhatInitContainersHold_andIsReadBackSo() {
    var app = new Container("main", List.of(new Share("GPU-a", 2)));
    var place = new Placement(List.of(app), Map.of("GPU-a", 3, "GPU-b", 2));
    var assignment = new Assignment("u", "ns/p", "nvidia.com/gpu", place, 3, Map.of());
    var sent = Directives.assign(assignment).getAssign(0);
    assertThat(echoed(sent)).isEqualTo(assignment);
  }

  private static Assignment echoed(dev.tranche.api.node.Assignment kept) {
    NodeReport report = NodeReport.newBuilder().addAssignments(kept).build();
    return ReportReader.read("a", report, 0, null).report().state().echoes().getFirst();
  }

  @Test
  void assignment_saysWhatThePodWantsOfItsMemoryLimits() {
    var shares = List.of(new Share("GPU-a", 3));
    var place =
        Placement.of(
            List.of(
                new Container("main", shares),
                new Container("free", shares),
                new Container("silent", shares)));
    var limits = Map.of("main", 1L << 30, "free", 0L);
    var assignment = new Assignment("u", "ns/p", "nvidia.com/gpu", place, 10, limits);
    var containers = Directives.assign(assignment).getAssign(0).getContainersList();
    assertThat(containers.get(0).getMemoryLimit().getBytes()).isEqualTo(1L << 30);
    assertThat(containers.get(1).hasMemoryLimit()).isTrue();
    assertThat(containers.get(1).getMemoryLimit().getBytes()).isZero();
    assertThat(containers.get(2).hasMemoryLimit()).isFalse();
  }

  /** Node plugins of earlier versions send whole reports until then. */
  @Test
  void firstDirective_takesBriefReports() throws Exception {
    streams.opened(stream());
    assertThat(written.poll(10, TimeUnit.SECONDS))
        .isNotNull()
        .matches(NodeDirective::getTakesBriefReports);
  }

  @Test
  void newerStream_takesItsNodesPlace() {
    NodeStream own = stream();
    streams.opened(own);
    assertThat(streams.open()).containsExactly(own);
    NodeStream newer = stream();
    streams.opened(newer);
    assertThat(streams.open()).containsExactly(newer);
    assertThat(streams.closed(own)).isFalse();
    assertThat(streams.closed(newer)).isTrue();
    assertThat(streams.open()).isEmpty();
  }

  private NodeStream stream() {
    return new NodeStream("a", vertx, response, () -> {}, 0);
  }

  private NodeDirective directive() {
    return streams.withConfigName("a", NodeDirective.newBuilder()).build();
  }
}
