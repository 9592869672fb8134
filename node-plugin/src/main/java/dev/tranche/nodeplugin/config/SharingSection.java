package dev.tranche.nodeplugin.config;

import dev.tranche.api.Names;
import dev.tranche.process.settings.ConfigErrors;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The {@code sharing} section of the config file. */
final class SharingSection {
  private static final Set<String> KEYS =
      Set.of("renameByDefault", "failRequestsGreaterThanOne", "resources");
  private static final Set<String> RESOURCE_KEYS = Set.of("name", "replicas", "rename", "devices");

  private final SharingStrategy strategy;
  private final Section section;
  private final ResourceNames names;
  private final boolean rename;
  private final boolean failGreaterThanOne;

  private SharingSection(SharingStrategy strategy, Section section, ResourceNames names) {
    this.strategy = strategy;
    this.section = section;
    this.names = names;
    section.checkKeys(KEYS);
    this.rename = section.isTrue("renameByDefault", false);
    // NVIDIA's defaults.
    this.failGreaterThanOne =
        section.isTrue("failRequestsGreaterThanOne", strategy == SharingStrategy.MPS);
  }

  /**
   * Reads the section.
   *
   * @param names rules for the resource names of unshared devices
   */
  static Sharing parse(@Nullable Object node, ResourceNames names, ConfigErrors findings) {
    Section sharing = Section.of("sharing", node, findings);
    sharing.checkKeys(Set.of("timeSlicing", "mps"));
    List<SharedResource> entries = new ArrayList<>();
    entries.addAll(entries("timeSlicing", SharingStrategy.TIME_SLICING, sharing, names));
    entries.addAll(entries("mps", SharingStrategy.MPS, sharing, names));
    return new Sharing(entries);
  }

  private static List<SharedResource> entries(
      String key, SharingStrategy strategy, Section sharing, ResourceNames names) {
    if (sharing.get(key) == null) {
      if (sharing.map().containsKey(key)) {
        sharing.findings().warning(sharing.at() + "." + key + " is empty, so it shares nothing");
      }
      return List.of();
    }
    var section = new SharingSection(strategy, sharing.section(key), names);
    List<Section> resources = section.section.list("resources", "{name, replicas}");
    if (resources.isEmpty() && !(section.section.get("resources") instanceof String)) {
      section.section.error(".resources is empty; name at least one resource to share");
    }
    return resources.stream().map(section::entry).toList();
  }

  private SharedResource entry(Section entry) {
    entry.checkKeys(RESOURCE_KEYS);
    String name = name(entry);
    return new SharedResource(
        entry.at(),
        strategy,
        name,
        unrenamed(name),
        advertised(entry, name),
        DevicesNode.parse(entry.at() + ".devices", entry.get("devices"), section.findings()),
        replicas(entry, name),
        failGreaterThanOne);
  }

  private String name(Section entry) {
    String name = ResourceName.full(entry.at() + ".name", entry.get("name"), section.findings());
    if (!shareable(name)) {
      entry.error(
          ".name is %s; only %s and nvidia.com/mig-* can be shared"
              .formatted(entry.get("name"), String.join(", ", shareable())));
    }
    return name;
  }

  private boolean shareable(String name) {
    return shareable().contains(name) || name.startsWith("nvidia.com/mig-");
  }

  private Set<String> shareable() {
    Set<String> all = new TreeSet<>(Set.of(Names.RESOURCE));
    names.gpus().forEach(rule -> all.add(rule.name()));
    names.migs().forEach(rule -> all.add(rule.name()));
    return all;
  }

  private String unrenamed(String name) {
    return rename ? name + ".shared" : name;
  }

  private String advertised(Section entry, String name) {
    Object given = entry.get("rename");
    if (given == null || given.equals("")) {
      return unrenamed(name);
    }
    return ResourceName.full(entry.at() + ".rename", given, section.findings());
  }

  private int replicas(Section entry, String name) {
    int least = strategy == SharingStrategy.MPS ? 2 : 1;
    Object given = entry.get("replicas");
    // A whole number that is not an Integer is a Long or a BigInteger, far outside the limits.
    boolean wholeNumber =
        given instanceof Integer || given instanceof Long || given instanceof BigInteger;
    boolean withinLimit = given instanceof Integer number && number <= ReplicaLimit.PER_NODE;
    if (withinLimit && given instanceof Integer number && number >= least) {
      return number;
    }
    String replicas = ".replicas of " + name;
    boolean negative = String.valueOf(given).startsWith("-");
    if (wholeNumber && !withinLimit && !negative) {
      entry.error(
          "%s is %s; a node can have %d in total"
              .formatted(replicas, given, ReplicaLimit.PER_NODE));
    } else {
      entry.error(
          "%s must be a whole number of at least %d, not %s"
              .formatted(replicas, least, shown(given)));
    }
    return least;
  }

  // 10 looks the same whether it is a number or a text.
  private static String shown(@Nullable Object given) {
    return switch (given) {
      case null -> "nothing; write replicas: 10";
      case String text -> "the text \"" + text + "\"; write it without quotation marks";
      case Double number -> "the decimal " + number + "; write a whole number";
      default -> String.valueOf(given);
    };
  }
}
