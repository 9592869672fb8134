package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Fraction pods that are created for trial, one after the other, as fast as they are admitted. */
final class Admissions implements AutoCloseable {
  private static final int ENOUGH = 10;

  private final KubernetesClient client;
  private final List<String> refusals = new ArrayList<>();
  private final CompletableFuture<Integer> admitted;
  private volatile boolean stopped;

  private Admissions(KubernetesClient client) {
    this.client = client;
    admitted = CompletableFuture.supplyAsync(this::run);
  }

  static Admissions start(Walkthrough reader) {
    return new Admissions(reader.client());
  }

  private int run() {
    int count = 0;
    for (int i = 0; !stopped; i++) {
      var pod = PodSpecs.fraction("trial-" + i, "0.1").build();
      try {
        client.pods().inNamespace("default").resource(pod).dryRun(true).create();
        count++;
      } catch (KubernetesClientException refused) {
        refusals.add(String.valueOf(refused.getMessage()));
      }
    }
    return count;
  }

  /** Ends it; every pod must have been admitted. */
  void stopAndCheck() throws InterruptedException, ExecutionException {
    stopped = true;
    assertThat(admitted.get()).isGreaterThan(ENOUGH);
    assertThat(refusals).isEmpty();
  }

  @Override
  public void close() {
    stopped = true;
  }
}
