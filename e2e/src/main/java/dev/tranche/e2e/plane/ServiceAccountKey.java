package dev.tranche.e2e.plane;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPairGenerator;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;

/** The key with which an API server signs its tokens. */
final class ServiceAccountKey {
  private ServiceAccountKey() {}

  static Path write(Path file) throws IOException {
    try {
      var generator = KeyPairGenerator.getInstance("RSA");
      generator.initialize(2048);
      byte[] key = generator.generateKeyPair().getPrivate().getEncoded();
      byte[] newline = "\n".getBytes(StandardCharsets.US_ASCII);
      String text = Base64.getMimeEncoder(64, newline).encodeToString(key);
      return Files.writeString(
          file, "-----BEGIN PRIVATE KEY-----\n" + text + "\n-----END PRIVATE KEY-----\n");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every JDK has RSA", impossible);
    }
  }
}
