package dev.tranche.simulate;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A client's list and watch of one kind, in the order of the log and late. It stands for the
 * Reflector, or for the informers of Kubernetes: after a new list, an object that is missing is
 * gone, and states in between were never seen.
 */
final class Watch<T extends Stored> {
  private static final int LATE_MS_MAX = 40;
  private static final long PAUSE_MS_MIN = 250;
  private static final long PAUSE_MS_MAX = 2_000;
  private static final int AGAIN_MAX = 5;

  /** Receives the objects. */
  interface Sink<T> {
    void seen(T object);

    void gone(T object);

    default void listed() {}
  }

  private final World world;
  private final SimulatedProcess client;
  private final ApiModel.Table<T> table;
  private final Predicate<T> selected;
  private final Sink<T> sink;
  private final SplittableRandom random;

  /** What was seen last, by key. */
  private final Map<String, T> known = new HashMap<>();

  private int cursor;

  /** The run of the client's process that has listed the objects; only that one watches. */
  private int listedBy = -1;

  private boolean reading;
  private boolean broken;
  private boolean expired;
  private long lateUntilMs;
  private boolean repeats;

  Watch(
      World world,
      SimulatedProcess client,
      ApiModel.Table<T> table,
      Predicate<T> selected,
      Sink<T> sink) {
    this.world = world;
    this.client = client;
    this.table = table;
    this.selected = selected;
    this.sink = sink;
    this.random = world.randoms.of("watch " + client.name + sink.getClass().getSimpleName());
    table.watch(this::changed);
  }

  /** Some changes come twice when the watch opens again. */
  Watch<T> repeating() {
    repeats = true;
    return this;
  }

  /** Lists all objects, then watches. The process of the client has just started. */
  void start() {
    known.clear();
    listedBy = -1;
    reading = false;
    broken = false;
    client.run(random.nextInt(LATE_MS_MAX), this::list);
  }

  private void list() {
    if (blocked() || world.network.blocked(client.name, world.api.name)) {
      client.run(pauseMs(), this::list);
      return;
    }
    var listed = new HashSet<String>();
    for (T object : List.copyOf(table.all())) {
      if (selected.test(object)) {
        listed.add(object.key());
        seen(object);
      }
    }
    for (String key : List.copyOf(known.keySet())) {
      if (!listed.contains(key)) {
        gone(key);
      }
    }
    cursor = table.log.size();
    listedBy = client.incarnation();
    broken = false;
    expired = false;
    sink.listed();
    read();
  }

  /** Ends the watch. It opens again, or lists anew if its version is too old by then. */
  void breakOff(boolean tooOld) {
    if (!watches() || broken) {
      return;
    }
    broken = true;
    expired = tooOld;
    client.run(pauseMs(), this::reopen);
  }

  private void reopen() {
    if (expired) {
      world.counts.count(Branch.LIST_AFTER_GONE);
      list();
      return;
    }
    broken = false;
    if (repeats) {
      repeat(random.nextInt(AGAIN_MAX));
    }
    read();
  }

  /** A watch may repeat what an object was, but not that another had its name before. */
  private void repeat(int changes) {
    for (int left = changes; left > 0 && cursor > 0; left--) {
      T object = table.log.get(cursor - 1).object();
      T now = known.get(object.key());
      if (now != null && !now.uid().equals(object.uid())) {
        return;
      }
      cursor--;
    }
  }

  private boolean blocked() {
    return world.network.blocked(world.api.name, client.name);
  }

  private long pauseMs() {
    return PAUSE_MS_MIN + random.nextLong(PAUSE_MS_MAX - PAUSE_MS_MIN);
  }

  /** Delivers nothing for a while: the view is stale. */
  void delay(long forMs) {
    lateUntilMs = Math.max(lateUntilMs, client.queue.nowMs() + forMs);
  }

  private void changed() {
    if (watches()) {
      read();
    }
  }

  private boolean watches() {
    return client.running() && listedBy == client.incarnation();
  }

  private void read() {
    if (reading || broken || !skipOthers()) {
      return;
    }
    reading = true;
    long late = Math.max(0, lateUntilMs - client.queue.nowMs()) + random.nextInt(LATE_MS_MAX);
    int of = client.incarnation();
    client.run(
        late,
        () -> {
          if (of == client.incarnation()) {
            reading = false;
            deliver();
          }
        });
  }

  /** Moves on to the next object that is selected, and returns whether there is one. */
  private boolean skipOthers() {
    while (cursor < table.log.size() && !selected.test(table.log.get(cursor).object())) {
      cursor++;
    }
    return cursor < table.log.size();
  }

  private void deliver() {
    if (broken || client.queue.nowMs() < lateUntilMs) {
      read();
      return;
    }
    if (blocked()) {
      // Nothing comes, and nothing says so until the watch is opened again.
      client.run(pauseMs(), this::read);
      return;
    }
    while (skipOthers()) {
      ApiModel.Change<T> change = table.log.get(cursor++);
      if (change.removed()) {
        gone(change.object().key());
      } else {
        seen(change.object());
      }
      if (random.nextInt(8) == 0) {
        break;
      }
    }
    read();
  }

  private void seen(T object) {
    T before = known.put(object.key(), object);
    if (before != null && !before.uid().equals(object.uid())) {
      sink.gone(before);
    }
    sink.seen(object);
  }

  private void gone(String key) {
    @Nullable T last = known.remove(key);
    if (last != null) {
      sink.gone(last);
    }
  }
}
