package dev.tranche.nodeplugin.stream;

import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The trusted certificate authorities and our own token, as read from the mounted files. Both files
 * are renewed while the process runs.
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
