package dev.tranche.simulate;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.state.ApiServer;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * An extender's calls to the API server, as {@code ApiWriter} and {@code Binder} make them: a
 * Binding waits for a worker, is checked once more, and its pod is read if no clear answer comes.
 */
final class ApiCalls implements ApiServer {
  private static final long TIMEOUT_MS = 4_000;
  private static final int QUEUED_MS_MAX = 6;
  private static final int BUSY_ONE_IN = 60;
  private static final int BUSY_MS_MAX = 6_000;

  private final World world;
  private final ExtenderReplica replica;
  private final SplittableRandom random;
  private final Loop loop;

  ApiCalls(World world, ExtenderReplica replica, SplittableRandom random) {
    this.world = world;
    this.replica = replica;
    this.random = random;
    this.loop = new Loop(task -> replica.run(0, task));
  }

  @Override
  public Future<BindOutcome> bind(
      PodFacts pod,
      String node,
      Map<String, String> annotations,
      Supplier<Optional<String>> expiry) {
    Promise<BindOutcome> done = Promise.promise();
    long queuedMs = random.nextInt(QUEUED_MS_MAX);
    if (random.nextInt(BUSY_ONE_IN) == 0) {
      queuedMs += random.nextInt(BUSY_MS_MAX);
    }
    replica.run(
        queuedMs,
        () -> {
          Optional<String> expired = expiry.get();
          if (expired.isPresent()) {
            done.complete(new BindOutcome.Refused(expired.get()));
          } else {
            post(pod, node, annotations, done);
          }
        });
    return loop.completeOnLoop(done.future());
  }

  private void post(
      PodFacts pod, String node, Map<String, String> annotations, Promise<BindOutcome> done) {
    String gpu = annotations.getOrDefault(Names.GPU, "");
    String granted = annotations.getOrDefault(Names.GRANTED_REPLICAS, "");
    world.network.<ApiModel.Bound>call(
        replica,
        world.api,
        TIMEOUT_MS,
        answer -> {
          ApiModel.Bound result = world.api.bind(pod.uid(), pod.key(), node, gpu, granted);
          if (result == ApiModel.Bound.DONE) {
            world.bindingDone(replica, node, gpu);
          }
          // The write succeeds, and its answer is lost.
          if (!world.answersLost()) {
            answer.accept(result);
          }
        },
        answer -> {
          switch (answer.orElse(null)) {
            case DONE -> done.complete(new BindOutcome.Bound());
            case GONE -> done.complete(new BindOutcome.Refused("there is no such pod"));
            case CONFLICT -> readOutcome(pod, node, true, done);
            case null -> readOutcome(pod, node, false, done);
          }
        });
  }

  /** Reads the pod to find out where it is. */
  private void readOutcome(PodFacts pod, String node, boolean conflict, Promise<BindOutcome> done) {
    world.network.<Optional<PodObject>>call(
        replica,
        world.api,
        TIMEOUT_MS,
        answer -> {
          if (!world.answersLost()) {
            answer.accept(world.api.pods.named(pod.key()));
          }
        },
        answer -> {
          if (answer.isEmpty()) {
            world.counts.count(Branch.UNKNOWN_BIND);
            done.complete(new BindOutcome.Unknown("the pod could not be read"));
          } else {
            done.complete(outcome(answer.get(), pod, node, conflict));
          }
        });
  }

  private BindOutcome outcome(
      Optional<PodObject> found, PodFacts pod, String node, boolean conflict) {
    PodObject now = found.filter(each -> each.uid().equals(pod.uid())).orElse(null);
    if (now == null) {
      return new BindOutcome.Refused("the pod is gone");
    }
    String on = now.node();
    if (on == null) {
      if (!conflict) {
        world.counts.count(Branch.UNKNOWN_BIND);
      }
      return conflict
          ? new BindOutcome.Refused("the API server answers with status 409")
          : new BindOutcome.Unknown("no answer");
    }
    return on.equals(node) ? new BindOutcome.Bound() : new BindOutcome.BoundElsewhere(on);
  }

  @Override
  public Future<Optional<PodFacts>> pod(String key) {
    Promise<Optional<PodFacts>> done = Promise.promise();
    world.counts.count(Branch.POD_CHECK);
    world.network.<Optional<PodFacts>>call(
        replica,
        world.api,
        TIMEOUT_MS,
        answer -> answer.accept(world.api.pods.named(key).map(PodObject::facts)),
        answer -> {
          if (answer.isPresent()) {
            done.complete(answer.get());
          } else {
            done.fail("no answer");
          }
        });
    return loop.completeOnLoop(done.future());
  }

  @Override
  public Future<Optional<PodFacts>> checkedPod(String key) {
    return pod(key);
  }

  @Override
  public Future<?> wake(String node) {
    Promise<Void> done = Promise.promise();
    world.history.add(replica.name, "wakes waiting pods by node " + node);
    world.counts.count(Branch.WAKE_UP);
    world.write(
        replica,
        TIMEOUT_MS,
        () -> world.api.updateNode(node, NodeObject::retried),
        answered -> {
          if (answered) {
            done.complete();
          } else {
            done.fail("no answer");
          }
        });
    return done.future();
  }
}
