package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Somebody who creates a small pod, waits until it runs, deletes it, and goes on. */
final class Traffic implements AutoCloseable {
  private static final String NAMESPACE = "default";

  private final KubernetesClient client;
  private final CompletableFuture<List<String>> ran;
  private volatile boolean stopped;

  private Traffic(KubernetesClient client) {
    this.client = client;
    ran = CompletableFuture.supplyAsync(this::run);
  }

  static Traffic start(Walkthrough reader) {
    return new Traffic(reader.client());
  }

  private List<String> run() {
    var names = new ArrayList<String>();
    while (!stopped) {
      names.add(one("passing-" + names.size()));
    }
    return names;
  }

  /** An admission that fails throws; a pod that fails never runs. */
  private String one(String name) {
    var pods = client.pods().inNamespace(NAMESPACE);
    pods.resource(PodSpecs.fraction(name, "0.1").build()).create();
    Await.until(name + " to run", 120, () -> running(pods.withName(name).require()));
    pods.withName(name).withGracePeriod(0).delete();
    Await.until(name + " to be gone", 60, () -> pods.withName(name).get() == null);
    return name;
  }

  private static boolean running(Pod pod) {
    String phase = pod.getStatus().getPhase();
    if (phase.equals("Failed")) {
      throw new AssertionError(pod.getMetadata().getName() + ": " + pod.getStatus());
    }
    return phase.equals("Running");
  }

  /** Ends it; every pod must have run. */
  void stopAndCheck() throws InterruptedException, ExecutionException {
    stopped = true;
    assertThat(ran.get()).isNotEmpty();
  }

  @Override
  public void close() {
    stopped = true;
  }
}
