package dev.tranche.webhook.tls;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/**
 * Makes certificates: ECDSA on P-256, signed with SHA-256.
 *
 * @param now when they begin to be valid
 */
record Issuer(Instant now) {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int SERIAL_BITS = 127;

  /** Clocks of two machines may differ by this much. */
  private static final Duration SKEW_MAX = Duration.ofMinutes(5);

  /** A new authority that signs itself. */
  TlsKeyPair authority(String name, Duration life) {
    try {
      KeyPair keys = keys();
      // A random number in the name distinguishes two authorities where both are trusted.
      var subject = new X500Principal("CN=" + name + " " + serial().toString(36));
      X509v3CertificateBuilder builder =
          builder(subject, subject, keys, life)
              .addExtension(Extension.basicConstraints, true, new BasicConstraints(0))
              .addExtension(
                  Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign));
      return signed(builder, keys.getPrivate(), keys);
    } catch (CertIOException | GeneralSecurityException | OperatorCreationException e) {
      throw new IllegalStateException("creating the CA " + name, e);
    }
  }

  /**
   * Issues a certificate.
   *
   * @param purpose verifiers accept it for no other
   * @param dnsNames the names by which a server is called, or a client is known; the first is the
   *     subject
   */
  TlsKeyPair issue(
      TlsKeyPair authority, KeyPurposeId purpose, List<String> dnsNames, Duration life) {
    try {
      KeyPair keys = keys();
      GeneralName[] names =
          dnsNames.stream()
              .map(name -> new GeneralName(GeneralName.dNSName, name))
              .toArray(GeneralName[]::new);
      X500Principal issuer = authority.certificate().getSubjectX500Principal();
      var subject = new X500Principal("CN=" + dnsNames.getFirst());
      X509v3CertificateBuilder builder =
          builder(issuer, subject, keys, life)
              .addExtension(Extension.basicConstraints, true, new BasicConstraints(false))
              .addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature))
              .addExtension(Extension.extendedKeyUsage, false, new ExtendedKeyUsage(purpose))
              .addExtension(Extension.subjectAlternativeName, false, new GeneralNames(names))
              .addExtension(
                  Extension.authorityKeyIdentifier,
                  false,
                  new JcaX509ExtensionUtils()
                      .createAuthorityKeyIdentifier(authority.certificate()));
      return signed(builder, authority.key(), keys);
    } catch (CertIOException | GeneralSecurityException | OperatorCreationException e) {
      throw new IllegalStateException("issuing a certificate for " + dnsNames, e);
    }
  }

  private X509v3CertificateBuilder builder(
      X500Principal issuer, X500Principal subject, KeyPair keys, Duration life)
      throws CertIOException, GeneralSecurityException {
    Duration tenth = life.dividedBy(10);
    Duration skew = tenth.compareTo(SKEW_MAX) < 0 ? tenth : SKEW_MAX;
    return new JcaX509v3CertificateBuilder(
            issuer,
            serial(),
            Date.from(now.minus(skew)),
            Date.from(now.plus(life)),
            subject,
            keys.getPublic())
        .addExtension(
            Extension.subjectKeyIdentifier,
            false,
            new JcaX509ExtensionUtils().createSubjectKeyIdentifier(keys.getPublic()));
  }

  private static TlsKeyPair signed(
      X509v3CertificateBuilder builder, PrivateKey signer, KeyPair keys)
      throws GeneralSecurityException, OperatorCreationException {
    X509CertificateHolder holder =
        builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(signer));
    return new TlsKeyPair(
        List.of(new JcaX509CertificateConverter().getCertificate(holder)), keys.getPrivate());
  }

  private static KeyPair keys() throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"), RANDOM);
    return generator.generateKeyPair();
  }

  private static BigInteger serial() {
    return new BigInteger(SERIAL_BITS, RANDOM).setBit(SERIAL_BITS - 1);
  }
}
