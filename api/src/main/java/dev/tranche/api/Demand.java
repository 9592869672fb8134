package dev.tranche.api;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A pod's request for GPUs of one node: for each requesting container, the replicas on each of its
 * GPUs. Evaluated as the kubelet does: ordinary init containers run one after the other and pass
 * their replicas on, whereas sidecars and app containers hold theirs together.
 *
 * @param resource the extended resource, {@code nvidia.com/gpu}
 * @param replicasPerGpu R, by which the shares were computed
 * @param containers the containers that request GPUs, in the order of the kubelet's admission: init
 *     containers and sidecars as the spec lists them, then app containers; without ordinary init
 *     containers that only pass several whole GPUs on
 */
public record Demand(String resource, int replicasPerGpu, List<Container> containers) {
  public Demand {
    containers = List.copyOf(containers);
  }

  public enum Kind {
    /** Ends before the next one starts. */
    INIT,
    /** An init container with {@code restartPolicy: Always}. */
    SIDECAR,
    APP
  }

  /** One container's request as its spec states it: {@code limits[resource]}. */
  public record Request(String container, Kind kind, int replicas) {}

  /**
   * Equal shares, each on a GPU of its own. A request is a number that anybody may write, so the
   * shares are counted and never listed.
   */
  public record Shares(int count, int replicas) {}

  /**
   * @param shares replicas per GPU, largest first; each of a container's shares is on a different
   *     GPU
   * @param mayUseSeveralGpus whether it was requested as plain {@code nvidia.com/gpu: N}: if no GPU
   *     has enough free replicas for the whole share, it may be on several
   */
  public record Container(String name, Kind kind, List<Shares> shares, boolean mayUseSeveralGpus) {
    public Container {
      shares = List.copyOf(shares);
    }

    /** Returns the number of shares. */
    public int gpus() {
      int gpus = 0;
      for (Shares equal : shares) {
        gpus += equal.count();
      }
      return gpus;
    }

    public int replicas() {
      int replicas = 0;
      for (Shares equal : shares) {
        replicas += equal.count() * equal.replicas();
      }
      return replicas;
    }

    /** Returns the replicas of each share. There may be as many as the pod requests replicas. */
    public IntStream eachShare() {
      return shares.stream()
          .flatMapToInt(equal -> IntStream.generate(equal::replicas).limit(equal.count()));
    }
  }

  /**
   * Cuts a pod's requests into shares. The annotations are the pod's own; the webhook has made sure
   * that they and the requests agree.
   *
   * @param requests in the order of admission; those of 0 replicas are left out
   * @param replicasPerGpu R, at least 1
   */
  public static Demand of(
      String resource,
      int replicasPerGpu,
      List<Request> requests,
      Map<String, String> annotations) {
    Map<String, Integer> wholeGpus = wholeGpus(annotations);
    String target = unnamedTarget(requests, annotations);
    int count = Math.max(1, Quantity.positive(annotations.getOrDefault(Names.GPU_COUNT, "")));
    var containers = new ArrayList<Container>();
    for (Request request : requests) {
      if (request.replicas() > 0) {
        String name = request.container();
        boolean whole = wholeGpus.getOrDefault(name, 0) > 0;
        boolean annotated = whole || name.equals(target) || hasOwnShare(name, annotations);
        List<Shares> shares =
            annotated && !whole
                ? shares(request.replicas(), count, replicasPerGpu)
                : chunks(request.replicas(), replicasPerGpu);
        containers.add(new Container(name, request.kind(), shares, !annotated));
      }
    }
    return new Demand(resource, replicasPerGpu, withoutPassedOn(containers, replicasPerGpu));
  }

  /**
   * Leaves out ordinary init containers on several whole GPUs, if each passes exactly these on to
   * the next and the last one to a container that stays. The kubelet then gives all of them what it
   * gives the first, so only the container that stays counts.
   */
  private static List<Container> withoutPassedOn(List<Container> containers, int replicasPerGpu) {
    int inits = 0;
    while (inits < containers.size() && containers.get(inits).kind() == Kind.INIT) {
      inits++;
    }
    List<Container> staying = containers.subList(inits, containers.size());
    if (inits == 0
        || staying.isEmpty()
        || staying.stream().anyMatch(container -> container.kind() == Kind.INIT)) {
      return containers;
    }
    List<Shares> shares = staying.getFirst().shares();
    boolean severalWhole =
        staying.getFirst().gpus() > 1
            && shares.stream().allMatch(equal -> equal.replicas() == replicasPerGpu);
    boolean passedOn =
        containers.subList(0, inits).stream().allMatch(init -> init.shares().equals(shares));
    return severalWhole && passedOn ? staying : containers;
  }

  /**
   * Returns the whole GPUs that containers requested by number, from the webhook's annotation; 0 if
   * the number is malformed.
   */
  public static Map<String, Integer> wholeGpus(Map<String, String> annotations) {
    String annotation = annotations.get(Names.GPUS_REQUESTED);
    if (annotation == null) {
      return Map.of();
    }
    var gpus = new HashMap<String, Integer>();
    for (String entry : annotation.split(",", -1)) {
      int equals = entry.indexOf('=');
      if (equals > 0) {
        int number = Quantity.positive(entry.substring(equals + 1));
        gpus.putIfAbsent(entry.substring(0, equals), number);
      }
    }
    return gpus;
  }

  /** Whether an annotation that names a container gives it a share. */
  public static boolean hasOwnShare(String container, Map<String, String> annotations) {
    return annotations.containsKey(Names.GPU_FRACTION_OF + container)
        || annotations.containsKey(Names.GPU_MEMORY_OF + container);
  }

  /**
   * Returns the container of a share that names none: the one that {@link Names#GPU_CONTAINER}
   * names, as the webhook ensures, or else the first app container; null if there is no such share.
   */
  private static @Nullable String unnamedTarget(
      List<Request> requests, Map<String, String> annotations) {
    if (!annotations.containsKey(Names.GPU_FRACTION)
        && !annotations.containsKey(Names.GPU_MEMORY)) {
      return null;
    }
    String named = annotations.get(Names.GPU_CONTAINER);
    return named != null
        ? named
        : requests.stream()
            .filter(r -> r.kind() == Kind.APP)
            .map(Request::container)
            .findFirst()
            .orElse(null);
  }

  private static List<Shares> shares(int replicas, int count, int replicasPerGpu) {
    boolean even = replicas % count == 0 && replicas / count <= replicasPerGpu;
    return even ? List.of(new Shares(count, replicas / count)) : chunks(replicas, replicasPerGpu);
  }

  private static List<Shares> chunks(int replicas, int replicasPerGpu) {
    var full = new Shares(replicas / replicasPerGpu, replicasPerGpu);
    var rest = new Shares(1, replicas % replicasPerGpu);
    if (rest.replicas() == 0) {
      return List.of(full);
    }
    return full.count() == 0 ? List.of(rest) : List.of(full, rest);
  }

  public boolean isEmpty() {
    return containers.isEmpty();
  }

  /**
   * Whether all containers must be on one GPU. App containers take over ordinary init containers'
   * replicas without a call to the plugin (kubelet, devicemanager/manager.go). The plugin could
   * therefore not choose a second GPU.
   */
  public boolean onOneGpu() {
    return containers.stream().anyMatch(c -> c.kind() == Kind.INIT);
  }

  /** The most replicas that are held at one moment, counted as kube-scheduler and kubelet do. */
  public int peakReplicas() {
    var peak = new Peak();
    for (Container container : containers) {
      peak.add(container.kind(), container.replicas());
    }
    return (int) Math.min(Integer.MAX_VALUE, peak.replicas());
  }

  /** Returns {@link #peakReplicas} of a pod whose shares are not needed. */
  public static long peakReplicas(List<Request> requests) {
    var peak = new Peak();
    for (Request request : requests) {
      peak.add(request.kind(), request.replicas());
    }
    return peak.replicas();
  }

  /** Adds up what a pod's containers hold, in the order of their admission. */
  private static final class Peak {
    private long sidecars;
    private long inits;
    private long apps;

    void add(Kind kind, int replicas) {
      switch (kind) {
        case INIT -> inits = Math.max(inits, sidecars + replicas);
        case SIDECAR -> sidecars += replicas;
        case APP -> apps += replicas;
      }
    }

    long replicas() {
      return Math.max(inits, sidecars + apps);
    }
  }
}
