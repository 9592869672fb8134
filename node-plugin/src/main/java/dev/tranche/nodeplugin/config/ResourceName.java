package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Names of extended resources as NVIDIA's file writes them: with its prefix, or without. */
final class ResourceName {
  private static final String PREFIX = "nvidia.com/";
  private static final int LENGTH_MAX_CHARS = 63;
  private static final Pattern SUBDOMAIN =
      Pattern.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");

  private ResourceName() {}

  /** Returns the full name, and reports it if Kubernetes would not accept it. */
  static String full(String at, @Nullable Object node, ConfigErrors findings) {
    String text = node == null ? "" : String.valueOf(node);
    String name = text.startsWith(PREFIX) ? text : PREFIX + text;
    if (!(node instanceof String)
        || name.length() > LENGTH_MAX_CHARS
        || !SUBDOMAIN.matcher(name.substring(PREFIX.length())).matches()) {
      findings.error(
          at
              + " is not a resource name: \""
              + text
              + "\"; it is nvidia.com/ and lower case letters, digits, dots and dashes, at most "
              + LENGTH_MAX_CHARS
              + " characters");
    }
    return name;
  }
}
