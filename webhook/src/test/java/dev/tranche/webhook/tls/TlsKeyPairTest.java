package dev.tranche.webhook.tls;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.junit.jupiter.api.Test;

class TlsKeyPairTest {
  private static final Instant NOW = Instant.parse("2026-11-21T12:00:00Z");
  private static final Duration LIFE = Duration.ofHours(30);
  private static final List<String> NAMES = List.of("tranche-webhook.ns.svc");

  private final TlsKeyPair authority = new Issuer(NOW).authority("tranche-ca", Duration.ofDays(10));
  private final TlsKeyPair serving = issued(authority, NAMES, LIFE);

  private static TlsKeyPair issued(TlsKeyPair authority, List<String> names, Duration life) {
    return new Issuer(NOW).issue(authority, KeyPurposeId.id_kp_serverAuth, names, life);
  }

  @Test
  void reason_isEmpty_whileFresh() {
    assertThat(serving.replacedBecause(authority.chain(), NAMES, NOW)).isEmpty();
  }

  @Test
  void reason_isItsAge_afterTwoThirds() {
    assertThat(reasonAt(NOW.plus(Duration.ofHours(19)))).isEmpty();
    assertThat(reasonAt(NOW.plus(Duration.ofHours(20)))).contains("a third of its lifetime");
  }

  @Test
  void reason_isTheAuthority_whenAnotherSigned() {
    TlsKeyPair other = new Issuer(NOW).authority("tranche-ca", Duration.ofDays(10));
    assertThat(serving.replacedBecause(other.chain(), NAMES, NOW))
        .hasValueSatisfying(r -> assertThat(r).contains("another CA"));
  }

  @Test
  void reason_isTheName_whenOneIsMissing() {
    assertThat(
            serving.replacedBecause(authority.chain(), List.of("tranche-webhook.other.svc"), NOW))
        .hasValueSatisfying(r -> assertThat(r).contains("lacks one of the DNS names"));
  }

  @Test
  void reason_isTheKey_whenItIsAnothers() {
    TlsKeyPair mixed = new TlsKeyPair(serving.chain(), issued(authority, NAMES, LIFE).key());
    assertThat(mixed.replacedBecause(authority.chain(), NAMES, NOW))
        .hasValueSatisfying(r -> assertThat(r).contains("key is another"));
  }

  @Test
  void shortLife_startsLittleBeforeNow_soThatItIsNotDueAtOnce() {
    TlsKeyPair brief = issued(authority, NAMES, Duration.ofMinutes(1));
    assertThat(brief.isDue(NOW.plusSeconds(30))).isFalse();
  }

  @Test
  void pem_readsWhatItWrites() throws Exception {
    assertThat(Certificates.parse(serving.certificatePem())).containsExactly(serving.certificate());
    assertThat(Certificates.parseKey(serving.keyPem())).isEqualTo(serving.key());
  }

  @Test
  void toString_hidesTheKey() {
    assertThat(serving.toString())
        .doesNotContain("PRIVATE")
        .contains(" of CN=")
        .contains("ends 2026-11-22T18:00:00Z");
  }

  private String reasonAt(Instant now) {
    return serving.replacedBecause(authority.chain(), NAMES, now).orElse("");
  }
}
