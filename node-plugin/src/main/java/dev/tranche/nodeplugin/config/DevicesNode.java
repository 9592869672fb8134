package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The {@code devices} of a shared resource: all, a count, or a list. */
final class DevicesNode {
  // An index, a MIG index, or a uuid of a GPU or a MIG device, old ones with slashes.
  private static final Pattern REF =
      Pattern.compile("\\d{1,4}(:\\d{1,4})?|(GPU|MIG)-[-0-9a-zA-Z/]+");
  private static final String SHAPE =
      " is \"all\", a count above 0, or a list of indexes (0), MIG indexes (\"0:1\") and uuids, not ";

  private DevicesNode() {}

  static DeviceSelection parse(String at, @Nullable Object node, ConfigErrors findings) {
    return switch (node) {
      case null -> new DeviceSelection.All();
      case String all when all.equals("all") -> new DeviceSelection.All();
      case Integer count when count > 0 -> new DeviceSelection.Count(count);
      // NVIDIA's parser takes an empty list; whether it counts is decided later.
      case List<?> list -> listed(at, list, findings);
      default -> {
        findings.error(at + SHAPE + node);
        yield new DeviceSelection.All();
      }
    };
  }

  private static DeviceSelection listed(String at, List<?> list, ConfigErrors findings) {
    List<String> refs = new ArrayList<>();
    for (Object item : list) {
      String ref = String.valueOf(item);
      if (!REF.matcher(ref).matches()) {
        findings.error(at + SHAPE + item);
      } else if (refs.contains(ref)) {
        findings.warning(at + " names " + ref + " twice; it counts once");
      } else {
        refs.add(ref);
      }
    }
    return new DeviceSelection.Listed(refs);
  }
}
