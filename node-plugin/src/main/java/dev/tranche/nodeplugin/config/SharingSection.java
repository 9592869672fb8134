package dev.tranche.nodeplugin.config;

import dev.tranche.api.Names;
import dev.tranche.api.RequestBounds;
import dev.tranche.nodeplugin.config.Sharing.DeviceSelection;
import dev.tranche.nodeplugin.config.Sharing.SharedResource;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.process.settings.ConfigErrors;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The {@code sharing} section of the config file. */
final class SharingSection {
  private static final Set<String> KEYS =
      Set.of("renameByDefault", "failRequestsGreaterThanOne", "resources");
  private static final Set<String> RESOURCE_KEYS = Set.of("name", "replicas", "rename", "devices");

  // An index, a MIG index, or a uuid of a GPU or a MIG device, old ones with slashes.
  private static final Pattern DEVICE =
      Pattern.compile("\\d{1,4}(:\\d{1,4})?|(GPU|MIG)-[-0-9a-zA-Z/]+");
  private static final String DEVICES =
      "\"all\", a count above 0, or a list of indexes (0), MIG indexes (\"0:1\") and uuids";

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
        devices(entry.at() + ".devices", entry.get("devices"), section.findings()),
        replicas(entry),
        failGreaterThanOne);
  }

  private String name(Section entry) {
    String name =
        ResourceNames.fullName(entry.at() + ".name", entry.get("name"), section.findings());
    Set<String> shareable = shareable();
    if (!shareable.contains(name) && !name.startsWith("nvidia.com/mig-")) {
      entry.error(
          ".name is %s; only %s and nvidia.com/mig-* can be shared"
              .formatted(entry.get("name"), String.join(", ", shareable)));
    }
    return name;
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
    return ResourceNames.fullName(entry.at() + ".rename", given, section.findings());
  }

  /** Reads the devices that an entry applies to: all, a count, or a list. */
  private static DeviceSelection devices(String at, @Nullable Object node, ConfigErrors findings) {
    return switch (node) {
      case null -> new DeviceSelection.All();
      case String all when all.equals("all") -> new DeviceSelection.All();
      case Integer count when count > 0 -> new DeviceSelection.Count(count);
      // NVIDIA's parser takes an empty list; whether it counts is decided later.
      case List<?> list -> listed(at, list, findings);
      default -> {
        findings.invalid(at, node, DEVICES);
        yield new DeviceSelection.All();
      }
    };
  }

  private static DeviceSelection listed(String at, List<?> list, ConfigErrors findings) {
    List<String> refs = new ArrayList<>();
    for (Object item : list) {
      String ref = String.valueOf(item);
      if (!DEVICE.matcher(ref).matches()) {
        findings.invalid(at, item, DEVICES);
      } else if (refs.contains(ref)) {
        findings.warning(at + " names " + ref + " twice; it counts once");
      } else {
        refs.add(ref);
      }
    }
    return new DeviceSelection.Listed(refs);
  }

  private int replicas(Section entry) {
    int least = strategy == SharingStrategy.MPS ? 2 : 1;
    Object given = entry.get("replicas");
    if (given instanceof Integer number
        && number >= least
        && number <= RequestBounds.REPLICAS_MAX) {
      return number;
    }
    // 10 looks the same whether it is a number or a text.
    String hint = given instanceof String ? ", without quotation marks" : "";
    entry.invalid(
        ".replicas",
        given,
        "a whole number from %d to %d%s".formatted(least, RequestBounds.REPLICAS_MAX, hint));
    return least;
  }
}
