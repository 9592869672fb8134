package dev.tranche.webhook.request;

import dev.tranche.api.Demand;
import dev.tranche.api.Fraction;
import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The GPU requests in a pod's annotations.
 *
 * @param requests the requests, at most one per container
 * @param count the number of different GPUs on which each share is requested
 * @param chosen the container of a share that names none
 */
public record GpuRequests(List<Request> requests, int count, Optional<Container> chosen) {
  /** None at all. */
  public static final GpuRequests NONE = new GpuRequests(List.of(), 1, Optional.empty());

  private static final long MEMORY_BYTES_MIN = 1L << 20;
  private static final int CONTAINERS_NAMED_MAX = 10;

  /** What is wanted of each of the pod's GPUs. */
  public sealed interface Wanted {
    record Share(GpuPart part) implements Wanted {}

    record Memory(long memoryBytes) implements Wanted {}

    /** A number of whole GPUs, by a plain request for the resource. */
    record Gpus(int gpus) implements Wanted {}
  }

  /**
   * @param key the annotation, or the resource of a plain request
   * @param text its value as the user wrote it
   */
  public record Request(Container container, Wanted wanted, String key, String text) {
    /** Returns the memory that is wanted of one GPU, or 0. */
    public long memoryBytes() {
      return wanted instanceof Wanted.Memory(long bytes) ? bytes : 0;
    }
  }

  public boolean isEmpty() {
    return requests.isEmpty();
  }

  /** The most memory that is wanted of one GPU, or 0. */
  public long memoryBytesMax() {
    return requests.stream().mapToLong(Request::memoryBytes).max().orElse(0);
  }

  /** The most GPUs that one container wants. */
  public int gpusMax() {
    return requests.stream().mapToInt(this::gpus).max().orElse(0);
  }

  /** Returns the containers that an annotation gives a share. */
  public List<Container> containersWithShares() {
    return requests.stream()
        .filter(request -> !(request.wanted() instanceof Wanted.Gpus))
        .map(Request::container)
        .toList();
  }

  /** The number of different GPUs that a request wants. */
  public int gpus(Request request) {
    return switch (request.wanted()) {
      case Wanted.Gpus(int gpus) -> gpus;
      case Wanted.Share(GpuPart part) when part.isWhole() ->
          Math.max(count, part.numerator().intValueExact());
      case Wanted.Share share -> count;
      case Wanted.Memory memory -> count;
    };
  }

  /**
   * Reads the annotations.
   *
   * @param resource the resource whose replicas the shares become
   * @param messages receives a sentence for each invalid value; if there is any, the result must
   *     not be used
   */
  public static GpuRequests read(PodView pod, String resource, Messages messages) {
    Map<String, String> annotations = pod.annotations();
    boolean unnamed = annotations.keySet().stream().anyMatch(GpuRequests::namesNoContainer);
    Optional<Container> chosen =
        unnamed && !annotations.containsKey(Names.GPU_CONTAINER)
            ? GpuContainer.choose(pod, resource, messages)
            : Optional.empty();
    var requests = new ArrayList<Request>();
    annotations.forEach(
        (key, value) -> {
          if (Names.requestsShare(key) && !messages.isFull()) {
            target(pod, chosen, key, messages)
                .flatMap(container -> request(container, key, value, messages))
                .ifPresent(requests::add);
          }
        });
    int count = count(annotations, messages);
    checkContradictions(requests, count, messages);
    checkAccompanied(annotations, Names.GPU_COUNT, firstKey(annotations).isPresent(), messages);
    checkAccompanied(annotations, Names.GPU_CONTAINER, unnamed, messages);
    return new GpuRequests(requests, count, chosen);
  }

  /**
   * Returns these requests, and those of containers that request whole GPUs by number.
   *
   * @param pod with the numbers that its owner wrote
   * @param messages receives a sentence for each number that no node has
   */
  public GpuRequests withPlain(PodView pod, String resource, Messages messages) {
    var all = new ArrayList<>(requests);
    Map<String, Integer> before = Demand.wholeGpus(pod.annotations());
    for (Container container : pod.containers()) {
      if (requests.stream().anyMatch(a -> a.container().equals(container))) {
        continue;
      }
      Optional<String> part = container.partOf(resource);
      if (part.isPresent()) {
        // Kubernetes refuses it too, but would only read the whole number that is written instead.
        messages.deny(Denial.PLAIN_NOT_WHOLE, container.name(), resource, part.get());
      } else if (container.requested(resource) > 0) {
        Optional<Request> copied = copied(pod, container, before, resource);
        long gpus = container.requested(resource);
        if (copied.isPresent()) {
          all.add(copied.get());
        } else if (gpus > RequestBounds.GPUS_MAX) {
          messages.deny(
              Denial.ABOVE_ANY_NODE,
              "%d GPUs in container \"%s\"".formatted(gpus, Printable.value(container.name())),
              RequestBounds.GPUS_MAX + " GPUs");
        } else {
          var wanted = new Wanted.Gpus((int) gpus);
          all.add(new Request(container, wanted, resource, String.valueOf(gpus)));
        }
      }
    }
    return new GpuRequests(all, count, chosen);
  }

  /**
   * Returns the request of a container whose replicas another webhook has copied from a share of an
   * earlier pass, as an injector of checks does. The number then counts replicas, not GPUs.
   *
   * @param before the whole GPUs that Tranche has converted to replicas, by container
   */
  private Optional<Request> copied(
      PodView pod, Container copy, Map<String, Integer> before, String resource) {
    if (!pod.annotations().containsKey(Names.REPLICAS_PER_GPU)
        || before.getOrDefault(copy.name(), 0) > 0) {
      return Optional.empty();
    }
    long replicas = copy.requested(resource);
    return requests.stream()
        .filter(request -> request.container().requested(resource) == replicas)
        .findFirst()
        .map(from -> new Request(copy, from.wanted(), from.key(), from.text()));
  }

  /** Returns a pod's annotations as they will be written, with the chosen container. */
  public Map<String, String> withContainer(Map<String, String> annotations) {
    if (chosen.isEmpty()) {
      return annotations;
    }
    var written = new HashMap<>(annotations);
    written.put(Names.GPU_CONTAINER, chosen.get().name());
    return written;
  }

  /** The first annotation that asks for a share. */
  public static Optional<String> firstKey(Map<String, String> annotations) {
    return annotations.keySet().stream().filter(Names::requestsShare).findFirst();
  }

  private static boolean namesNoContainer(String key) {
    return key.equals(Names.GPU_FRACTION) || key.equals(Names.GPU_MEMORY);
  }

  private static Optional<Container> target(
      PodView pod, Optional<Container> chosen, String key, Messages messages) {
    boolean unnamed = namesNoContainer(key);
    String named =
        unnamed
            ? pod.annotations().get(Names.GPU_CONTAINER)
            : key.substring(key.indexOf('.', "tranche.dev/".length()) + 1);
    return named == null
        ? chosen
        : checkContainer(pod, unnamed ? Names.GPU_CONTAINER : key, named, messages);
  }

  /** Returns a container by its name. Adds a problem if there is none. */
  static Optional<Container> checkContainer(
      PodView pod, String key, String named, Messages messages) {
    Optional<Container> target = pod.container(named);
    if (target.isEmpty()) {
      String names =
          pod.containers().stream()
              .limit(CONTAINERS_NAMED_MAX)
              .map(c -> Printable.value(c.name()))
              .collect(Collectors.joining(", "));
      messages.deny(Denial.NO_SUCH_CONTAINER, key, Printable.value(named), names);
    }
    return target;
  }

  private static Optional<Request> request(
      Container container, String key, String value, Messages messages) {
    Optional<Wanted> wanted =
        Names.requestsMemory(key) ? memory(key, value, messages) : share(key, value, messages);
    return wanted.map(w -> new Request(container, w, key, value.strip()));
  }

  private static Optional<Wanted> share(String key, String value, Messages messages) {
    return switch (Fraction.parse(value)) {
      case Fraction.Parsed.Valid(GpuPart share) -> Optional.of(new Wanted.Share(share));
      case Fraction.Parsed.Malformed(String reason) -> {
        messages.deny(Denial.FRACTION_MALFORMED, key, reason);
        yield Optional.empty();
      }
    };
  }

  /** Parses an amount of memory. Adds a problem if it is invalid. */
  public static Optional<Wanted> memory(String key, String value, Messages messages) {
    long bytes = Quantity.memoryBytes(value);
    if (bytes >= MEMORY_BYTES_MIN) {
      return Optional.of(new Wanted.Memory(bytes));
    }
    Denial denial = bytes < 1 ? Denial.MEMORY_MALFORMED : Denial.MEMORY_TOO_SMALL;
    messages.deny(denial, key, Printable.value(value));
    return Optional.empty();
  }

  private static int count(Map<String, String> annotations, Messages messages) {
    String text = annotations.get(Names.GPU_COUNT);
    if (text == null) {
      return 1;
    }
    int count = Quantity.positive(text);
    if (count < 1 || count > RequestBounds.GPUS_MAX) {
      messages.deny(
          Denial.COUNT_MALFORMED, Names.GPU_COUNT, Printable.value(text), RequestBounds.GPUS_MAX);
      return 1;
    }
    return count;
  }

  private static void checkContradictions(List<Request> requests, int count, Messages messages) {
    var first = new HashMap<Container, Request>();
    for (Request request : requests) {
      boolean several =
          request.wanted() instanceof Wanted.Share(GpuPart part) && part.exceedsOneGpu();
      if (count > 1 && several) {
        messages.deny(Denial.COUNT_WITH_WHOLE_GPUS, Names.GPU_COUNT, count, request.text());
      }
      Request other = first.putIfAbsent(request.container(), request);
      if (other != null) {
        messages.deny(
            Denial.DUPLICATE_REQUEST, other.key(), request.key(), request.container().name());
      }
    }
  }

  /** Denies an annotation that says more about a share, and there is none. */
  private static void checkAccompanied(
      Map<String, String> annotations, String key, boolean accompanied, Messages messages) {
    String text = annotations.get(key);
    if (text != null && !accompanied) {
      messages.deny(Denial.MISSING_SHARE, key, Printable.value(text), Names.GPU_FRACTION);
    }
  }
}
