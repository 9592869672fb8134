package dev.tranche.process.listen;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import java.math.BigInteger;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** Signs certificates as the webhook's authority does. */
public final class TestAuthority {
  private final X500Principal name;
  private final KeyPair keys = keys();

  public TestAuthority(String name) {
    this.name = new X500Principal("CN=" + name);
  }

  public PemTrustOptions trusted() throws Exception {
    JcaX509v3CertificateBuilder builder = builder(name, keys);
    builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
    return new PemTrustOptions().addCertValue(pem("CERTIFICATE", signed(builder).getEncoded()));
  }

  public PemKeyCertOptions server() throws Exception {
    return issued("localhost", KeyPurposeId.id_kp_serverAuth);
  }

  public PemKeyCertOptions client(String commonName) throws Exception {
    return issued(commonName, KeyPurposeId.id_kp_clientAuth);
  }

  private PemKeyCertOptions issued(String commonName, KeyPurposeId purpose) throws Exception {
    KeyPair own = keys();
    JcaX509v3CertificateBuilder builder = builder(new X500Principal("CN=" + commonName), own);
    builder.addExtension(Extension.extendedKeyUsage, false, new ExtendedKeyUsage(purpose));
    return new PemKeyCertOptions()
        .addCertValue(pem("CERTIFICATE", signed(builder).getEncoded()))
        .addKeyValue(pem("PRIVATE KEY", own.getPrivate().getEncoded()));
  }

  private JcaX509v3CertificateBuilder builder(X500Principal subject, KeyPair of) {
    Instant now = Instant.now();
    return new JcaX509v3CertificateBuilder(
        name,
        BigInteger.valueOf(now.toEpochMilli()),
        Date.from(now.minus(Duration.ofHours(1))),
        Date.from(now.plus(Duration.ofHours(1))),
        subject,
        of.getPublic());
  }

  private X509CertificateHolder signed(JcaX509v3CertificateBuilder builder) throws Exception {
    return builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(keys.getPrivate()));
  }

  private static KeyPair keys() {
    try {
      return KeyPairGenerator.getInstance("EC").generateKeyPair();
    } catch (java.security.NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static Buffer pem(String what, byte[] der) {
    String base64 = Base64.getMimeEncoder().encodeToString(der);
    return Buffer.buffer("-----BEGIN %s-----\n%s\n-----END %1$s-----\n".formatted(what, base64));
  }
}
