package dev.tranche.nodeplugin.stream;

import dev.tranche.nodeplugin.config.Options;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.nio.file.Files;

/**
 * The trusted certificate authorities and our own token, as read from the mounted files. Both files
 * are renewed while the process runs.
 *
 * @param caPem one or more certificates
 */
record Credentials(Buffer caPem, String token) {
  static Credentials read(Options options) throws IOException {
    return new Credentials(
        Buffer.buffer(Files.readAllBytes(options.extenderCaFile())),
        Files.readString(options.extenderTokenFile()).strip());
  }

  @Override
  public String toString() {
    return "Credentials[secret]";
  }
}
