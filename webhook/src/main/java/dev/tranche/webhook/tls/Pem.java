package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayInputStream;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;

/** PEM text of certificates and of PKCS #8 keys on elliptic curves. */
final class Pem {
  private static final int LINE_CHARS = 64;
  private static final Base64.Encoder LINES =
      Base64.getMimeEncoder(LINE_CHARS, "\n".getBytes(US_ASCII));

  private Pem() {}

  static String certificate(X509Certificate certificate) {
    try {
      return block("CERTIFICATE", certificate.getEncoded());
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("a certificate without an encoding", impossible);
    }
  }

  static String key(PrivateKey key) {
    return block("PRIVATE KEY", key.getEncoded());
  }

  /**
   * @throws GeneralSecurityException if the text cannot be parsed as certificates
   */
  static List<X509Certificate> certificates(String pem) throws GeneralSecurityException {
    return CertificateFactory.getInstance("X.509")
        .generateCertificates(new ByteArrayInputStream(pem.getBytes(US_ASCII)))
        .stream()
        .map(X509Certificate.class::cast)
        .toList();
  }

  /** Returns an empty list if the text cannot be parsed as certificates. */
  static List<X509Certificate> readable(String pem) {
    try {
      return certificates(pem);
    } catch (GeneralSecurityException unreadable) {
      return List.of();
    }
  }

  /**
   * @throws GeneralSecurityException if the text is not a PKCS #8 key on an elliptic curve
   */
  static PrivateKey key(String pem) throws GeneralSecurityException {
    String body = pem.replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
    try {
      byte[] der = Base64.getDecoder().decode(body);
      return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der));
    } catch (IllegalArgumentException notBase64) {
      throw new GeneralSecurityException("the key is not PEM", notBase64);
    }
  }

  private static String block(String label, byte[] der) {
    return "-----BEGIN %s-----\n%s\n-----END %1$s-----\n"
        .formatted(label, LINES.encodeToString(der));
  }
}
