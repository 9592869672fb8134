package dev.tranche.e2e.chart;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What a stolen account is worth beyond its own task, derived from its {@link Rights}: Secrets,
 * tokens, rights, webhook configurations, nodes and pods that it could change or read. A line
 * {@code | account | power |} for each.
 */
final class Powers {
  private static final Pattern RIGHT =
      Pattern.compile("\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|");
  private static final Set<String> READS = Set.of("get", "list", "watch", "*");
  private static final Set<String> WRITES = Set.of("create", "update", "patch", "delete", "*");

  /** Rights in the hands of a thief, by what they are to: the resource, and how it is called. */
  private enum Target {
    SECRETS("secrets"),
    TOKENS("serviceaccounts/token"),
    RIGHTS("(cluster)?role(binding)?s\\..*"),
    WEBHOOKS("(mutating|validating)(webhookconfigurations|admissionpolicies)\\..*"),
    NODES("nodes(/.*)?"),
    PODS("pods(/.*)?|(deployments|daemonsets|replicasets|statefulsets|jobs|cronjobs)\\..*");

    private final Pattern resource;

    Target(String resource) {
      this.resource = Pattern.compile(resource);
    }
  }

  private Powers() {}

  static List<String> of(List<String> rights) {
    var powers = new TreeSet<String>();
    rights.forEach(right -> powers.addAll(ofOne(right)));
    return List.copyOf(powers);
  }

  private static List<String> ofOne(String right) {
    Matcher parts = RIGHT.matcher(right);
    if (!parts.matches()) {
      throw new IllegalArgumentException(right);
    }
    String account = parts.group(1);
    String what = parts.group(3);
    if (what.startsWith("all of ")) {
      return List.of(line(account, "do " + what.replace("all of", "what") + " may"));
    }
    String[] named = what.split(" named ", 2);
    String which = named.length > 1 ? " named " + named[1] : "";
    var powers = new ArrayList<String>();
    for (String resource : named[0].split(", ")) {
      Stream.of(Target.values())
          .filter(target -> target.resource.matcher(resource).matches())
          .forEach(
              target -> {
                for (String verb : parts.group(4).split(", ")) {
                  // A pod or a node that is only looked at makes nobody more than they are.
                  if (WRITES.contains(verb) || (target == Target.SECRETS && READS.contains(verb))) {
                    powers.add(line(account, verb + " " + resource + which));
                  }
                }
              });
    }
    return powers;
  }

  private static String line(String account, String power) {
    return "| `%s` | %s |".formatted(account, power);
  }
}
