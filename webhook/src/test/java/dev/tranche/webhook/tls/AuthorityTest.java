package dev.tranche.webhook.tls;

import static org.assertj.core.api.Assertions.assertThat;

import java.security.cert.CertPathValidator;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class AuthorityTest {
  private static final Instant NOW = Instant.parse("2026-11-21T12:00:00Z");
  private static final Duration DAY = Duration.ofDays(1);
  private static final List<String> NAMES =
      List.of("tranche-webhook.tranche.svc", "tranche-webhook.tranche.svc.cluster.local");

  private final Pair authority = Authority.create("tranche-ca", NOW, Duration.ofDays(3650));
  private final X509Certificate serving =
      Authority.issue(authority, Authority.Use.SERVER, NAMES, NOW, DAY).certificate();

  @Test
  void chain_isValid_byTheJdk() throws Exception {
    var parameters = new PKIXParameters(Set.of(new TrustAnchor(authority.certificate(), null)));
    parameters.setRevocationEnabled(false);
    parameters.setDate(Date.from(NOW));
    var path = CertificateFactory.getInstance("X.509").generateCertPath(List.of(serving));
    assertThat(CertPathValidator.getInstance("PKIX").validate(path, parameters)).isNotNull();
  }

  @Test
  void authority_signsCertificates_butNoAuthorities() {
    X509Certificate ca = authority.certificate();
    assertThat(ca.getBasicConstraints()).isZero();
    assertThat(ca.getKeyUsage()).containsExactly(usages(5, 6));
    assertThat(ca.getCriticalExtensionOIDs()).containsExactlyInAnyOrder("2.5.29.15", "2.5.29.19");
    assertThat(ca.getSubjectX500Principal()).isEqualTo(ca.getIssuerX500Principal());
    assertThat(ca.getSubjectX500Principal().getName()).startsWith("CN=tranche-ca ");
    assertThat(ca.getSerialNumber().bitLength()).isEqualTo(127);
  }

  @Test
  void servingCertificate_isForItsNames_andOneUse() throws Exception {
    assertThat(serving.getSubjectAlternativeNames())
        .containsExactlyElementsOf(NAMES.stream().map(n -> List.<Object>of(2, n)).toList());
    assertThat(serving.getExtendedKeyUsage()).containsExactly("1.3.6.1.5.5.7.3.1");
    assertThat(serving.getKeyUsage()).containsExactly(usages(0));
    assertThat(serving.getBasicConstraints()).isEqualTo(-1);
    assertThat(serving.getVersion()).isEqualTo(3);
    assertThat(serving.getSigAlgName()).isEqualTo("SHA256withECDSA");
    var client = Authority.issue(authority, Authority.Use.CLIENT, NAMES, NOW, DAY);
    assertThat(client.certificate().getExtendedKeyUsage()).containsExactly("1.3.6.1.5.5.7.3.2");
  }

  @Test
  void keyIdentifiers_leadToTheAuthority() {
    byte[] authoritys = authority.certificate().getExtensionValue("2.5.29.14");
    byte[] signers = serving.getExtensionValue("2.5.29.35");
    assertThat(Arrays.copyOfRange(signers, signers.length - 20, signers.length))
        .isEqualTo(Arrays.copyOfRange(authoritys, authoritys.length - 20, authoritys.length));
    assertThat(serving.getExtensionValue("2.5.29.14")).hasSize(24).isNotEqualTo(authoritys);
  }

  @Test
  void life_beginsEarlierByTheSkewOfClocks_andEndsInAnyCentury() {
    assertThat(serving.getNotBefore()).isEqualTo("2026-11-21T11:55:00Z");
    assertThat(serving.getNotAfter()).isEqualTo("2026-11-22T12:00:00Z");
    var longLived = Authority.create("ca", NOW, Duration.ofDays(36_500)).certificate();
    assertThat(longLived.getNotAfter()).isEqualTo("2126-10-28T12:00:00Z");
  }

  @Test
  void manyNames_fit() throws Exception {
    List<String> many = IntStream.range(0, 3_000).mapToObj("n%d.svc"::formatted).toList();
    var certificate =
        Authority.issue(authority, Authority.Use.SERVER, many, NOW, DAY).certificate();
    assertThat(certificate.getSubjectAlternativeNames()).hasSize(3_000);
  }

  private static boolean[] usages(int... bits) {
    var usages = new boolean[9];
    for (int bit : bits) {
      usages[bit] = true;
    }
    return usages;
  }
}
