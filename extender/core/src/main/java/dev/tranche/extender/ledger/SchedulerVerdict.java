package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Reason;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What kube-scheduler last wrote into a pod's condition {@code PodScheduled}: how many nodes it
 * refused, and for which kind of reason. It checks most of them before it calls the extender, so
 * only the condition tells of those nodes.
 *
 * @param nodes how many nodes each blocker refused; a node with several blockers counts for each
 * @param refusals the extender's reasons among them; too few replicas in total are {@link
 *     Reason#FULL}
 */
public record SchedulerVerdict(State state, Map<Blocker, Integer> nodes, Set<Reason> refusals) {
  /** kube-scheduler has not tried the pod, as far as is known. */
  public static final SchedulerVerdict NONE =
      new SchedulerVerdict(State.NOT_TRIED, Map.of(), Set.of());

  private static final SchedulerVerdict GATED =
      new SchedulerVerdict(State.GATED, Map.of(), Set.of());

  /** Characters of a message that are read; a condition has at most 32 KiB. */
  private static final int MESSAGE_CHARS_MAX = 4_096;

  private static final String LIST_BEGINS = "nodes are available: ";
  private static final String LIST_ENDS = ". ";

  /** A reason may have commas of its own, so that only those before a number separate. */
  private static final Pattern BETWEEN = Pattern.compile(", (?=\\d{1,6} )");

  private static final Pattern COUNTED = Pattern.compile("(\\d{1,6}) (.*)", Pattern.DOTALL);
  private static final String INSUFFICIENT = "Insufficient ";
  private static final Map<String, Reason> OURS =
      Stream.of(Reason.values())
          .collect(Collectors.toMap(reason -> reason.sentence, reason -> reason));

  private static final Set<Blocker> KNOWN =
      EnumSet.of(Blocker.GPUS, Blocker.AFFINITY, Blocker.TAINTS, Blocker.CORDONED);

  /** What kube-scheduler did with the pod. */
  public enum State {
    NOT_TRIED,
    GATED,
    REFUSED
  }

  /** A kind of reason for which kube-scheduler refuses a node. */
  public enum Blocker {
    /** Too few replicas in total, or a refusal of the extender. */
    GPUS("GPUs", Kind.GPUS),
    CPU("CPU", Kind.HOST),
    MEMORY("memory", Kind.HOST),
    PODS("a place for one more pod", Kind.HOST),
    PORTS("a free host port", Kind.HOST),
    OTHER_RESOURCE("another resource that it requests", Kind.HOST),
    AFFINITY("its nodeSelector or node affinity", Kind.NODE),
    TAINTS("taints that it does not tolerate", Kind.NODE),
    CORDONED("cordoned nodes", Kind.NODE),
    VOLUMES("its volumes", Kind.NODE),
    OTHER_PODS("its rules about other pods", Kind.NODE),
    OTHER("other rules of kube-scheduler", Kind.NODE);

    /** The words that a sentence shows. */
    public final String words;

    public final Kind kind;

    Blocker(String words, Kind kind) {
      this.words = words;
      this.kind = kind;
    }
  }

  /** What would have to change: GPUs, another resource of the host, or the choice of nodes. */
  public enum Kind {
    GPUS,
    HOST,
    NODE
  }

  /**
   * Reads the condition {@code PodScheduled} with status {@code False}.
   *
   * @param resource that the pod requests
   */
  public static SchedulerVerdict of(String reason, String message, String resource) {
    if (reason.equals("SchedulingGated")) {
      return GATED;
    }
    var nodes = new EnumMap<Blocker, Integer>(Blocker.class);
    var refusals = EnumSet.noneOf(Reason.class);
    String read =
        message.length() <= MESSAGE_CHARS_MAX ? message : message.substring(0, MESSAGE_CHARS_MAX);
    for (String part : BETWEEN.split(list(read), -1)) {
      Matcher counted = COUNTED.matcher(part);
      boolean has = counted.matches();
      String text = has ? counted.group(2) : part;
      Reason own = text.equals(INSUFFICIENT + resource) ? Reason.FULL : OURS.get(text);
      if (own != null) {
        refusals.add(own);
      }
      Blocker blocker = own == null ? blocker(text) : Blocker.GPUS;
      nodes.merge(blocker, has ? Integer.parseInt(counted.group(1)) : 1, Integer::sum);
    }
    return new SchedulerVerdict(State.REFUSED, nodes, refusals);
  }

  /** Returns the counted reasons, without what follows about preemption. */
  private static String list(String message) {
    int begin = message.indexOf(LIST_BEGINS);
    String rest = begin < 0 ? message : message.substring(begin + LIST_BEGINS.length());
    int end = rest.indexOf(LIST_ENDS);
    String list = end < 0 ? rest : rest.substring(0, end);
    return list.endsWith(".") ? list.substring(0, list.length() - 1) : list;
  }

  private static Blocker blocker(String text) {
    if (text.startsWith(INSUFFICIENT)) {
      return insufficient(text.substring(INSUFFICIENT.length()));
    }
    if (text.startsWith("Too many pods")) {
      return Blocker.PODS;
    }
    if (text.contains("free ports")) {
      return Blocker.PORTS;
    }
    if (text.contains("pod affinity")
        || text.contains("anti-affinity")
        || text.contains("topology spread")) {
      return Blocker.OTHER_PODS;
    }
    if (text.contains("olume")) {
      return Blocker.VOLUMES;
    }
    if (text.contains("node affinity") || text.contains("requested node name")) {
      return Blocker.AFFINITY;
    }
    if (text.contains("taint")) {
      return Blocker.TAINTS;
    }
    return text.contains("unschedulable") ? Blocker.CORDONED : Blocker.OTHER;
  }

  private static Blocker insufficient(String lacking) {
    return switch (lacking) {
      case "cpu" -> Blocker.CPU;
      case "memory" -> Blocker.MEMORY;
      default -> Blocker.OTHER_RESOURCE;
    };
  }

  /** Returns whether some node was refused for a reason of this kind. */
  public boolean has(Kind kind) {
    return nodes.keySet().stream().anyMatch(blocker -> blocker.kind == kind);
  }

  /**
   * Returns whether all nodes that were refused are known by name: those of the pod's own fields
   * and the GPUs that they have. A volume, for example, excludes nodes that only kube-scheduler
   * knows.
   */
  public boolean isOfKnownNodes() {
    return KNOWN.containsAll(nodes.keySet());
  }

  /** Returns for how many nodes these were the reason. */
  public int count(Predicate<Blocker> blockers) {
    return nodes.entrySet().stream()
        .filter(each -> blockers.test(each.getKey()))
        .mapToInt(Map.Entry::getValue)
        .sum();
  }

  /** Returns whether a rule excluded the node that only kube-scheduler knows, such as a volume. */
  public static boolean isUnknown(Blocker blocker) {
    return blocker.kind == Kind.NODE && !KNOWN.contains(blocker);
  }

  public boolean has(Blocker blocker) {
    return nodes.containsKey(blocker);
  }
}
