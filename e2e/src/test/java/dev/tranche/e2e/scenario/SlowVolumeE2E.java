package dev.tranche.e2e.scenario;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.io.ByteArrayInputStream;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * kube-scheduler has placed a pod and waits for its volume. From Kubernetes 1.35 on the pod is
 * nominated then, as if pods were evicted for it.
 */
@Order(32)
class SlowVolumeE2E extends Scenario {
  private static final String CLAIM = "data";
  private static final String SELECTED_NODE = "volume.kubernetes.io/selected-node";

  /** Longer than a hold lasts without a bind. */
  private static final long LONGER_THAN_A_HOLD_MS = 35_000;

  /** Of the class and the volume, which belong to no namespace. */
  private final String slow = "slow-" + namespace;

  @AfterEach
  void removeVolume() {
    delete("slow");
    client().persistentVolumeClaims().inNamespace(namespace).delete();
    client().persistentVolumes().withName(slow).delete();
    tranche().cluster().kubectl("delete", "storageclass", slow);
  }

  @Test
  void podThatWaitsForItsVolume_keepsItsShare_andIsNotSaidToWaitForEvictions() throws Exception {
    for (int i = 0; i < 2; i++) {
      create(
          PodSpecs.annotated(
              "seven-" + i,
              Map.of(Names.GPU_FRACTION, "0.7", Names.GPU_UUID, tranche().gpus(ALPHA).uuid(i))));
    }
    allRunning(2);
    createClaim();
    create(PodSpecs.on(ALPHA, withClaim(PodSpecs.fraction("slow", "0.3"))));
    Await.until("kube-scheduler to choose a node for the volume", 60, this::nodeIsChosen);

    Thread.sleep(LONGER_THAN_A_HOLD_MS);
    assertThat(get("slow").getSpec().getNodeName()).isNull();
    if (KubernetesVersion.minorOfClusters() >= 35) {
      assertThat(get("slow").getStatus().getNominatedNodeName()).isEqualTo(ALPHA);
    }
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("other", "0.3")));
    running("other");
    assertThat(tranche().queryReadApi("/api/v1/pods/" + namespace + "/slow?output=table"))
        .anySatisfy(page -> assertThat(page.body()).contains("NotBoundYet"))
        .allSatisfy(page -> assertThat(page.body()).doesNotContain("Preempting"));

    createVolume();
    Pod bound = running("slow");
    assertThat(assigned(bound)).isEqualTo(heldGpus(bound));
    assertThat(heldGpus(bound)).doesNotContainAnyElementsOf(heldGpus(get("other")));
  }

  private static PodBuilder withClaim(PodBuilder pod) {
    return pod.editSpec()
        .addNewVolume()
        .withName(CLAIM)
        .withNewPersistentVolumeClaim()
        .withClaimName(CLAIM)
        .endPersistentVolumeClaim()
        .endVolume()
        .editFirstContainer()
        .addNewVolumeMount()
        .withName(CLAIM)
        .withMountPath("/data")
        .endVolumeMount()
        .endContainer()
        .endSpec();
  }

  private boolean nodeIsChosen() {
    var claim = client().persistentVolumeClaims().inNamespace(namespace).withName(CLAIM).get();
    Map<String, String> annotations = claim.getMetadata().getAnnotations();
    return annotations != null && ALPHA.equals(annotations.get(SELECTED_NODE));
  }

  /** A claim that nothing serves until {@link #createVolume}. */
  private void createClaim() {
    apply(
        """
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: %1$s}
        provisioner: example.com/slow
        volumeBindingMode: WaitForFirstConsumer
        ---
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: data, namespace: %2$s}
        spec:
          storageClassName: %1$s
          accessModes: [ReadWriteOnce]
          resources: {requests: {storage: 1Mi}}
        """);
  }

  private void createVolume() {
    apply(
        """
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: %1$s}
        spec:
          storageClassName: %1$s
          accessModes: [ReadWriteOnce]
          capacity: {storage: 1Mi}
          hostPath: {path: /tmp/%1$s, type: DirectoryOrCreate}
          claimRef: {namespace: %2$s, name: data}
        """);
  }

  private void apply(String yaml) {
    var objects = new ByteArrayInputStream(yaml.formatted(slow, namespace).getBytes(UTF_8));
    client().load(objects).serverSideApply();
  }
}
