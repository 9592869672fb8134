package dev.tranche.nodeplugin.config;

import java.util.List;

/** The entries that say how the GPUs of a node are shared. GPUs without an entry are not shared. */
public record Sharing(List<SharedResource> resources) {
  public static final Sharing NONE = new Sharing(List.of());

  public Sharing {
    resources = List.copyOf(resources);
  }

  public boolean uses(SharingStrategy strategy) {
    return resources.stream().anyMatch(r -> r.strategy() == strategy && r.replicas() > 1);
  }
}
