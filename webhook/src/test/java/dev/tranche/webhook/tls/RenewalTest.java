package dev.tranche.webhook.tls;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RenewalTest {
  private static final Instant NOW = Instant.parse("2026-11-21T12:00:00Z");
  private static final Duration LIFE = Duration.ofHours(30);
  private static final List<String> NAMES = List.of("tranche-webhook.ns.svc");

  private final TlsKeyPair authority =
      CertificateAuthority.create("tranche-ca", NOW, Duration.ofDays(10));
  private final TlsKeyPair serving =
      CertificateAuthority.issue(authority, CertificateAuthority.Use.SERVER, NAMES, NOW, LIFE);

  @Test
  void intermediates_leadToWhomIsTrusted() {
    TlsKeyPair root = CertificateAuthority.create("root", NOW, LIFE);
    TlsKeyPair middle =
        CertificateAuthority.issue(
            root, CertificateAuthority.Use.SERVER, List.of("middle"), NOW, LIFE);
    TlsKeyPair leaf =
        CertificateAuthority.issue(
            middle, CertificateAuthority.Use.SERVER, List.of("leaf"), NOW, LIFE);
    TlsKeyPair chained =
        new TlsKeyPair(leaf.certificate(), List.of(middle.certificate()), leaf.key());
    var state =
        new TlsState(List.of(root.certificate()), chained, root.certificate(), Optional.empty());
    assertThat(state.verifies(chained)).isTrue();
    assertThat(state.verifies(leaf)).isFalse();
  }

  @Test
  void reason_isEmpty_whileFresh() {
    assertThat(Renewal.reason(serving, authority.certificate(), NAMES, NOW)).isEmpty();
  }

  @Test
  void reason_isItsAge_afterTwoThirds() {
    assertThat(reasonAt(NOW.plus(Duration.ofHours(19)))).isEmpty();
    assertThat(reasonAt(NOW.plus(Duration.ofHours(20)))).contains("a third of its lifetime");
  }

  @Test
  void reason_isTheAuthority_whenAnotherSigned() {
    TlsKeyPair other = CertificateAuthority.create("tranche-ca", NOW, Duration.ofDays(10));
    assertThat(Renewal.reason(serving, other.certificate(), NAMES, NOW))
        .hasValueSatisfying(r -> assertThat(r).contains("another CA"));
  }

  @Test
  void reason_isTheName_whenOneIsMissing() {
    assertThat(
            Renewal.reason(
                serving, authority.certificate(), List.of("tranche-webhook.other.svc"), NOW))
        .hasValueSatisfying(r -> assertThat(r).contains("lacks one of the DNS names"));
  }

  @Test
  void reason_isTheKey_whenItIsAnothers() {
    TlsKeyPair mixed =
        new TlsKeyPair(
            serving.certificate(),
            CertificateAuthority.issue(authority, CertificateAuthority.Use.SERVER, NAMES, NOW, LIFE)
                .key());
    assertThat(Renewal.reason(mixed, authority.certificate(), NAMES, NOW))
        .hasValueSatisfying(r -> assertThat(r).contains("key is another"));
  }

  @Test
  void shortLife_startsLittleBeforeNow_soThatItIsNotDueAtOnce() {
    TlsKeyPair brief =
        CertificateAuthority.issue(
            authority, CertificateAuthority.Use.SERVER, NAMES, NOW, Duration.ofMinutes(1));
    assertThat(Renewal.due(brief.certificate())).isAfter(NOW.plusSeconds(30));
  }

  @Test
  void pem_readsWhatItWrites() throws Exception {
    assertThat(Pem.certificates(serving.certificatePem())).containsExactly(serving.certificate());
    assertThat(Pem.key(serving.keyPem())).isEqualTo(serving.key());
  }

  @Test
  void toString_hidesTheKey() {
    assertThat(serving.toString())
        .doesNotContain("PRIVATE")
        .contains(" of CN=")
        .contains("ends 2026-11-22T18:00:00Z");
  }

  private String reasonAt(Instant now) {
    return Renewal.reason(serving, authority.certificate(), NAMES, now).orElse("");
  }
}
