package dev.tranche.nodeplugin.usage;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toUnmodifiableSet;

import dev.tranche.nodeplugin.config.OveruseOptions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Finds containers that use more of a GPU's memory than granted, and for how long. Time slicing
 * cannot prevent that, so it is reported once when an episode begins and once when it ends.
 * Confined to one thread.
 */
public final class Overuse {
  private static final int NAMED_MAX = 3;

  private final OveruseOptions options;
  // By uuid.
  private final Map<String, Map<ContainerName, Episode>> episodes = new HashMap<>();

  public Overuse(OveruseOptions options) {
    this.options = options;
  }

  /** Counts the samples over the limit and, once it is open, the samples under it. */
  private static final class Episode {
    private int sampleCount;
    private boolean open;

    /** Counts a sample and returns whether the episode has begun or ended with it. */
    boolean step(boolean overLimit, int samples) {
      sampleCount = overLimit == open ? 0 : sampleCount + 1;
      if (sampleCount < samples) {
        return false;
      }
      open = !open;
      sampleCount = 0;
      return true;
    }
  }

  /**
   * An episode that has begun or ended.
   *
   * @param neighbours other pods that hold a part of the GPU
   */
  public record EpisodeChange(
      boolean began, ContainerUse use, long grantedBytes, Set<PodName> neighbours) {
    /** {@code pod ns/p, container c, uses 3.0 GiB of 1.5 GiB granted}. */
    public String sentence() {
      ContainerName who = use.container();
      return "pod %s, container %s, uses %s of %s granted"
          .formatted(who.pod(), who.name(), gib(use.memoryUsedBytes()), gib(grantedBytes));
    }

    /** Returns the sentence for a pod of a namespace; other namespaces learn no names. */
    public String sentenceFor(String namespace) {
      return namespace.equals(use.container().pod().namespace())
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
    Map<ContainerName, Episode> here = episodes.computeIfAbsent(uuid, u -> new HashMap<>());
    List<EpisodeChange> changes = new ArrayList<>();
    Set<ContainerName> gone = new HashSet<>(here.keySet());
    for (ContainerUse use : uses) {
      gone.remove(use.container());
      double share = grants.share(uuid, use.container());
      long granted = (long) (usableBytes * share);
      double least = Math.max(share, 1.0 / replicas) * options.tolerance() * usableBytes;
      Episode episode = here.computeIfAbsent(use.container(), first -> new Episode());
      if (episode.step(use.memoryUsedBytes() > granted + least, options.samples())) {
        changes.add(change(episode.open, use, granted, grants.pods(uuid)));
      }
    }
    for (ContainerName container : gone) {
      Episode ended = here.remove(container);
      if (ended != null && ended.open) {
        var use = new ContainerUse(container, 0, 0);
        changes.add(change(false, use, 0, grants.pods(uuid)));
      }
    }
    here.values().removeIf(episode -> !episode.open && episode.sampleCount == 0);
    return changes;
  }

  private static EpisodeChange change(
      boolean began, ContainerUse use, long granted, Stream<PodName> pods) {
    PodName own = use.container().pod();
    Set<PodName> others = pods.filter(pod -> !pod.equals(own)).collect(toUnmodifiableSet());
    return new EpisodeChange(began, use, granted, others);
  }

  /** Whether this container's episode is open. */
  public boolean hasOpenEpisode(String uuid, ContainerName container) {
    Episode episode = episodes.getOrDefault(uuid, Map.of()).get(container);
    return episode != null && episode.open;
  }

  /** Returns why this GPU is cordoned; empty if it is not. */
  public String cordonReason(String uuid) {
    if (!options.cordon()) {
      return "";
    }
    String who =
        episodes.getOrDefault(uuid, Map.of()).entrySet().stream()
            .filter(episode -> episode.getValue().open)
            .map(episode -> episode.getKey().pod().toString())
            .distinct()
            .sorted()
            .limit(NAMED_MAX)
            .collect(joining(", "));
    return who.isEmpty() ? "" : "more memory than granted is used by " + who;
  }
}
