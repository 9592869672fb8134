package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@EnableKubernetesMockClient(crud = true)
class SelfSignedReconcilerIT {
  private static final Instant NOW = Instant.parse("2026-11-21T12:00:00Z");
  private static final Duration AUTHORITY_LIFE = Duration.ofDays(3650);
  private static final Duration LIFE = Duration.ofDays(90);

  /** Set by the extension. */
  @SuppressWarnings("NullAway.Init")
  KubernetesClient client;

  private final TlsConfig names = config(false);

  @BeforeEach
  void createSecrets() {
    Pairs.createSecrets(client, "tranche-system");
  }

  @Test
  void firstRound_makesAllThatIsMissing() throws Exception {
    TlsState state = round(NOW).reconcile();
    Secret extender = secret("tranche-extender-tls");
    assertThat(extender.getData()).containsOnlyKeys("tls.crt", "tls.key", "ca.crt");
    assertThat(secret("tranche-ca").getData()).containsOnlyKeys("ca.crt", "ca.key");
    TlsKeyPair serving = pair("tranche-extender-tls");
    assertThat(serving.replacedBecause(List.of(state.authority()), names.extenderDnsNames(), NOW))
        .isEmpty();
    assertThat(names.extenderDnsNames())
        .contains("tranche-extender-stream.tranche-system.svc.cluster.local");
    assertThat(state.missing()).isPresent();
  }

  @Test
  void emptySecrets_ofTheChart_areFilled() {
    TlsState state = round(NOW).reconcile();
    assertThat(state.extender().getNotAfter().toInstant()).isAfter(NOW);
    assertThat(secret("tranche-ca").getData()).containsOnlyKeys("ca.crt", "ca.key");
    assertThat(secret("tranche-ca").getMetadata().getAnnotations())
        .containsEntry("helm.sh/resource-policy", "keep");
    assertThat(round(NOW.plusSeconds(60)).reconcile()).isEqualTo(state);
  }

  @Test
  void servingCertificate_isRenewedInTime_byTheSameAuthority() {
    TlsState first = round(NOW).reconcile();
    TlsState later = round(NOW.plus(Duration.ofDays(61))).reconcile();
    assertThat(later.authority()).isEqualTo(first.authority());
    assertThat(later.webhook()).isNotEqualTo(first.webhook());
    assertThat(later.extender().getNotAfter()).isAfter(first.extender().getNotAfter());
  }

  @Test
  void authority_thatHasEnded_isReplaced_andWhatItSigned() {
    TlsState first = round(NOW).reconcile();
    TlsState later = round(NOW.plus(AUTHORITY_LIFE)).reconcile();
    assertThat(later.authority()).isNotEqualTo(first.authority());
    assertThat(Certificates.signedBy(later.webhook().certificate(), later.authority())).isTrue();
  }

  @Test
  void authority_isSucceeded_andSignsOnlyOnceItsBundleHasArrived() {
    TlsState first = round(NOW).reconcile();
    Instant due = NOW.plus(AUTHORITY_LIFE.multipliedBy(2).dividedBy(3));
    TlsState succeeded = round(due).reconcile();
    assertThat(new TlsStore(client, names).bundle())
        .containsExactly(succeeded.authority(), first.authority());
    assertThat(succeeded.authority()).isNotEqualTo(first.authority());
    TlsKeyPair serving = succeeded.webhook();
    assertThat(Certificates.signedBy(serving.certificate(), first.authority())).isTrue();
    assertThat(serving.isDue(due.plus(Duration.ofHours(1)))).as("it is new").isFalse();
    assertThat(round(due.plusSeconds(60)).reconcile()).isEqualTo(succeeded);

    TlsState later = round(due.plus(LIFE)).reconcile();
    assertThat(later.authority()).isEqualTo(succeeded.authority());
    assertThat(Certificates.signedBy(later.webhook().certificate(), later.authority())).isTrue();

    Instant next = due.plus(AUTHORITY_LIFE.multipliedBy(2).dividedBy(3));
    TlsState third = round(next).reconcile();
    assertThat(new TlsStore(client, names).bundle())
        .as("the first has ended")
        .containsExactly(third.authority(), succeeded.authority());
  }

  @Test
  void servingCertificate_neverOutlivesItsAuthority() {
    round(NOW).reconcile();
    // Nobody watched for years; a day is left.
    TlsState late = round(NOW.plus(AUTHORITY_LIFE).minus(Duration.ofDays(1))).reconcile();
    assertThat(late.webhook().expiry())
        .isBeforeOrEqualTo(late.authority().getNotAfter().toInstant());
  }

  @Test
  void foreignCertificates_areServed_andTheirAuthoritiesPublishedUntilTheyEnd() {
    var store = new TlsStore(client, names);
    TlsKeyPair first = new Issuer(NOW).authority("theirs", Duration.ofDays(1));
    writeCertManagerPairs(store, first);
    TlsState state = new CertManagerReconciler(store, names, () -> NOW).reconcile();
    assertThat(state.missing()).hasValueSatisfying(m -> assertThat(m).contains("cert-manager"));
    assertThat(Certificates.signedBy(state.webhook().certificate(), first.certificate())).isTrue();
    TlsKeyPair second = new Issuer(NOW).authority("theirs", Duration.ofDays(9));
    writeCertManagerPairs(store, second);
    new CertManagerReconciler(store, names, () -> NOW).reconcile();
    assertThat(store.bundle()).containsExactly(second.certificate(), first.certificate());
    new CertManagerReconciler(store, names, () -> NOW.plus(Duration.ofDays(1))).reconcile();
    assertThat(store.bundle()).containsExactly(second.certificate());
  }

  private void writeCertManagerPairs(TlsStore store, TlsKeyPair authority) {
    for (String secret : List.of(names.webhookSecret(), names.extenderSecret())) {
      store.write(store.read(secret), secondPair(authority), authority.certificatePem());
    }
  }

  @Test
  void schedulersCertificate_isAClients_andLastsAsLongAsItsAuthority() throws Exception {
    round(NOW).reconcile();
    assertThat(secret("tranche-scheduler-client-tls").getData()).isNullOrEmpty();
    TlsState state = round(NOW, true).reconcile();
    TlsKeyPair client = pair("tranche-scheduler-client-tls");
    assertThat(Certificates.signedBy(client.certificate(), state.authority())).isTrue();
    assertThat(client.certificate().getSubjectX500Principal().getName())
        .isEqualTo("CN=tranche-scheduler-client");
    assertThat(client.certificate().getExtendedKeyUsage()).containsExactly("1.3.6.1.5.5.7.3.2");
    assertThat(state.webhook().certificate().getExtendedKeyUsage())
        .containsExactly("1.3.6.1.5.5.7.3.1");
    assertThat(client.expiry()).isEqualTo(state.authority().getNotAfter().toInstant());
    round(NOW.plus(LIFE), true).reconcile();
    assertThat(pair("tranche-scheduler-client-tls")).isEqualTo(client);
  }

  @Test
  void authority_thatCannotBeRead_isNotOverwritten() {
    round(NOW).reconcile();
    client
        .resource(new SecretBuilder(secret("tranche-ca")).addToData("ca.key", "bm9uZQ==").build())
        .update();
    assertThatThrownBy(() -> round(NOW).reconcile())
        .hasMessageContaining("Secret tranche-system/tranche-ca has no valid CA")
        .hasMessageContaining("empty it with kubectl");
  }

  /** As after half of a backup was restored. */
  @Test
  void keyOfAnotherAuthority_isNamed_andNothingIsSignedWithIt() {
    TlsState first = round(NOW).reconcile();
    String other = new Issuer(NOW).authority("other", AUTHORITY_LIFE).keyPem();
    client
        .resource(
            new SecretBuilder(secret("tranche-ca"))
                .addToData("ca.key", Base64.getEncoder().encodeToString(other.getBytes(US_ASCII)))
                .build())
        .update();
    assertThatThrownBy(() -> round(NOW.plus(Duration.ofDays(61))).reconcile())
        .hasMessageContaining("Secret tranche-system/tranche-ca has no valid CA")
        .hasMessageContaining("empty it with kubectl -n tranche-system patch");
    assertThat(pair("tranche-webhook-tls")).isEqualTo(first.webhook());
  }

  @Test
  void foreignKey_thatIsNotItsCertificates_isNotServed() {
    var store = new TlsStore(client, names);
    TlsKeyPair authority = new Issuer(NOW).authority("theirs", LIFE);
    writeCertManagerPairs(store, authority);
    TlsKeyPair mixed = new TlsKeyPair(secondPair(authority).chain(), secondPair(authority).key());
    store.write(store.read(names.webhookSecret()), mixed, authority.certificatePem());
    assertThatThrownBy(() -> new CertManagerReconciler(store, names, () -> NOW).reconcile())
        .hasMessageContaining("no matching, readable");
  }

  private static TlsKeyPair secondPair(TlsKeyPair authority) {
    return new Issuer(NOW).issue(authority, KeyPurposeId.id_kp_serverAuth, List.of("x"), LIFE);
  }

  @Test
  @Tag("slow")
  void replicasThatRace_agree() throws Exception {
    for (int race = 0; race < 20; race++) {
      client.secrets().inNamespace("tranche-system").delete();
      createSecrets();
      List<TlsState> states = race(3, NOW);
      assertThat(states.stream().map(TlsState::authority).distinct()).hasSize(1);
      assertThat(states.stream().map(s -> s.webhook().certificate()).distinct()).hasSize(1);
      List<TlsState> renewed = race(3, NOW.plus(Duration.ofDays(61)));
      TlsKeyPair held = pair("tranche-webhook-tls");
      assertThat(renewed.stream().map(TlsState::webhook).distinct()).containsExactly(held);
    }
  }

  private List<TlsState> race(int replicas, Instant now) throws Exception {
    var barrier = new CyclicBarrier(replicas);
    try (var threads = Executors.newFixedThreadPool(replicas)) {
      var running = new ArrayList<Future<TlsState>>();
      for (int i = 0; i < replicas; i++) {
        running.add(
            threads.submit(
                () -> {
                  barrier.await();
                  return round(now).reconcile();
                }));
      }
      var states = new ArrayList<TlsState>();
      for (Future<TlsState> future : running) {
        states.add(future.get());
      }
      return states;
    }
  }

  private SelfSignedReconciler round(Instant now) {
    return round(now, false);
  }

  private SelfSignedReconciler round(Instant now, boolean schedulerClient) {
    TlsConfig config = config(schedulerClient);
    return new SelfSignedReconciler(new TlsStore(client, config), config, () -> now);
  }

  private static TlsConfig config(boolean schedulerClient) {
    return Pairs.config("tranche-system", AUTHORITY_LIFE, LIFE, schedulerClient);
  }

  private TlsKeyPair pair(String secret) {
    return new TlsStore(client, names).read(secret).pair().orElseThrow();
  }

  private Secret secret(String name) {
    return client.secrets().inNamespace("tranche-system").withName(name).get();
  }
}
