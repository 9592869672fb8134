package dev.tranche.e2e.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** A cluster as the demo wants it: it outlives whoever started it. */
@OwnCluster
@Order(1_040)
class KeptClusterE2E {
  private static final String NAME = "kept-for-a-test";

  @AfterEach
  void remove() {
    Cluster.remove(NAME);
  }

  @Test
  void keepRunning_survivesCloseUntilItIsRemoved() {
    String kubeconfig;
    try (var cluster = Cluster.builder().name(NAME).keepRunning().start()) {
      kubeconfig = cluster.kubeconfigYaml();
    }

    var config = Config.fromKubeconfig(kubeconfig);
    config.setRequestRetryBackoffLimit(0);
    try (var client = new KubernetesClientBuilder().withConfig(config).build()) {
      assertThat(client.nodes().list().getItems()).hasSize(1);
      Cluster.remove(NAME);
      assertThatThrownBy(() -> client.nodes().list()).isInstanceOf(KubernetesClientException.class);
    }
  }

  @Test
  void start_withAnOptionThatNobodyKnows_failsWithTheNodesWords() {
    var plan = Cluster.builder().name(NAME).serverArg("--no-such-option=1");

    assertThatThrownBy(plan::start)
        .isInstanceOf(ClusterException.class)
        .hasMessageContaining("no-such-option");
  }
}
