package dev.tranche.nodeplugin.config;

import dev.tranche.nodeplugin.config.ResourceNames.Rule;
import dev.tranche.process.settings.ConfigErrors;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The {@code resources} section of the config file. */
final class ResourcesSection {
  private ResourcesSection() {}

  static ResourceNames parse(@Nullable Object node, ConfigErrors findings) {
    Section resources = Section.of("resources", node, findings);
    resources.checkKeys(Set.of("gpus", "mig"));
    return new ResourceNames(rules(resources, "gpus"), rules(resources, "mig"));
  }

  private static List<Rule> rules(Section resources, String key) {
    return resources.list(key, "{pattern, name}").stream().map(ResourcesSection::rule).toList();
  }

  private static Rule rule(Section rule) {
    rule.checkKeys(Set.of("pattern", "name"));
    Object pattern = rule.get("pattern");
    if (pattern == null) {
      rule.error(" lacks its pattern, such as \"Tesla T4\" or \"*\"");
    }
    return new Rule(
        String.valueOf(pattern),
        ResourceName.full(rule.at() + ".name", rule.get("name"), rule.findings()));
  }
}
