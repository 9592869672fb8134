package dev.tranche.extender.gang;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The members of PodGroups. kube-scheduler asks about one member after the other, and binds none if
 * too few fit. It does not say so to an extender. So the answers so far tell whether a gang can
 * still be complete; if it cannot, its members' tentative holds are given up at once.
 *
 * <p>Only pods that request GPUs are known here. A gang's number of pods counts as the number that
 * was filtered so far, and at least as the gang's minimum.
 *
 * @see <a href="https://github.com/kubernetes/enhancements/issues/4671">KEP-4671</a>
 */
public final class Gangs {
  /** Groups whose members are remembered; the group that was asked about least recently goes. */
  public static final int GROUPS_MAX = 1_024;

  /** A member beyond these is placed like a pod without a group. */
  public static final int MEMBERS_MAX = 1_024;

  /** PodGroups whose minimum is remembered. */
  public static final int MINIMUMS_MAX = 20_000;

  /** Pods on nodes that count as members. */
  public static final int BOUND_MAX = 20_000;

  /** The time in which the next attempt shows whether a refusal was about an earlier one. */
  static final long REFUSED_FOR_MS = 2_000;

  /** The time after which the watch has shown a pod that kube-scheduler has seen. */
  static final long SEEN_WITHIN_MS = 15_000;

  /** The answer about a member in the current attempt. */
  enum Answer {
    NONE,
    FITS,
    REFUSED
  }

  record Member(Answer answer, long atMs) {}

  /**
   * What a PodGroup says.
   *
   * @param minimum of pods that are placed together; 0 for a group that is no gang
   * @param refusal identifies why kube-scheduler's last attempt failed; 0 if none has failed
   */
  private record PodGroup(int minimum, int refusal) {}

  private final Map<String, PodGroup> podGroups = new LinkedHashMap<>();

  /** By group, in the order of the latest answers. Without the pods on nodes. */
  final Map<String, Map<String, Member>> groups = new LinkedHashMap<>(16, 0.75f, true);

  /** Pods on nodes by uid, whichever replica of the extender bound them. */
  final Map<String, String> groupByBoundPod = new HashMap<>();

  /** Their number by group. Of all groups, so that a new leader knows it before it is asked. */
  private final Map<String, Integer> boundPods = new HashMap<>();

  /** When kube-scheduler refused a gang by itself, for {@link #REFUSED_FOR_MS}. */
  private final Map<String, Long> refusedAtMs = new HashMap<>();

  /**
   * What follows from a member that does not fit.
   *
   * @param release the members whose tentative holds are of no use now
   * @param sentence what the gang lacks, a clause; empty if the others can do without this member
   */
  public record Refusal(List<String> release, Optional<String> sentence) {
    public static final Refusal NONE = new Refusal(List.of(), Optional.empty());
  }

  /**
   * A PodGroup is listed, is new or has changed. kube-scheduler may refuse a gang without asking
   * about all of its members, and says so in the PodGroup's status. It writes that once while its
   * reason stays the same. Its status may come late, when the next attempt has begun. So only those
   * holds are of no use that are not asked about again for a while; see {@link #overdue}.
   *
   * @param group {@code namespace/name}
   * @param minimum of pods that are placed together; 0 for a group that is no gang
   * @param refusal identifies why kube-scheduler's last attempt failed; 0 if none has failed
   * @return the members that an earlier refusal was about
   */
  public List<String> groupSeen(String group, int minimum, int refusal, long nowMs) {
    if (podGroups.size() >= MINIMUMS_MAX && !podGroups.containsKey(group)) {
      return List.of();
    }
    PodGroup before = podGroups.put(group, new PodGroup(minimum, refusal));
    boolean refused = refusal != 0 && before != null && before.refusal() != refusal;
    if (!refused || !groups.containsKey(group)) {
      return List.of();
    }
    Long earlier = refusedAtMs.put(group, nowMs);
    return earlier == null ? List.of() : giveUp(group, earlier);
  }

  /**
   * Returns the members whose tentative holds are of no use: kube-scheduler refused their gang, and
   * has not asked about them since.
   */
  public List<String> overdue(long nowMs) {
    var release = new ArrayList<String>();
    refusedAtMs
        .entrySet()
        .removeIf(
            refused -> {
              boolean due = nowMs - refused.getValue() >= REFUSED_FOR_MS;
              if (due) {
                release.addAll(giveUp(refused.getKey(), refused.getValue()));
              }
              return due;
            });
    return release;
  }

  public void groupGone(String group) {
    podGroups.remove(group);
    groups.remove(group);
    refusedAtMs.remove(group);
  }

  /** Returns the members that fit in the current attempt. Their holds are the gang's own. */
  public Set<String> holding(String group) {
    return groups.getOrDefault(group, Map.of()).entrySet().stream()
        .filter(member -> member.getValue().answer() == Answer.FITS)
        .map(Map.Entry::getKey)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** A member was offered nodes. */
  public void fits(String group, String uid, long nowMs) {
    put(group, uid, new Member(Answer.FITS, nowMs));
  }

  /** A watch shows a member on a node. It may be there since before this process led. */
  public void bound(String group, String uid) {
    if (groupByBoundPod.size() >= BOUND_MAX || groupByBoundPod.putIfAbsent(uid, group) != null) {
      return;
    }
    boundPods.merge(group, 1, Integer::sum);
    Map<String, Member> asked = groups.get(group);
    if (asked != null) {
      asked.remove(uid);
    }
  }

  /** A pod has ended or is deleted. */
  public void podEnded(String uid) {
    String group = groupByBoundPod.remove(uid);
    if (group != null) {
      boundPods.computeIfPresent(group, (key, pods) -> pods == 1 ? null : pods - 1);
    }
  }

  /**
   * A member was refused by all nodes.
   *
   * @param exists whether the watch knows a pod of that uid
   */
  public Refusal refused(String group, String uid, Predicate<String> exists, long nowMs) {
    Map<String, Member> members = put(group, uid, new Member(Answer.REFUSED, nowMs));
    members
        .entrySet()
        .removeIf(
            member ->
                nowMs - member.getValue().atMs() > SEEN_WITHIN_MS && !exists.test(member.getKey()));
    int bound = boundPods.getOrDefault(group, 0);
    int pods = members.size() + bound;
    PodGroup known = podGroups.get(group);
    int minimum = known == null ? pods : known.minimum();
    int refused = count(members, Answer.REFUSED);
    if (Math.max(pods, minimum) - refused >= minimum) {
      return Refusal.NONE;
    }
    int fitting = count(members, Answer.FITS) + bound;
    String sentence =
        "its pod group %s needs %d pods with GPUs at once, and %d of them fit now"
            .formatted(group, minimum, fitting);
    return new Refusal(giveUp(members, nowMs), Optional.of(sentence));
  }

  /**
   * Nothing could be decided about a member, which ends the attempt of the whole gang.
   *
   * @return the members whose tentative holds are of no use now
   */
  public List<String> undecided(String group) {
    return giveUp(group, Long.MAX_VALUE);
  }

  private List<String> giveUp(String group, long askedUntilMs) {
    Map<String, Member> members = groups.get(group);
    PodGroup known = podGroups.get(group);
    boolean gang = known == null || known.minimum() > 0;
    return members == null || !gang ? List.of() : giveUp(members, askedUntilMs);
  }

  private Map<String, Member> put(String group, String uid, Member member) {
    Map<String, Member> members = groups.computeIfAbsent(group, first -> new LinkedHashMap<>());
    boolean known = members.containsKey(uid);
    if (known || (members.size() < MEMBERS_MAX && !groupByBoundPod.containsKey(uid))) {
      members.put(uid, member);
    }
    if (groups.size() > GROUPS_MAX) {
      groups.remove(groups.keySet().iterator().next());
    }
    return members;
  }

  private static int count(Map<String, Member> members, Answer answer) {
    return (int) members.values().stream().filter(member -> member.answer() == answer).count();
  }

  /** Ends the attempt, and returns the members that fit in it. Later answers are of another one. */
  private static List<String> giveUp(Map<String, Member> members, long askedUntilMs) {
    var fitting = new ArrayList<String>();
    members.replaceAll(
        (uid, member) -> {
          if (member.atMs() > askedUntilMs) {
            return member;
          }
          if (member.answer() == Answer.FITS) {
            fitting.add(uid);
          }
          return new Member(Answer.NONE, member.atMs());
        });
    return fitting;
  }
}
