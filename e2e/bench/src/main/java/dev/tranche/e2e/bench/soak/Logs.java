package dev.tranche.e2e.bench.soak;

import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.regex.Pattern;

/** Looks for errors in what the parts have logged. */
final class Logs {
  private static final Pattern ERROR = Pattern.compile("(?m)^\\S+Z ERROR (\\S+): (.*)$");
  private static final Pattern CERTIFICATE =
      Pattern.compile("(?mi)^\\S+Z (?:WARN|ERROR) .*(?:certificate|PKIX|x509).*$");

  private Logs() {}

  /** Reads the logs of all processes that run, and of the one before each. */
  static void read(Tranche tranche, Violations violations) {
    for (String part : List.of("extender", "webhook", "node-plugin")) {
      for (Pod pod : tranche.parts(part)) {
        String name = pod.getMetadata().getName();
        read(tranche, name, part, violations);
      }
    }
  }

  private static void read(Tranche tranche, String pod, String part, Violations violations) {
    for (String previous : List.of("--previous=false", "--previous=true")) {
      String log =
          tranche
              .cluster()
              .kubectl("-n", Tranche.NAMESPACE, "logs", pod, "-c", part, previous)
              .out();
      ERROR
          .matcher(log)
          .results()
          .forEach(
              found ->
                  violations.add("no_error_is_logged", pod + " " + found.group(1), found.group(2)));
      CERTIFICATE
          .matcher(log)
          .results()
          .forEach(found -> violations.add("certificate_error", pod, found.group()));
    }
  }
}
