package dev.tranche.nodeplugin.config;

import dev.tranche.api.Names;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The {@code sharing} section of the config file. */
final class SharingSection {
  private static final String AT = "sharing.timeSlicing";
  private static final Set<String> KEYS =
      Set.of("renameByDefault", "failRequestsGreaterThanOne", "resources");
  private static final Set<String> RESOURCE_KEYS = Set.of("name", "replicas", "rename", "devices");

  private SharingSection() {}

  static Sharing parse(@Nullable Object node, Findings findings) {
    Map<?, ?> sharing = map("sharing", node, findings);
    for (Object key : sharing.keySet()) {
      switch (String.valueOf(key)) {
        case "timeSlicing" -> {}
        case "mps" -> findings.error("sharing.mps is not yet honoured: use sharing.timeSlicing");
        default -> ConfigFile.unknown("sharing." + key, findings);
      }
    }
    Map<?, ?> slicing = map(AT, sharing.get("timeSlicing"), findings);
    checkKeys(AT, slicing, KEYS, findings);
    int replicas = replicas(slicing.get("resources"), findings);
    return new Sharing(
        replicas,
        isTrue(AT + ".renameByDefault", slicing.get("renameByDefault"), findings),
        isTrue(
            AT + ".failRequestsGreaterThanOne",
            slicing.get("failRequestsGreaterThanOne"),
            findings));
  }

  private static int replicas(@Nullable Object node, Findings findings) {
    if (node == null) {
      return 1;
    }
    if (!(node instanceof List<?> list)) {
      findings.error(AT + ".resources is a list of {name, replicas}");
      return 1;
    }
    int replicas = 0;
    for (int i = 0; i < list.size(); i++) {
      String at = AT + ".resources[" + i + "]";
      Map<?, ?> resource = map(at, list.get(i), findings);
      checkKeys(at, resource, RESOURCE_KEYS, findings);
      checkUnhonoured(at, resource, findings);
      int found = replicasOf(at, resource, findings);
      if (found > 0 && replicas > 0) {
        findings.error(at + " names " + Names.RESOURCE + " a second time");
      }
      replicas = Math.max(replicas, found);
    }
    return Math.max(1, replicas);
  }

  /** R of this entry if it speaks of whole GPUs; 0 if not. */
  private static int replicasOf(String at, Map<?, ?> resource, Findings findings) {
    String name = String.valueOf(resource.get("name"));
    if (!(resource.get("replicas") instanceof Integer replicas) || replicas < 1) {
      findings.error(
          at
              + ".replicas of "
              + name
              + " must be a number of at least 1, not "
              + resource.get("replicas"));
      return 0;
    }
    if (name.equals(Names.RESOURCE) || name.equals("gpu")) {
      return replicas;
    }
    if (name.startsWith("nvidia.com/mig-")) {
      findings.warning(at + " (" + name + ") has no effect while migStrategy is none");
    } else {
      findings.error(at + ".name is " + name + "; only " + Names.RESOURCE + " can be shared");
    }
    return 0;
  }

  private static void checkUnhonoured(String at, Map<?, ?> resource, Findings findings) {
    if (resource.get("rename") != null) {
      findings.error(at + ".rename is not yet honoured: remove it, or use renameByDefault");
    }
    Object devices = resource.get("devices");
    if (devices != null && !devices.equals("all")) {
      findings.error(at + ".devices is not yet honoured: only \"all\", not " + devices);
    }
  }

  private static void checkKeys(String at, Map<?, ?> map, Set<String> allowed, Findings findings) {
    for (Object key : map.keySet()) {
      if (!allowed.contains(String.valueOf(key))) {
        ConfigFile.unknown(at + "." + key, findings);
      }
    }
  }

  private static Map<?, ?> map(String at, @Nullable Object node, Findings findings) {
    if (node instanceof Map<?, ?> map) {
      return map;
    }
    if (node != null) {
      findings.error(at + " must be a map, not " + node);
    }
    return Map.of();
  }

  private static boolean isTrue(String at, @Nullable Object node, Findings findings) {
    if (node != null && !(node instanceof Boolean)) {
      findings.error(at + " is true or false, not " + node);
    }
    return Boolean.TRUE.equals(node);
  }

  static Optional<String> placeOf(String name) {
    return switch (name) {
      case "timeSlicing", "mps" -> Optional.of("sharing." + name);
      case "renameByDefault", "failRequestsGreaterThanOne" -> Optional.of(AT + "." + name);
      case "replicas" -> Optional.of(AT + ".resources[].replicas");
      default -> Optional.empty();
    };
  }
}
