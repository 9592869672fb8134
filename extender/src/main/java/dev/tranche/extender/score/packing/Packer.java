package dev.tranche.extender.score.packing;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Chooses the room, and the GPU in it, that loses least by taking a pod: least {@link Stranding},
 * and what {@link Guard} asks for. It learns by the pods that it is told of.
 */
public final class Packer {
  /** Learnt anew when the pods counted have grown by this: often at first, ever more seldom. */
  private static final double GROWTH = 1.25;

  private static final int LEAST_GROWTH = 16;

  /** Costs nearer than this are the same. */
  private static final double SAME_MILLI = 1e-6;

  private static final int CHOICES_MAX = 100_000;

  private final Shapes shapes = new Shapes();
  private final Guard guard = new Guard(shapes);
  private Stranding stranding = new Stranding(List.of(), new double[0]);
  private int counted;
  private int learnAt;

  private final Map<Asked, List<Option>> options = new HashMap<>();

  private record Asked(Room room, Shape shape) {}

  private record Option(int leastMilli, Room after, double stranded) {}

  /**
   * @param index of the room
   * @param leastMilli the GPUs are the fullest ones with at least so much free
   */
  public record Choice(int index, int leastMilli) {}

  /** Counts a pod; twice is once. */
  public void learn(String uid, Shape shape) {
    if (!shapes.count(uid, shape)) {
      return;
    }
    guard.counted(shape);
    if (++counted >= learnAt) {
      learnAt =
          (int)
              Math.max(
                  counted + LEAST_GROWTH,
                  Math.min(counted * GROWTH, counted + Shapes.PODS_MAX / 4.0));
      stranding = new Stranding(shapes.all(), shapes.weights());
      options.clear();
    }
  }

  /** Different shapes that are told apart now. */
  public int shapes() {
    return shapes.size();
  }

  /** Empty if no room takes the pod; the first of equals. */
  public Optional<Choice> choose(Shape shape, List<Room> rooms) {
    guard.price(rooms);
    Optional<Choice> best = Optional.empty();
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < rooms.size(); i++) {
      Room room = rooms.get(i);
      for (Option option : options(room, shape)) {
        double cost = option.stranded() + guard.cost(room, option.after());
        if (cost < least) {
          least = cost;
          best = Optional.of(new Choice(i, option.leastMilli()));
        }
      }
    }
    return best;
  }

  /** Indexes of all rooms that lose least by taking a pod without GPU. */
  public List<Integer> cheapest(Shape shape, List<Room> rooms) {
    guard.price(rooms);
    var best = new ArrayList<Integer>();
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < rooms.size(); i++) {
      Option option = options(rooms.get(i), shape).getFirst();
      double cost = option.stranded() + guard.cost(rooms.get(i), option.after());
      if (cost < least - SAME_MILLI) {
        best.clear();
        least = cost;
      }
      if (cost < least + SAME_MILLI) {
        best.add(i);
      }
    }
    return best;
  }

  private List<Option> options(Room room, Shape shape) {
    if (options.size() >= CHOICES_MAX) {
      options.clear();
    }
    return options.computeIfAbsent(new Asked(room, shape), asked -> compute(room, shape));
  }

  /** One for each different amount that is free on a GPU, as long as enough GPUs have it. */
  private List<Option> compute(Room room, Shape shape) {
    if (shape.count() == 0) {
      return List.of(option(room, shape, 0));
    }
    var found = new ArrayList<Option>();
    int[] gpus = room.gpuMilli();
    for (int i = 0; i + shape.count() <= gpus.length; i++) {
      if (gpus[i] >= shape.milli() && (i == 0 || gpus[i] != gpus[i - 1])) {
        found.add(option(room, shape, gpus[i]));
      }
    }
    return found;
  }

  private Option option(Room room, Shape shape, int leastMilli) {
    Room after = room.after(shape, leastMilli);
    return new Option(leastMilli, after, stranding.of(after) - stranding.of(room));
  }
}
