package dev.tranche.nodeplugin.config;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.Names;
import dev.tranche.process.settings.ConfigErrors;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The resource names of unshared devices: the first pattern that the model, or the MIG profile,
 * matches gives the name.
 */
public record ResourceNames(List<Rule> gpus, List<Rule> migs) {
  /** Names every GPU {@code nvidia.com/gpu}. */
  public static final ResourceNames DEFAULT = new ResourceNames(List.of(), List.of());

  private static final String DOMAIN = "nvidia.com/";
  private static final int LENGTH_MAX_CHARS = 63;
  private static final Pattern SUBDOMAIN =
      Pattern.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");

  /**
   * @param pattern matches the whole text; a star matches anything
   * @param name a full resource name
   */
  public record Rule(String pattern, String name) {
    boolean matches(String text) {
      String regex = Stream.of(pattern.split("\\*", -1)).map(Pattern::quote).collect(joining(".*"));
      return text.matches(regex);
    }
  }

  /**
   * @param model NVML's product name
   */
  public String ofGpu(String model) {
    return first(gpus, model).orElse(Names.RESOURCE);
  }

  /** Empty if no rule names this profile. */
  public Optional<String> ofMig(String profile) {
    return first(migs, profile);
  }

  private static Optional<String> first(List<Rule> rules, String text) {
    return rules.stream().filter(rule -> rule.matches(text)).map(Rule::name).findFirst();
  }

  /** Reads the {@code resources} section of the config file. */
  static ResourceNames parse(@Nullable Object node, ConfigErrors findings) {
    Section resources = Section.of("resources", node, findings);
    resources.checkKeys(Set.of("gpus", "mig"));
    return new ResourceNames(rules(resources, "gpus"), rules(resources, "mig"));
  }

  private static List<Rule> rules(Section resources, String key) {
    return resources.list(key, "{pattern, name}").stream().map(ResourceNames::rule).toList();
  }

  private static Rule rule(Section rule) {
    rule.checkKeys(Set.of("pattern", "name"));
    Object pattern = rule.get("pattern");
    if (pattern == null) {
      rule.error(" lacks its pattern, such as \"Tesla T4\" or \"*\"");
    }
    return new Rule(
        String.valueOf(pattern), fullName(rule.at() + ".name", rule.get("name"), rule.findings()));
  }

  /** Returns the full name, and reports it if Kubernetes would not accept it. */
  static String fullName(String at, @Nullable Object node, ConfigErrors findings) {
    String text = node == null ? "" : String.valueOf(node);
    String name = text.startsWith(DOMAIN) ? text : DOMAIN + text;
    if (!(node instanceof String)
        || name.length() > LENGTH_MAX_CHARS
        || !SUBDOMAIN.matcher(name.substring(DOMAIN.length())).matches()) {
      findings.invalid(
          at,
          node,
          "nvidia.com/ and lower-case letters, digits, dots and dashes, at most %d characters"
              .formatted(LENGTH_MAX_CHARS));
    }
    return name;
  }
}
