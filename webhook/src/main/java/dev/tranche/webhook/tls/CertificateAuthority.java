package dev.tranche.webhook.tls;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
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
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** Makes certificates: ECDSA on P-256, signed with SHA-256. */
final class CertificateAuthority {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int SERIAL_BITS = 127;

  /** Clocks of two machines may differ by this much. */
  private static final Duration SKEW_MAX = Duration.ofMinutes(5);

  private CertificateAuthority() {}

  /** A new authority that signs itself. */
  static TlsKeyPair create(String name, Instant now, Duration life) {
    // A random number in the name distinguishes two authorities where both are trusted.
    X500Principal subject = new X500Principal("CN=" + name + " " + serial().toString(36));
    KeyPair keys = keys();
    try {
      JcaX509v3CertificateBuilder builder = builder(subject, subject, keys, now, life);
      builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
      builder.addExtension(
          Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign));
      return new TlsKeyPair(sign(builder, keys), keys.getPrivate());
    } catch (CertIOException | GeneralSecurityException | OperatorCreationException e) {
      throw new IllegalStateException("creating the CA " + name, e);
    }
  }

  /** The purpose of a certificate. Verifiers accept it for no other. */
  enum Use {
    SERVER,
    CLIENT;

    KeyPurposeId purpose() {
      return this == SERVER ? KeyPurposeId.id_kp_serverAuth : KeyPurposeId.id_kp_clientAuth;
    }
  }

  /**
   * Issues a certificate.
   *
   * @param dnsNames the names by which a server is called, or a client is known; the first is the
   *     subject
   */
  static TlsKeyPair issue(
      TlsKeyPair authority, Use use, List<String> dnsNames, Instant now, Duration life) {
    KeyPair keys = keys();
    try {
      JcaX509v3CertificateBuilder builder =
          builder(
              authority.certificate().getSubjectX500Principal(),
              new X500Principal("CN=" + dnsNames.getFirst()),
              keys,
              now,
              life);
      builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(false));
      builder.addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature));
      builder.addExtension(Extension.extendedKeyUsage, false, new ExtendedKeyUsage(use.purpose()));
      builder.addExtension(Extension.subjectAlternativeName, false, names(dnsNames));
      builder.addExtension(
          Extension.authorityKeyIdentifier,
          false,
          new JcaX509ExtensionUtils().createAuthorityKeyIdentifier(authority.certificate()));
      KeyPair signer = new KeyPair(authority.certificate().getPublicKey(), authority.key());
      return new TlsKeyPair(sign(builder, signer), keys.getPrivate());
    } catch (CertIOException | GeneralSecurityException | OperatorCreationException e) {
      throw new IllegalStateException("issuing a certificate for " + dnsNames, e);
    }
  }

  private static JcaX509v3CertificateBuilder builder(
      X500Principal issuer, X500Principal subject, KeyPair keys, Instant now, Duration life)
      throws CertIOException, GeneralSecurityException {
    Duration tenth = life.dividedBy(10);
    Duration skew = tenth.compareTo(SKEW_MAX) < 0 ? tenth : SKEW_MAX;
    var builder =
        new JcaX509v3CertificateBuilder(
            issuer,
            serial(),
            Date.from(now.minus(skew)),
            Date.from(now.plus(life)),
            subject,
            keys.getPublic());
    builder.addExtension(
        Extension.subjectKeyIdentifier,
        false,
        new JcaX509ExtensionUtils().createSubjectKeyIdentifier(keys.getPublic()));
    return builder;
  }

  private static GeneralNames names(List<String> dnsNames) {
    return new GeneralNames(
        dnsNames.stream()
            .map(name -> new GeneralName(GeneralName.dNSName, name))
            .toArray(GeneralName[]::new));
  }

  private static X509Certificate sign(JcaX509v3CertificateBuilder builder, KeyPair signer)
      throws OperatorCreationException, GeneralSecurityException {
    return new JcaX509CertificateConverter()
        .getCertificate(
            builder.build(
                new JcaContentSignerBuilder("SHA256withECDSA").build(signer.getPrivate())));
  }

  private static KeyPair keys() {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"), RANDOM);
      return generator.generateKeyPair();
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("every JDK has P-256", impossible);
    }
  }

  private static BigInteger serial() {
    return new BigInteger(SERIAL_BITS, RANDOM).setBit(SERIAL_BITS - 1);
  }
}
