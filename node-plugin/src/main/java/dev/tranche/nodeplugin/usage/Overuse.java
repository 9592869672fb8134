package dev.tranche.nodeplugin.usage;

import dev.tranche.nodeplugin.config.OveruseOptions;
import dev.tranche.nodeplugin.gpu.ContainerUse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Finds containers that use more of a GPU's memory than granted, and for how long. Time slicing
 * cannot prevent that, so it is reported once when an episode begins and once when it ends.
 * Confined to one thread.
 */
public final class Overuse {
  private final OveruseOptions options;
  // By uuid, then by container.
  private final Map<String, Map<String, Episode>> episodes = new HashMap<>();

  public Overuse(OveruseOptions options) {
    this.options = options;
  }

  /** Counts the samples over the limit and, once it is open, the samples under it. */
  private static final class Episode {
    private final ContainerUse use;
    private int sampleCount;
    private boolean open;

    Episode(ContainerUse use) {
      this.use = use;
    }
  }

  /**
   * An episode that has begun or ended.
   *
   * @param neighbours other pods that hold a part of the GPU, {@code namespace/pod}
   */
  public record EpisodeChange(
      boolean began, ContainerUse use, long grantedBytes, Set<String> neighbours) {
    /** {@code pod ns/p, container c, uses 3.0 GiB of 1.5 GiB granted}. */
    public String sentence() {
      return "pod %s, container %s, uses %s of %s granted"
          .formatted(use.podKey(), use.container(), gib(use.memoryUsedBytes()), gib(grantedBytes));
    }

    /** Returns the sentence for a pod of a namespace; other namespaces learn no names. */
    public String sentenceFor(String namespace) {
      return namespace.equals(use.namespace())
          ? sentence()
          : "a pod of another namespace uses %s of %s granted"
              .formatted(gib(use.memoryUsedBytes()), gib(grantedBytes));
    }

    private static String gib(long bytes) {
      return String.format(Locale.ROOT, "%.1f GiB", bytes / (double) (1L << 30));
    }
  }

  /**
   * Judges one sample of one GPU.
   *
   * @param usableBytes of its memory
   * @param replicas R: a container that was granted nothing may use the tolerance of one replica
   */
  public List<EpisodeChange> judge(
      String uuid, long usableBytes, int replicas, List<ContainerUse> uses, Grants grants) {
    Map<String, Episode> here = episodes.computeIfAbsent(uuid, u -> new HashMap<>());
    List<EpisodeChange> changes = new ArrayList<>();
    Set<String> present = new HashSet<>();
    for (ContainerUse use : uses) {
      present.add(use.key());
      double share = grants.share(uuid, use);
      long granted = (long) (usableBytes * share);
      double least = Math.max(share, 1.0 / replicas) * options.tolerance() * usableBytes;
      if (step(here, use, use.memoryUsedBytes() > granted + least)) {
        changes.add(episodeChange(here, uuid, use, granted, grants));
      }
    }
    changes.addAll(endAbsent(here, present, uuid, grants));
    here.values().removeIf(episode -> !episode.open && episode.sampleCount == 0);
    return changes;
  }

  /** Counts a sample and returns whether an episode has begun or ended with it. */
  private boolean step(Map<String, Episode> here, ContainerUse use, boolean overLimit) {
    Episode episode = here.computeIfAbsent(use.key(), key -> new Episode(use));
    episode.sampleCount = overLimit == episode.open ? 0 : episode.sampleCount + 1;
    if (episode.sampleCount < options.samples()) {
      return false;
    }
    episode.open = !episode.open;
    episode.sampleCount = 0;
    return true;
  }

  private static EpisodeChange episodeChange(
      Map<String, Episode> here, String uuid, ContainerUse use, long granted, Grants grants) {
    Episode episode = here.get(use.key());
    Predicate<String> another = pod -> !pod.equals(use.podKey());
    Set<String> neighbours =
        grants.pods(uuid).stream().filter(another).collect(Collectors.toUnmodifiableSet());
    return new EpisodeChange(episode != null && episode.open, use, granted, neighbours);
  }

  /** Ends the episodes of containers whose processes have left the GPU. */
  private static List<EpisodeChange> endAbsent(
      Map<String, Episode> here, Set<String> present, String uuid, Grants grants) {
    List<EpisodeChange> changes = new ArrayList<>();
    for (Episode episode : here.values()) {
      if (!present.contains(episode.use.key())) {
        boolean wasOpen = episode.open;
        episode.open = false;
        episode.sampleCount = 0;
        if (wasOpen) {
          changes.add(episodeChange(here, uuid, episode.use.with(0, 0), 0, grants));
        }
      }
    }
    return changes;
  }

  /** Whether this container's episode is open. */
  public boolean hasOpenEpisode(String uuid, ContainerUse use) {
    Episode episode = episodes.getOrDefault(uuid, Map.of()).get(use.key());
    return episode != null && episode.open;
  }

  /** Returns why this GPU is cordoned; empty if it is not. */
  public String cordonReason(String uuid) {
    if (!options.cordon()) {
      return "";
    }
    String who =
        episodes.getOrDefault(uuid, Map.of()).values().stream()
            .filter(episode -> episode.open)
            .map(episode -> episode.use.podKey())
            .distinct()
            .sorted()
            .limit(3)
            .collect(Collectors.joining(", "));
    return who.isEmpty() ? "" : "more memory than granted is used by " + who;
  }
}
