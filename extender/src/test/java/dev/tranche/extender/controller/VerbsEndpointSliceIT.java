package dev.tranche.extender.controller;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.ServiceBuilder;
import io.fabric8.kubernetes.api.model.discovery.v1.Endpoint;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSliceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import java.util.List;
import org.junit.jupiter.api.Test;

@EnableKubernetesMockClient(crud = true)
@SuppressWarnings("NullAway.Init") // The mock server's extension sets the client.
final class VerbsEndpointSliceIT {
  private static final String NAMESPACE = "gpu";
  private static final String NAME = "tranche-extender-verbs";
  private static final int PORT = 8443;
  KubernetesClient client;

  @Test
  void leader_isAllThatIsBehindTheService_andTheSliceGoesWithIt() throws Exception {
    service();
    try (var slice = slice("one", "10.0.0.1")) {
      slice.lead();
      until(() -> addresses().equals(List.of("10.0.0.1")));
      var written = resource().get();
      assertThat(written.getAddressType()).isEqualTo("IPv4");
      assertThat(written.getMetadata().getLabels())
          .containsEntry("kubernetes.io/service-name", NAME)
          .containsEntry("endpointslice.kubernetes.io/managed-by", "tranche-extender");
      assertThat(written.getMetadata().getOwnerReferences())
          .singleElement()
          .satisfies(
              owner -> assertThat(owner.getUid()).isEqualTo(service().getMetadata().getUid()));
      assertThat(written.getEndpoints().getFirst().getConditions().getReady()).isTrue();
      assertThat(written.getEndpoints().getFirst().getTargetRef().getName()).isEqualTo("one");
      assertThat(written.getPorts())
          .singleElement()
          .satisfies(
              port -> {
                assertThat(port.getName()).isEqualTo("verbs");
                assertThat(port.getPort()).isEqualTo(PORT);
              });
      assertThat(slice.missing()).isEmpty();
    }
    assertThat(addresses()).isEmpty();
  }

  @Test
  void sliceThatSomebodyChanges_isWrittenAnew_alsoWhenItIsGone() throws Exception {
    service();
    try (var slice = slice("one", "10.0.0.1")) {
      slice.start();
      slice.lead();
      until(() -> addresses().equals(List.of("10.0.0.1")));
      resource().edit(VerbsEndpointSliceIT::elsewhere);
      until(() -> addresses().equals(List.of("10.0.0.1")));
      resource().delete();
      until(() -> addresses().equals(List.of("10.0.0.1")));
    }
  }

  private static EndpointSlice elsewhere(EndpointSlice slice) {
    Endpoint stale = slice.getEndpoints().getFirst().edit().withAddresses("10.0.0.9").build();
    return new EndpointSliceBuilder(slice).withEndpoints(stale).build();
  }

  @Test
  void formerLeader_takesNothingFromTheNext() throws Exception {
    service();
    try (var next = slice("two", "10.0.0.2")) {
      try (var former = slice("one", "10.0.0.1")) {
        former.lead();
        until(() -> addresses().equals(List.of("10.0.0.1")));
        next.lead();
        until(() -> addresses().equals(List.of("10.0.0.2")));
      }
      assertThat(addresses()).containsExactly("10.0.0.2");
    }
    assertThat(addresses()).isEmpty();
  }

  @Test
  void sliceThatTheApiServerSaysIsNull_isTakenOver() throws Exception {
    service();
    client.raw(
        "/apis/discovery.k8s.io/v1/namespaces/gpu/endpointslices",
        "POST",
        """
        {"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","addressType":"IPv4",
         "metadata":{"name":"tranche-extender-verbs","namespace":"gpu"},
         "endpoints":null,"ports":null}
        """);
    assertThat(resource().get().getEndpoints()).isNull();
    try (var slice = slice("one", "10.0.0.1")) {
      slice.lead();
      until(() -> addresses().equals(List.of("10.0.0.1")));
    }
  }

  @Test
  void follower_writesNothing() throws Exception {
    service();
    try (var leader = slice("one", "10.0.0.1")) {
      leader.lead();
      until(() -> addresses().equals(List.of("10.0.0.1")));
      try (var follower = slice("two", "10.0.0.2")) {
        follower.start();
        follower.retire();
      }
      assertThat(addresses()).containsExactly("10.0.0.1");
    }
  }

  @Test
  void leaderWithoutAnOpenPort_isNotLedTo_untilThereIsOne() throws Exception {
    service();
    var own = new VerbsEndpointSlice.Address("one", "fd00::1");
    try (var slice = new VerbsEndpointSlice(client, NAMESPACE, NAME, own)) {
      slice.start();
      slice.lead();
      slice.opened(PORT);
      until(() -> addresses().equals(List.of("fd00::1")));
      assertThat(resource().get().getAddressType()).isEqualTo("IPv6");
      assertThat(resource().get().getPorts().getFirst().getPort()).isEqualTo(PORT);
    }
  }

  @Test
  void missingService_isSaid() throws Exception {
    try (var slice = slice("one", "10.0.0.1")) {
      slice.lead();
      until(() -> slice.missing().isPresent());
      assertThat(slice.missing().orElseThrow())
          .isEqualTo(
              "Service gpu/tranche-extender-verbs does not exist; the chart creates it with"
                  + " extender.mode=service");
      assertThat(resource().get()).isNull();
    }
  }

  private VerbsEndpointSlice slice(String pod, String ip) {
    var slice =
        new VerbsEndpointSlice(client, NAMESPACE, NAME, new VerbsEndpointSlice.Address(pod, ip));
    slice.opened(PORT);
    return slice;
  }

  private io.fabric8.kubernetes.api.model.Service service() {
    var service =
        new ServiceBuilder()
            .withNewMetadata()
            .withName(NAME)
            .withNamespace(NAMESPACE)
            .endMetadata()
            .build();
    var there = client.services().inNamespace(NAMESPACE).withName(NAME).get();
    return there == null ? client.resource(service).create() : there;
  }

  private Resource<EndpointSlice> resource() {
    return client.discovery().v1().endpointSlices().inNamespace(NAMESPACE).withName(NAME);
  }

  private List<String> addresses() {
    EndpointSlice slice = resource().get();
    return slice == null || slice.getEndpoints() == null
        ? List.of()
        : slice.getEndpoints().stream().flatMap(e -> e.getAddresses().stream()).toList();
  }
}
