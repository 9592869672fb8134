package dev.tranche.webhook;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayInputStream;
import java.security.GeneralSecurityException;
import java.security.cert.CertPathValidator;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.net.ssl.X509TrustManager;

/**
 * Verifies a server by a bundle, at the time of a clock. As Go does for the API server, it trusts
 * no authority that has ended. The JDK compares the server's name.
 */
final class BundleTrust implements X509TrustManager {
  private final String bundle;
  private final InstantSource clock;

  BundleTrust(String bundle, InstantSource clock) {
    this.bundle = bundle;
    this.clock = clock;
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
    Instant at = clock.instant();
    try {
      var x509 = CertificateFactory.getInstance("X.509");
      Set<TrustAnchor> anchors = new HashSet<>();
      for (var each :
          x509.generateCertificates(new ByteArrayInputStream(bundle.getBytes(US_ASCII)))) {
        var authority = (X509Certificate) each;
        if (!at.isBefore(authority.getNotBefore().toInstant())
            && !at.isAfter(authority.getNotAfter().toInstant())) {
          anchors.add(new TrustAnchor(authority, null));
        }
      }
      var parameters = new PKIXParameters(anchors);
      parameters.setRevocationEnabled(false);
      parameters.setDate(Date.from(at));
      CertPathValidator.getInstance("PKIX")
          .validate(x509.generateCertPath(List.of(chain)), parameters);
    } catch (CertificateException e) {
      throw e;
    } catch (GeneralSecurityException e) {
      throw new CertificateException(e);
    }
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
    throw new CertificateException("only servers are verified");
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return new X509Certificate[0];
  }
}
