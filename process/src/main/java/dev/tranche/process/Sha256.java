package dev.tranche.process;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Digests, for example of tokens, so that no token itself is kept in memory. */
public final class Sha256 {
  private Sha256() {}

  public static String hex(String text) {
    return hex(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Returns 64 hexadecimal digits. */
  public static String hex(byte[] content) {
    return HexFormat.of().formatHex(digest().digest(content));
  }

  /** Returns a digest for content that is read in parts. */
  public static MessageDigest digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every JDK has SHA-256", impossible);
    }
  }
}
