package dev.tranche.nodeplugin.stream;

import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Whom we trust and who we are, as the mounted files say at this moment; both are renewed under us.
 *
 * @param caPem one or more certificates
 */
record Credentials(Buffer caPem, String token) {
  static Credentials read(Path caFile, Path tokenFile) throws IOException {
    return new Credentials(
        Buffer.buffer(Files.readAllBytes(caFile)), Files.readString(tokenFile).strip());
  }

  @Override
  public String toString() {
    return "Credentials[secret]";
  }
}
