package dev.tranche.webhook;

import dev.tranche.api.Fraction;
import dev.tranche.api.Names;
import dev.tranche.webhook.PodView.Container;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What a pod's annotations ask of GPUs.
 *
 * @param asks at most one for each container
 * @param count each share is wanted on so many different GPUs
 */
record Asks(List<Ask> asks, int count) {
  static final int COUNT_MAX = 1024;

  private static final String PREFIX = "tranche.dev/gpu-";
  private static final Set<String> PLACEMENTS = Set.of("load", "packed", "spread");
  private static final Set<String> KNOWN =
      Set.of(
          Names.GPU_FRACTION,
          Names.GPU_MEMORY,
          Names.GPU_COUNT,
          Names.GPU_CONTAINER,
          Names.GPU_PLACEMENT,
          Names.GPU_MODEL,
          Names.GPU_UUID);

  /**
   * @param fraction on each of the pod's GPUs
   * @param text the fraction as the user wrote it
   */
  record Ask(Container container, Fraction fraction, String text) {}

  Asks {
    asks = List.copyOf(asks);
  }

  boolean isEmpty() {
    return asks.isEmpty();
  }

  /**
   * Reads the annotations.
   *
   * @param problems gets a sentence for each thing that cannot be meant; with any, the asks are not
   *     to be used
   * @param warnings gets a sentence for each annotation that looks misspelt
   */
  static Asks read(PodView pod, List<String> problems, List<String> warnings) {
    Map<String, String> annotations = pod.annotations();
    var asks = new ArrayList<Ask>();
    annotations.forEach(
        (key, value) -> {
          if (key.equals(Names.GPU_FRACTION) || key.startsWith(Names.GPU_FRACTION_OF)) {
            target(pod, key, annotations, problems)
                .flatMap(container -> ask(container, key, value, problems))
                .ifPresent(asks::add);
          } else if (key.startsWith(PREFIX) && !KNOWN.contains(key)) {
            warnings.add("annotation " + key + " is unknown to Tranche and has no effect");
          }
        });
    int count = count(annotations, problems);
    problems.addAll(contradictions(asks, count, annotations));
    problems.addAll(malformedLists(annotations));
    return new Asks(asks, count);
  }

  private static Optional<Container> target(
      PodView pod, String key, Map<String, String> annotations, List<String> problems) {
    List<Container> containers = pod.containers();
    String named =
        key.startsWith(Names.GPU_FRACTION_OF)
            ? key.substring(Names.GPU_FRACTION_OF.length())
            : annotations.get(Names.GPU_CONTAINER);
    String from = key.startsWith(Names.GPU_FRACTION_OF) ? key : Names.GPU_CONTAINER;
    Optional<Container> target =
        containers.stream()
            .filter(c -> named == null ? c.list().equals("containers") : c.name().equals(named))
            .findFirst();
    if (target.isEmpty() && named != null) {
      problems.add(
          "%s names the container \"%s\", which this pod does not have; its containers are %s."
              .formatted(
                  from,
                  named,
                  containers.stream().map(Container::name).collect(Collectors.joining(", "))));
    }
    return target;
  }

  private static Optional<Ask> ask(
      Container container, String key, String value, List<String> problems) {
    return switch (Fraction.parse(value)) {
      case Fraction.Parsed.Valid(Fraction fraction) ->
          Optional.of(new Ask(container, fraction, value.strip()));
      case Fraction.Parsed.Malformed(String reason) -> {
        problems.add("%s: %s; for example %s: \"0.3\".".formatted(key, reason, key));
        yield Optional.empty();
      }
    };
  }

  private static int count(Map<String, String> annotations, List<String> problems) {
    String text = annotations.get(Names.GPU_COUNT);
    if (text == null) {
      return 1;
    }
    int count = text.matches("[1-9]\\d{0,3}") ? Integer.parseInt(text) : 0;
    if (count < 1 || count > COUNT_MAX) {
      problems.add(
          "%s: \"%s\" is not a number of GPUs; allowed are 1 to %d, for example %s: \"2\"."
              .formatted(Names.GPU_COUNT, text, COUNT_MAX, Names.GPU_COUNT));
      return 1;
    }
    return count;
  }

  private static List<String> contradictions(
      List<Ask> asks, int count, Map<String, String> annotations) {
    var problems = new ArrayList<String>();
    boolean fraction = fractions(annotations);
    if (annotations.containsKey(Names.GPU_MEMORY)) {
      problems.add(
          "%s: this version of Tranche does not understand requests by memory; ask for a share, for example %s: \"0.3\"."
              .formatted(Names.GPU_MEMORY, Names.GPU_FRACTION));
    }
    for (String key : List.of(Names.GPU_COUNT, Names.GPU_CONTAINER)) {
      if (annotations.containsKey(key) && !fraction) {
        problems.add(
            "%s: \"%s\" stands without a share; add one, for example %s: \"0.5\"."
                .formatted(key, annotations.get(key), Names.GPU_FRACTION));
      }
    }
    for (Ask ask : asks) {
      if (count > 1 && ask.fraction().numerator() > ask.fraction().denominator()) {
        problems.add(
            "%s: \"%d\" contradicts the fraction \"%s\": a count goes with a share of one GPU, at most 1. For %2$d whole GPUs say %s: \"%2$d\" alone."
                .formatted(Names.GPU_COUNT, count, ask.text(), Names.GPU_FRACTION));
      }
      if (asks.stream().filter(a -> a.container().equals(ask.container())).count() > 1) {
        problems.add(
            "%s and %s%s both speak of container \"%3$s\"; keep one of them."
                .formatted(Names.GPU_FRACTION, Names.GPU_FRACTION_OF, ask.container().name()));
      }
    }
    return problems.stream().distinct().toList();
  }

  private static List<String> malformedLists(Map<String, String> annotations) {
    var problems = new ArrayList<String>();
    String placement = annotations.get(Names.GPU_PLACEMENT);
    if (placement != null && !PLACEMENTS.contains(placement)) {
      problems.add(
          "%s: \"%s\" is not a placement; allowed are load, packed and spread."
              .formatted(Names.GPU_PLACEMENT, placement));
    }
    checkList(annotations, Names.GPU_MODEL, "!?\\S.*", "Tesla-T4,!NVIDIA-A10", problems);
    checkList(annotations, Names.GPU_UUID, "!?(GPU|MIG)-\\S+", "GPU-6e2f…,!GPU-91ab…", problems);
    return problems;
  }

  private static void checkList(
      Map<String, String> annotations,
      String key,
      String form,
      String example,
      List<String> problems) {
    String text = annotations.get(key);
    if (text == null) {
      return;
    }
    for (String item : text.split(",", -1)) {
      String entry = item.strip();
      if (!entry.matches(form) || entry.equals("!")) {
        problems.add(
            "%s: \"%s\" in \"%s\" is no entry of a comma-separated list, in which a leading ! denies; for example %s."
                .formatted(key, entry, text, example));
        return;
      }
    }
  }

  /** Whether any annotation asks for a fraction, well-formed or not. */
  static boolean fractions(Map<String, String> annotations) {
    return annotations.keySet().stream().anyMatch(Asks::isFraction);
  }

  private static boolean isFraction(String key) {
    return key.equals(Names.GPU_FRACTION) || key.startsWith(Names.GPU_FRACTION_OF);
  }
}
