package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayInputStream;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;

/** Reads and writes certificates, and PKCS #8 keys on elliptic curves, as PEM. */
final class Certificates {
  private static final int LINE_CHARS = 64;
  private static final Base64.Encoder LINES =
      Base64.getMimeEncoder(LINE_CHARS, "\n".getBytes(US_ASCII));

  private Certificates() {}

  /** Returns the certificates as PEM, one after the other. */
  static String pem(List<X509Certificate> certificates) {
    return certificates.stream().map(Certificates::pem).collect(Collectors.joining());
  }

  private static String pem(X509Certificate certificate) {
    try {
      return block("CERTIFICATE", certificate.getEncoded());
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("a certificate without an encoding", impossible);
    }
  }

  static String pem(PrivateKey key) {
    return block("PRIVATE KEY", key.getEncoded());
  }

  private static String block(String label, byte[] der) {
    return "-----BEGIN %s-----\n%s\n-----END %1$s-----\n"
        .formatted(label, LINES.encodeToString(der));
  }

  /** Returns an empty list if the text cannot be parsed as certificates. */
  static List<X509Certificate> parse(String pem) {
    try {
      return CertificateFactory.getInstance("X.509")
          .generateCertificates(new ByteArrayInputStream(pem.getBytes(US_ASCII)))
          .stream()
          .map(X509Certificate.class::cast)
          .toList();
    } catch (GeneralSecurityException unreadable) {
      return List.of();
    }
  }

  /**
   * @throws GeneralSecurityException if the text is not a PKCS #8 key on an elliptic curve
   */
  static PrivateKey parseKey(String pem) throws GeneralSecurityException {
    String body = pem.replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
    try {
      byte[] der = Base64.getDecoder().decode(body);
      return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der));
    } catch (IllegalArgumentException notBase64) {
      throw new GeneralSecurityException("the key is not PEM", notBase64);
    }
  }

  static boolean signedBy(X509Certificate certificate, X509Certificate authority) {
    try {
      certificate.verify(authority.getPublicKey());
      return certificate.getIssuerX500Principal().equals(authority.getSubjectX500Principal());
    } catch (GeneralSecurityException notItsSignature) {
      return false;
    }
  }

  static boolean expired(X509Certificate certificate, Instant now) {
    return !now.isBefore(certificate.getNotAfter().toInstant());
  }
}
