package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@EnableKubernetesMockClient(crud = true)
@Timeout(60)
class SelfSignedReconcilerIT {
  private static final Instant NOW = Instant.parse("2026-11-21T12:00:00Z");
  private static final Duration AUTHORITY_LIFE = Duration.ofDays(3650);
  private static final Duration LIFE = Duration.ofDays(90);

  /** Set by the extension. */
  @SuppressWarnings("NullAway.Init")
  KubernetesClient client;

  private final TlsNames names = new TlsNames("tranche", "tranche-system");

  @Test
  void firstRound_makesAllThatIsMissing() throws Exception {
    TlsState kept = round(NOW).keep();
    Secret extender = secret("tranche-extender-tls");
    assertThat(extender.getType()).isEqualTo("kubernetes.io/tls");
    assertThat(extender.getData()).containsOnlyKeys("tls.crt", "tls.key", "ca.crt");
    assertThat(secret("tranche-ca").getData()).containsOnlyKeys("ca.crt", "ca.key");
    TlsKeyPair serving = new TlsStore.Held(extender).pair("tls.crt", "tls.key").orElseThrow();
    assertThat(Renewal.reason(serving, kept.authority(), names.extenderDnsNames(), NOW)).isEmpty();
    assertThat(names.extenderDnsNames())
        .contains("tranche-extender-stream.tranche-system.svc.cluster.local");
    assertThat(kept.missing()).isPresent();
  }

  @Test
  void emptySecrets_ofTheChart_areFilled() {
    for (String name : List.of("tranche-ca", "tranche-webhook-tls", "tranche-extender-tls")) {
      client
          .secrets()
          .resource(
              new SecretBuilder()
                  .withNewMetadata()
                  .withName(name)
                  .withNamespace("tranche-system")
                  .addToAnnotations("helm.sh/resource-policy", "keep")
                  .endMetadata()
                  .build())
          .create();
    }
    TlsState kept = round(NOW).keep();
    assertThat(kept.extender().getNotAfter().toInstant()).isAfter(NOW);
    assertThat(secret("tranche-ca").getData()).containsOnlyKeys("ca.crt", "ca.key");
    assertThat(secret("tranche-ca").getMetadata().getAnnotations())
        .containsEntry("helm.sh/resource-policy", "keep");
    assertThat(round(NOW.plusSeconds(60)).keep()).isEqualTo(kept);
  }

  @Test
  void nextRound_changesNothing() {
    TlsState first = round(NOW).keep();
    assertThat(round(NOW.plusSeconds(60)).keep()).isEqualTo(first);
  }

  @Test
  void servingCertificate_isRenewedInTime_byTheSameAuthority() {
    TlsState first = round(NOW).keep();
    TlsState later = round(NOW.plus(Duration.ofDays(61))).keep();
    assertThat(later.authority()).isEqualTo(first.authority());
    assertThat(later.webhook()).isNotEqualTo(first.webhook());
    assertThat(later.extender().getNotAfter()).isAfter(first.extender().getNotAfter());
  }

  @Test
  void authority_thatHasEnded_isReplaced_andWhatItSigned() {
    TlsState first = round(NOW).keep();
    TlsState later = round(NOW.plus(AUTHORITY_LIFE)).keep();
    assertThat(later.authority()).isNotEqualTo(first.authority());
    assertThat(Renewal.signedBy(later.webhook().certificate(), later.authority())).isTrue();
  }

  @Test
  void authority_isSucceeded_withAnOverlap() {
    TlsState first = round(NOW).keep();
    Instant due = NOW.plus(AUTHORITY_LIFE.multipliedBy(2).dividedBy(3));
    TlsState announced = round(due).keep();
    assertThat(announced.trusted()).hasSize(2).startsWith(first.authority());
    X509Certificate successor = announced.trusted().getLast();
    assertThat(new TlsStore(client, names).bundle()).isEqualTo(announced.trusted());
    assertThat(Renewal.signedBy(announced.webhook().certificate(), first.authority())).isTrue();

    TlsState waiting = round(due.plus(Duration.ofMinutes(59))).keep();
    assertThat(waiting.trusted()).isEqualTo(announced.trusted());
    assertThat(waiting.webhook()).isEqualTo(announced.webhook());

    TlsState taken = round(due.plus(Duration.ofMinutes(60))).keep();
    assertThat(taken.trusted()).containsExactly(successor, first.authority());
    assertThat(Renewal.signedBy(taken.webhook().certificate(), successor)).isTrue();

    TlsState alone = round(NOW.plus(AUTHORITY_LIFE)).keep();
    assertThat(alone.trusted()).containsExactly(successor);
  }

  @Test
  void servingCertificate_neverOutlivesItsAuthority() {
    round(NOW).keep();
    // Nobody watched for years; a day is left.
    TlsState late = round(NOW.plus(AUTHORITY_LIFE).minus(Duration.ofDays(1))).keep();
    assertThat(late.webhook().expiry())
        .isBeforeOrEqualTo(late.authority().getNotAfter().toInstant());
  }

  @Test
  void foreignCertificates_areServed_andTheirAuthoritiesPublishedUntilTheyEnd() {
    var store = new TlsStore(client, names);
    TlsKeyPair first = CertificateAuthority.create("theirs", NOW, Duration.ofDays(1));
    foreign(store, first);
    TlsState kept = new CertManagerReconciler(store, names, () -> NOW).keep();
    assertThat(kept.missing()).hasValueSatisfying(m -> assertThat(m).contains("cert-manager"));
    assertThat(Renewal.signedBy(kept.webhook().certificate(), first.certificate())).isTrue();
    TlsKeyPair second = CertificateAuthority.create("theirs", NOW, Duration.ofDays(9));
    foreign(store, second);
    new CertManagerReconciler(store, names, () -> NOW).keep();
    assertThat(store.bundle()).containsExactly(second.certificate(), first.certificate());
    new CertManagerReconciler(store, names, () -> NOW.plus(Duration.ofDays(1))).keep();
    assertThat(store.bundle()).containsExactly(second.certificate());
  }

  private void foreign(TlsStore store, TlsKeyPair authority) {
    for (String secret : List.of(names.webhookSecret(), names.extenderSecret())) {
      store.writePair(
          secret,
          store.held(secret),
          CertificateAuthority.issue(
              authority, CertificateAuthority.Use.SERVER, List.of("x"), NOW, LIFE),
          authority.certificatePem());
    }
  }

  @Test
  void schedulersCertificate_isAClients_andLastsAsLongAsItsAuthority() throws Exception {
    round(NOW).keep();
    assertThat(secret("tranche-scheduler-client-tls")).isNull();
    TlsState kept = round(NOW, true).keep();
    TlsKeyPair client =
        new TlsStore.Held(secret("tranche-scheduler-client-tls"))
            .pair("tls.crt", "tls.key")
            .orElseThrow();
    assertThat(Renewal.signedBy(client.certificate(), kept.authority())).isTrue();
    assertThat(client.certificate().getSubjectX500Principal().getName())
        .isEqualTo("CN=tranche-scheduler-client");
    assertThat(client.certificate().getExtendedKeyUsage()).containsExactly("1.3.6.1.5.5.7.3.2");
    assertThat(kept.webhook().certificate().getExtendedKeyUsage())
        .containsExactly("1.3.6.1.5.5.7.3.1");
    assertThat(client.expiry()).isEqualTo(kept.authority().getNotAfter().toInstant());
    round(NOW.plus(LIFE), true).keep();
    assertThat(new TlsStore.Held(secret("tranche-scheduler-client-tls")).pair("tls.crt", "tls.key"))
        .contains(client);
  }

  @Test
  void authority_thatCannotBeRead_isNotOverwritten() {
    round(NOW).keep();
    client
        .resource(new SecretBuilder(secret("tranche-ca")).addToData("ca.key", "bm9uZQ==").build())
        .update();
    assertThatThrownBy(() -> round(NOW).keep())
        .hasMessageContaining("Secret tranche-system/tranche-ca holds no authority")
        .hasMessageContaining("empty it with kubectl");
  }

  /** As after half of a backup was restored. */
  @Test
  void keyOfAnotherAuthority_isNamed_andNothingIsSignedWithIt() {
    TlsState first = round(NOW).keep();
    String other = CertificateAuthority.create("other", NOW, AUTHORITY_LIFE).keyPem();
    client
        .resource(
            new SecretBuilder(secret("tranche-ca"))
                .addToData("ca.key", Base64.getEncoder().encodeToString(other.getBytes(US_ASCII)))
                .build())
        .update();
    assertThatThrownBy(() -> round(NOW.plus(Duration.ofDays(61))).keep())
        .hasMessageContaining("Secret tranche-system/tranche-ca: ca.key is not the key")
        .hasMessageContaining("empty the Secret with kubectl -n tranche-system patch");
    assertThat(new TlsStore.Held(secret("tranche-webhook-tls")).pair("tls.crt", "tls.key"))
        .contains(first.webhook());
  }

  @Test
  void foreignKey_thatIsNotItsCertificates_isNotServed() {
    var store = new TlsStore(client, names);
    TlsKeyPair authority = CertificateAuthority.create("theirs", NOW, LIFE);
    foreign(store, authority);
    TlsKeyPair mixed =
        new TlsKeyPair(secondPair(authority).certificate(), secondPair(authority).key());
    store.writePair(
        names.webhookSecret(),
        store.held(names.webhookSecret()),
        mixed,
        authority.certificatePem());
    assertThatThrownBy(() -> new CertManagerReconciler(store, names, () -> NOW).keep())
        .hasMessageContaining("belong together");
  }

  private static TlsKeyPair secondPair(TlsKeyPair authority) {
    return CertificateAuthority.issue(
        authority, CertificateAuthority.Use.SERVER, List.of("x"), NOW, LIFE);
  }

  @Test
  void replicasThatRace_agree() throws Exception {
    for (int race = 0; race < 20; race++) {
      client.secrets().inNamespace("tranche-system").delete();
      List<TlsState> kept = race(3, NOW);
      assertThat(kept.stream().map(TlsState::authority).distinct()).hasSize(1);
      assertThat(kept.stream().map(k -> k.webhook().certificate()).distinct()).hasSize(1);
      List<TlsState> renewed = race(3, NOW.plus(Duration.ofDays(61)));
      TlsKeyPair held =
          new TlsStore.Held(secret("tranche-webhook-tls")).pair("tls.crt", "tls.key").orElseThrow();
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
                  return round(now).keep();
                }));
      }
      var kept = new ArrayList<TlsState>();
      for (Future<TlsState> future : running) {
        kept.add(future.get());
      }
      return kept;
    }
  }

  private SelfSignedReconciler round(Instant now) {
    return round(now, false);
  }

  private SelfSignedReconciler round(Instant now, boolean schedulerClient) {
    var making = new CertificateController.Making(false, AUTHORITY_LIFE, LIFE, schedulerClient);
    return new SelfSignedReconciler(new TlsStore(client, names), names, making, () -> now);
  }

  private Secret secret(String name) {
    return client.secrets().inNamespace("tranche-system").withName(name).get();
  }
}
