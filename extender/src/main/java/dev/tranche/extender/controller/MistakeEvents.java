package dev.tranche.extender.controller;

import dev.tranche.process.client.Events;
import dev.tranche.process.meters.Meters;
import io.fabric8.kubernetes.api.model.Event;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Writes one Warning event for each mistake of a pod. The event's name is derived from the mistake
 * and the pod's uid, so that it stays one event over restarts and replicas. All mistakes have one
 * bound of events per tick. Mistakes are added on any thread; {@link #tick} runs on the loop.
 */
public final class MistakeEvents implements Controller {
  /** The pods with a mistake that are remembered. */
  static final int KNOWN_MAX = 10_000;

  static final int PER_TICK_MAX = 10;

  private final ControllerContext context;

  /** The uids of the added pods that have not been removed. */
  private final Map<PodMistake, Set<String>> known =
      Meters.each(PodMistake.class, mistake -> new HashSet<>());

  /** Those without an event yet, by the event's id. */
  private final SequencedMap<String, Notice> waiting = new LinkedHashMap<>();

  /**
   * @param key {@code namespace/name}
   */
  private record Notice(PodMistake mistake, String key, String uid, String message) {
    String id() {
      return mistake.reason + uid;
    }

    Event event() {
      int slash = key.indexOf('/');
      return Events.warning(
          ApiWriter.COMPONENT,
          Events.pod(key.substring(0, slash), key.substring(slash + 1), uid),
          Events.uuid(id()),
          mistake.reason,
          message);
    }
  }

  public MistakeEvents(ControllerContext context) {
    this.context = context;
    for (PodMistake mistake : PodMistake.values()) {
      context
          .metrics()
          .gauge(
              "tranche.extender.mistaken.pods",
              "Pods with a mistake or defect, by the reason of their events; 10,000 of each at"
                  + " most.",
              () -> pods(mistake),
              "mistake",
              mistake.reason);
    }
  }

  /** Adds a pod, unless it is known. */
  synchronized void add(PodMistake mistake, String key, String uid, Supplier<String> message) {
    Set<String> pods = uids(mistake);
    // One that is not remembered is added when the pod is seen again.
    if (pods.size() < KNOWN_MAX && pods.add(uid)) {
      var notice = new Notice(mistake, key, uid, message.get());
      waiting.put(notice.id(), notice);
    }
  }

  synchronized void remove(PodMistake mistake, String uid) {
    uids(mistake).remove(uid);
    waiting.remove(mistake.reason + uid);
  }

  /** Keeps only these pods. */
  synchronized void retain(PodMistake mistake, Set<String> uids) {
    new ArrayList<>(uids(mistake))
        .stream().filter(uid -> !uids.contains(uid)).forEach(uid -> remove(mistake, uid));
  }

  synchronized boolean knows(PodMistake mistake, String uid) {
    return uids(mistake).contains(uid);
  }

  private synchronized int pods(PodMistake mistake) {
    return uids(mistake).size();
  }

  private Set<String> uids(PodMistake mistake) {
    return Objects.requireNonNull(known.get(mistake));
  }

  /** Writes the next events, once a second. */
  @Override
  public void tick() {
    if (!context.deciding()) {
      return;
    }
    for (Notice notice : due()) {
      context.api().event(notice.event()).onFailure(failure -> unwritten(notice, failure));
    }
  }

  private synchronized List<Notice> due() {
    List<Notice> due = waiting.values().stream().limit(PER_TICK_MAX).toList();
    due.forEach(notice -> waiting.remove(notice.id()));
    return due;
  }

  private synchronized void unwritten(Notice notice, Throwable failure) {
    if (Events.isPassing(failure) && knows(notice.mistake(), notice.uid())) {
      waiting.put(notice.id(), notice);
    }
  }
}
