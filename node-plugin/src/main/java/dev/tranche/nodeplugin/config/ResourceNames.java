package dev.tranche.nodeplugin.config;

import dev.tranche.api.Names;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The resource names of unshared devices: the first pattern that the model, or the MIG profile,
 * matches gives the name.
 */
public record ResourceNames(List<Rule> gpus, List<Rule> migs) {
  /** Names every GPU {@code nvidia.com/gpu}. */
  public static final ResourceNames DEFAULT = new ResourceNames(List.of(), List.of());

  /**
   * @param pattern matches the whole text; a star matches anything
   * @param name a full resource name
   */
  public record Rule(String pattern, String name) {
    boolean matches(String text) {
      String regex =
          Stream.of(pattern.split("\\*", -1)).map(Pattern::quote).collect(Collectors.joining(".*"));
      return text.matches(regex);
    }
  }

  public ResourceNames {
    gpus = List.copyOf(gpus);
    migs = List.copyOf(migs);
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
}
