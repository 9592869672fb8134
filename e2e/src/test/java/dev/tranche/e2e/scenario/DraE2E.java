package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * A node on which a DRA driver serves nvidia.com/gpu, beside nodes with Tranche's plugin. The
 * driver is a DeviceClass and a ResourceSlice, and the node has no kubelet: all that matters here
 * is decided by the API server and by kube-scheduler.
 */
@Order(196)
class DraE2E extends Scenario {
  private static final String NODE = "delta";
  private static final String POOL = "pool";
  private static final String API = "resource.k8s.io/v1";
  private static final String CLASS = "gpu.nvidia.com";

  /** Before it, kube-scheduler maps no extended resource to a DeviceClass. */
  private static final int MAPPED_SINCE_MINOR = 36;

  private static final String DEVICE_CLASS =
      """
      apiVersion: %s
      kind: DeviceClass
      metadata: {name: %s}
      spec:
        extendedResourceName: nvidia.com/gpu
        selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]
      """
          .formatted(API, CLASS);

  private static final String SLICE =
      """
      apiVersion: %s
      kind: ResourceSlice
      metadata: {name: delta-gpus}
      spec:
        driver: gpu.nvidia.com
        nodeName: delta
        pool: {name: delta, generation: 1, resourceSliceCount: 1}
        devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}, {name: gpu-3}]
      """
          .formatted(API);

  private static final String CLAIM =
      """
      apiVersion: %s
      kind: ResourceClaim
      metadata: {name: claim, namespace: NAMESPACE}
      spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: %s}}]}}
      """
          .formatted(API, CLASS);

  private final boolean mapped = KubernetesVersion.minorOfClusters() >= MAPPED_SINCE_MINOR;

  private boolean served;

  @Override
  Map<String, Object> values() {
    var values = new HashMap<>(super.values());
    values.put("plainRequests", "gpus");
    return values;
  }

  @BeforeEach
  void oneNodeOfADraDriver() {
    served = client().getApiResources(API) != null;
    var capacity =
        Map.of(
            "cpu", new Quantity("8"), "memory", new Quantity("32Gi"), "pods", new Quantity("110"));
    var node =
        new NodeBuilder()
            .withNewMetadata()
            .withName(NODE)
            .addToLabels(POOL, "whole")
            .endMetadata()
            .withNewStatus()
            .withCapacity(capacity)
            .withAllocatable(capacity)
            .endStatus()
            .build();
    client().resource(node).create();
    if (served) {
      client().resource(DEVICE_CLASS).create();
      client().resource(SLICE).create();
    }
    if (mapped) {
      Await.until("the label of " + NODE, 60, () -> Names.DRA.equals(servedBy()));
      // The webhook's watch of the nodes may lag behind.
      Await.until("the webhook to see it", 60, this::isLeftToTheDriver);
    }
  }

  @AfterEach
  void removeIt() {
    client().pods().inNamespace(namespace).withGracePeriod(0).delete();
    if (served) {
      client().resource(DEVICE_CLASS).delete();
      client().resource(SLICE).delete();
    }
    client().nodes().withName(NODE).delete();
  }

  private boolean isLeftToTheDriver() {
    Pod asked = whole(PodSpecs.plain("probe", 2)).build();
    Pod admitted = client().pods().inNamespace(namespace).resource(asked).dryRun().create();
    return PodSpecs.gpus(admitted.getSpec()).equals("2");
  }

  private static String servedBy() {
    var labels = client().nodes().withName(NODE).get().getMetadata().getLabels();
    return Objects.requireNonNullElse(labels.get(Names.SERVED_BY), "");
  }

  /** No kubelet renews the node's lease, so it is tainted sooner or later. */
  private static PodBuilder tolerant(PodBuilder pod) {
    return pod.editSpec().addNewToleration().withOperator("Exists").endToleration().endSpec();
  }

  private static PodBuilder whole(PodBuilder pod) {
    return tolerant(pod).editSpec().addToNodeSelector(POOL, "whole").endSpec();
  }

  private List<GenericKubernetesResource> claims() {
    return client()
        .genericKubernetesResources(API, "ResourceClaim")
        .inNamespace(namespace)
        .list()
        .getItems();
  }

  private void placed(String name) {
    Await.until(
        name + " to be placed",
        60,
        () -> nodeOf(get(name)) != null,
        () -> tranche().cluster().kubectl("-n", namespace, "describe", "pod", name).out());
  }

  @Test
  void plainPodsWithoutSelectors_getNoGpusOfDra_evenWhenAllOthersAreTaken() {
    for (int i = 0; i < 6; i++) {
      create(tolerant(PodSpecs.plain("plain-" + i, 1)));
    }
    allRunning(6);
    assertThat(pods()).allSatisfy(pod -> assertThat(PodSpecs.gpus(pod.getSpec())).isEqualTo("10"));
    create(tolerant(PodSpecs.plain("seventh", 1)));
    create(tolerant(PodSpecs.fraction("half", "0.5")));
    pendingMessage("seventh");
    pendingMessage("half");
    assertThat(pods()).noneMatch(pod -> NODE.equals(nodeOf(pod)));
    if (served) {
      assertThat(claims()).isEmpty();
    }
  }

  @Test
  void wholeGpus_areThoseOfTheDriver_inTheirOwnNumber_byEitherScheduler() {
    if (!mapped) {
      assertThat(servedBy()).isEmpty();
      return;
    }
    create(whole(PodSpecs.plain("two", 2)));
    placed("two");
    Pod two = get("two");
    assertThat(nodeOf(two)).isEqualTo(NODE);
    assertThat(PodSpecs.gpus(two.getSpec())).isEqualTo("2");
    assertThat(two.getSpec().getSchedulerName()).isEqualTo("default-scheduler");
    assertThat(devices()).isEqualTo(2);
    // The extender lets it pass, and binds it.
    create(whole(PodSpecs.plain("one", 1)).editSpec().withSchedulerName(scheduler()).endSpec());
    placed("one");
    assertThat(nodeOf(get("one"))).isEqualTo(NODE);
    assertThat(devices()).isEqualTo(3);
    assertThat(get("one").getMetadata().getAnnotations()).doesNotContainKey(Names.GPU);
    create(whole(PodSpecs.plain("more", 2)));
    create(whole(PodSpecs.fraction("half", "0.5")));
    pendingMessage("more");
    pendingMessage("half");
  }

  /** Of the claims that kube-scheduler has made. */
  private long devices() {
    return claims().stream()
        .mapToLong(
            claim ->
                claim.get("status", "allocation", "devices", "results") instanceof List<?> results
                    ? results.size()
                    : 0)
        .sum();
  }

  @Test
  void whereTheGuardDenies_nobodyMakesAClaimOfGpus_butKubeScheduler() {
    if (!mapped) {
      return;
    }
    var deny =
        new NamespaceBuilder()
            .withNewMetadata()
            .withName(namespace)
            .addToLabels("tranche.dev/guard", "deny")
            .endMetadata()
            .build();
    client().resource(CLAIM.replace("NAMESPACE", namespace)).create();
    client().resource(deny).serverSideApply();
    String second = CLAIM.replace("NAMESPACE", namespace).replace("name: claim", "name: second");
    Await.until("the policy", 30, () -> isRefused(second));
    assertThatThrownBy(() -> client().resource(second).create())
        .hasMessageContaining(
            "the guard of this namespace denies claims of DeviceClasses that guard.deviceClasses"
                + " does not list");
    create(whole(PodSpecs.plain("one", 1)));
    placed("one");
    assertThat(nodeOf(get("one"))).isEqualTo(NODE);
  }

  private static boolean isRefused(String claim) {
    try {
      client().resource(claim).dryRun().create();
      return false;
    } catch (KubernetesClientException refused) {
      return true;
    }
  }
}
