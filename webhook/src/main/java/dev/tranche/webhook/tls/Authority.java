package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayInputStream;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import javax.security.auth.x500.X500Principal;

/**
 * Makes certificates: ECDSA on P-256, signed with SHA-256. They are written here (RFC 5280), since
 * the JDK has no public way to and a library for all of cryptography would be half of what the
 * process loads.
 */
final class Authority {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int SERIAL_BITS = 127;

  /** Clocks of two machines may differ by this much. */
  private static final Duration SKEW_MAX = Duration.ofMinutes(5);

  private static final BigInteger VERSION_3 = BigInteger.TWO;
  private static final byte[] ECDSA_WITH_SHA256 =
      Der.sequence(Der.identifier("1.2.840.10045.4.3.2"));

  /** An uncompressed point of P-256, the end of its encoded key. */
  private static final int POINT_BYTES = 65;

  private static final byte[] DIGITAL_SIGNATURE = Der.bits(7, (byte) 0x80);
  private static final byte[] CERTIFICATE_AND_CRL_SIGN = Der.bits(1, (byte) 0x06);
  private static final int KEY_IDENTIFIER = 0;
  private static final int DNS_NAME = 2;

  private Authority() {}

  /** A new authority that signs itself. */
  static Pair create(String name, Instant now, Duration life) {
    // The serial number in the name tells two authorities apart where both are trusted.
    X500Principal subject = new X500Principal("CN=" + name + " " + serial().toString(36));
    KeyPair keys = keys();
    byte[] extensions =
        Der.sequence(
            extension("2.5.29.14", false, Der.octets(keyIdentifier(keys.getPublic()))),
            // It may sign what serves, and no further authorities.
            extension(
                "2.5.29.19", true, Der.sequence(Der.bool(true), Der.integer(BigInteger.ZERO))),
            extension("2.5.29.15", true, CERTIFICATE_AND_CRL_SIGN));
    byte[] toSign = toSign(subject, subject, keys.getPublic(), now, life, extensions);
    return new Pair(sign(toSign, keys.getPrivate()), keys.getPrivate());
  }

  /** What a certificate is for; who checks it takes it for nothing else. */
  enum Use {
    SERVER("1.3.6.1.5.5.7.3.1"),
    CLIENT("1.3.6.1.5.5.7.3.2");

    private final String purpose;

    Use(String purpose) {
      this.purpose = purpose;
    }
  }

  /**
   * A certificate.
   *
   * @param dnsNames that a server is called by, or a client known by; the first is its subject
   */
  static Pair issue(Pair authority, Use use, List<String> dnsNames, Instant now, Duration life) {
    KeyPair keys = keys();
    PublicKey signer = authority.certificate().getPublicKey();
    byte[] extensions =
        Der.sequence(
            extension("2.5.29.14", false, Der.octets(keyIdentifier(keys.getPublic()))),
            extension("2.5.29.19", true, Der.sequence()),
            extension("2.5.29.15", true, DIGITAL_SIGNATURE),
            extension("2.5.29.37", false, Der.sequence(Der.identifier(use.purpose))),
            extension("2.5.29.17", false, names(dnsNames)),
            extension(
                "2.5.29.35",
                false,
                Der.sequence(Der.implicit(KEY_IDENTIFIER, keyIdentifier(signer)))));
    byte[] toSign =
        toSign(
            authority.certificate().getSubjectX500Principal(),
            new X500Principal("CN=" + dnsNames.getFirst()),
            keys.getPublic(),
            now,
            life,
            extensions);
    return new Pair(sign(toSign, authority.key()), keys.getPrivate());
  }

  /** TBSCertificate. */
  private static byte[] toSign(
      X500Principal issuer,
      X500Principal subject,
      PublicKey key,
      Instant now,
      Duration life,
      byte[] extensions) {
    Duration tenth = life.dividedBy(10);
    Duration skew = tenth.compareTo(SKEW_MAX) < 0 ? tenth : SKEW_MAX;
    return Der.sequence(
        Der.explicit(0, Der.integer(VERSION_3)),
        Der.integer(serial()),
        ECDSA_WITH_SHA256,
        issuer.getEncoded(),
        Der.sequence(Der.time(now.minus(skew)), Der.time(now.plus(life))),
        subject.getEncoded(),
        key.getEncoded(),
        Der.explicit(3, extensions));
  }

  private static byte[] extension(String identifier, boolean critical, byte[] value) {
    // What is not critical is not said to be: DER leaves defaults out.
    return critical
        ? Der.sequence(Der.identifier(identifier), Der.bool(true), Der.octets(value))
        : Der.sequence(Der.identifier(identifier), Der.octets(value));
  }

  private static byte[] names(List<String> dnsNames) {
    return Der.sequence(
        dnsNames.stream()
            .map(name -> Der.implicit(DNS_NAME, name.getBytes(US_ASCII)))
            .toArray(byte[][]::new));
  }

  /** RFC 5280, 4.2.1.2, its first method: by which the others of the chain are found. */
  private static byte[] keyIdentifier(PublicKey key) {
    byte[] encoded = key.getEncoded();
    byte[] point = Arrays.copyOfRange(encoded, encoded.length - POINT_BYTES, encoded.length);
    try {
      return MessageDigest.getInstance("SHA-1").digest(point);
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("every JDK has SHA-1", impossible);
    }
  }

  private static X509Certificate sign(byte[] toSign, PrivateKey signer) {
    try {
      Signature signature = Signature.getInstance("SHA256withECDSA");
      signature.initSign(signer, RANDOM);
      signature.update(toSign);
      byte[] certificate = Der.sequence(toSign, ECDSA_WITH_SHA256, Der.bits(0, signature.sign()));
      return (X509Certificate)
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(certificate));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("making a certificate", e);
    }
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
