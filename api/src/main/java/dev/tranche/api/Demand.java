package dev.tranche.api;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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
   * @param shares replicas per GPU, largest first; each of a container's shares is on a different
   *     GPU
   * @param mayUseSeveralGpus whether it was requested as plain {@code nvidia.com/gpu: N}: if no GPU
   *     has enough free replicas for the whole share, it may be on several
   */
  public record Container(String name, Kind kind, List<Integer> shares, boolean mayUseSeveralGpus) {
    public Container {
      shares = List.copyOf(shares);
    }

    public int replicas() {
      return shares.stream().mapToInt(Integer::intValue).sum();
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
    var containers = new ArrayList<Container>();
    for (Request request : requests) {
      if (request.replicas() > 0) {
        boolean whole = wholeGpus(request.container(), annotations) > 0;
        boolean annotated = whole || annotated(request.container(), requests, annotations);
        List<Integer> shares =
            annotated && !whole
                ? shares(request.replicas(), count(annotations), replicasPerGpu)
                : chunks(request.replicas(), replicasPerGpu);
        containers.add(new Container(request.container(), request.kind(), shares, !annotated));
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
    List<Integer> shares = staying.getFirst().shares();
    boolean severalWhole =
        shares.size() > 1 && shares.stream().allMatch(share -> share == replicasPerGpu);
    boolean passedOn =
        containers.subList(0, inits).stream().allMatch(init -> init.shares().equals(shares));
    return severalWhole && passedOn ? staying : containers;
  }

  /**
   * Returns the container that an unnamed fraction applies to: the one that {@link
   * Names#GPU_CONTAINER} names, as the webhook ensures, or else the first app container.
   */
  public static Optional<String> fractionTarget(
      List<Request> requests, Map<String, String> annotations) {
    String named = annotations.get(Names.GPU_CONTAINER);
    if (named != null) {
      return Optional.of(named);
    }
    return requests.stream().filter(r -> r.kind() == Kind.APP).map(Request::container).findFirst();
  }

  /**
   * Returns the whole GPUs that a container requested by number, from the webhook's annotation; 0
   * if it requested none.
   */
  public static int wholeGpus(String container, Map<String, String> annotations) {
    String annotation = annotations.get(Names.GPUS_REQUESTED);
    if (annotation == null) {
      return 0;
    }
    for (String entry : annotation.split(",", -1)) {
      int equals = entry.indexOf('=');
      if (equals > 0 && entry.substring(0, equals).equals(container)) {
        String number = entry.substring(equals + 1);
        return number.matches("[1-9]\\d{0,3}") ? Integer.parseInt(number) : 0;
      }
    }
    return 0;
  }

  private static boolean annotated(
      String container, List<Request> requests, Map<String, String> annotations) {
    if (annotations.containsKey(Names.GPU_FRACTION_OF + container)
        || annotations.containsKey(Names.GPU_MEMORY_OF + container)) {
      return true;
    }
    boolean unnamed =
        annotations.containsKey(Names.GPU_FRACTION) || annotations.containsKey(Names.GPU_MEMORY);
    return unnamed && fractionTarget(requests, annotations).filter(container::equals).isPresent();
  }

  private static int count(Map<String, String> annotations) {
    String count = annotations.get(Names.GPU_COUNT);
    return count != null && count.matches("[1-9]\\d{0,3}") ? Integer.parseInt(count) : 1;
  }

  private static List<Integer> shares(int replicas, int count, int replicasPerGpu) {
    boolean even = replicas % count == 0 && replicas / count <= replicasPerGpu;
    return even ? Collections.nCopies(count, replicas / count) : chunks(replicas, replicasPerGpu);
  }

  private static List<Integer> chunks(int replicas, int replicasPerGpu) {
    var chunks =
        new ArrayList<Integer>(Collections.nCopies(replicas / replicasPerGpu, replicasPerGpu));
    if (replicas % replicasPerGpu > 0) {
      chunks.add(replicas % replicasPerGpu);
    }
    return chunks;
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
    int sidecars = 0;
    int peak = 0;
    int apps = 0;
    for (Container container : containers) {
      switch (container.kind()) {
        case INIT -> peak = Math.max(peak, sidecars + container.replicas());
        case SIDECAR -> sidecars += container.replicas();
        case APP -> apps += container.replicas();
      }
    }
    return Math.max(peak, sidecars + apps);
  }
}
