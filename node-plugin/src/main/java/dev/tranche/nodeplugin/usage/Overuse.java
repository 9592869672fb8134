package dev.tranche.nodeplugin.usage;

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
 * Who uses more of a GPU's memory than was granted, and for how long. Time slicing cannot prevent
 * it, so it is told: once when an episode begins and once when it ends. Confined to one thread.
 */
public final class Overuse {
  private final OveruseOptions options;
  // By uuid, then by container.
  private final Map<String, Map<String, Episode>> episodes = new HashMap<>();

  public Overuse(OveruseOptions options) {
    this.options = options;
  }

  /** Samples over the limit, then, once it is open, samples under it. */
  private static final class Episode {
    private final ContainerUse use;
    private int counted;
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
  public record News(boolean began, ContainerUse use, long grantedBytes, Set<String> neighbours) {
    /** {@code pod ns/p, container c, uses 3.0 GiB of 1.5 GiB granted}. */
    public String sentence() {
      return "pod %s, container %s, uses %s of %s granted"
          .formatted(use.podKey(), use.container(), gib(use.memoryUsedBytes()), gib(grantedBytes));
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
  public List<News> judge(
      String uuid, long usableBytes, int replicas, List<ContainerUse> uses, Grants grants) {
    Map<String, Episode> here = episodes.computeIfAbsent(uuid, u -> new HashMap<>());
    List<News> news = new ArrayList<>();
    Set<String> present = new HashSet<>();
    for (ContainerUse use : uses) {
      present.add(use.key());
      double share = grants.share(uuid, use);
      long granted = (long) (usableBytes * share);
      double least = Math.max(share, 1.0 / replicas) * options.tolerance() * usableBytes;
      if (step(here, use, use.memoryUsedBytes() > granted + least)) {
        news.add(told(here, uuid, use, granted, grants));
      }
    }
    news.addAll(left(here, present, uuid, grants));
    here.values().removeIf(episode -> !episode.open && episode.counted == 0);
    return news;
  }

  /** Whether an episode has begun or ended with this sample. */
  private boolean step(Map<String, Episode> here, ContainerUse use, boolean over) {
    Episode episode = here.computeIfAbsent(use.key(), key -> new Episode(use));
    episode.counted = over == episode.open ? 0 : episode.counted + 1;
    if (episode.counted < options.samples()) {
      return false;
    }
    episode.open = !episode.open;
    episode.counted = 0;
    return true;
  }

  private static News told(
      Map<String, Episode> here, String uuid, ContainerUse use, long granted, Grants grants) {
    Episode episode = here.get(use.key());
    Predicate<String> another = pod -> !pod.equals(use.podKey());
    Set<String> neighbours =
        grants.pods(uuid).stream().filter(another).collect(Collectors.toUnmodifiableSet());
    return new News(episode != null && episode.open, use, granted, neighbours);
  }

  /** Containers whose processes have left the GPU. */
  private static List<News> left(
      Map<String, Episode> here, Set<String> present, String uuid, Grants grants) {
    List<News> news = new ArrayList<>();
    for (Episode episode : here.values()) {
      if (!present.contains(episode.use.key())) {
        boolean was = episode.open;
        episode.open = false;
        episode.counted = 0;
        if (was) {
          news.add(told(here, uuid, episode.use.with(0, 0), 0, grants));
        }
      }
    }
    return news;
  }

  /** Whether this container's episode is open. */
  public boolean open(String uuid, ContainerUse use) {
    Episode episode = episodes.getOrDefault(uuid, Map.of()).get(use.key());
    return episode != null && episode.open;
  }

  /** Why new pods are to keep off this GPU; empty: they need not. */
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
