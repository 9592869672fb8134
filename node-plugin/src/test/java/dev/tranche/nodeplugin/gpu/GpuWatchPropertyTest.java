package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.gpu.FailingMachine.Board;
import dev.tranche.nodeplugin.gpu.FailingMachine.State;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * In no order of failures is an unhealthy GPU advertised, is a GPU forgotten or left unwatched in
 * silence, or does a GPU that works again stay lost.
 */
class GpuWatchPropertyTest {
  private static final int MACHINES = 12;
  private static final int TICKS = 80;
  private static final long TICK_MS = 1_000;
  private static final long RETRY_MS = 5_000;
  // All that heals by itself has done so: two of the longest waits between restarts of NVML.
  private static final long SETTLE_MS = 2 * GpuWatch.REOPEN_MAX_MS;
  private static final List<State> STATES = List.of(State.values());
  private static final long[] XIDS = {13, 31, 48, 79, 94, 119};
  private static final Set<Long> NEED_RESET = Set.of(48L, 79L, 119L);
  private static final Set<Long> OF_APPLICATIONS = Set.of(13L, 31L);

  @Test
  void gpus_areNeverTrustedWrongly_norForgotten_andReturn() {
    int faults = 0;
    long[] seeds = Seeds.of(MACHINES);
    for (long seed : seeds) {
      faults += new Run(seed).run();
    }
    assertThat(faults).isGreaterThanOrEqualTo(seeds.length / 2);
  }

  private static final class Run {
    private final long seed;
    private final Random random;
    private final FailingMachine machine = new FailingMachine();
    private final List<Board> boards = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    private final Set<String> everListed = new HashSet<>();
    // By uuid: ticks in a row in which the GPU did not tell its identity.
    private final Map<String, Integer> silentTicks = new HashMap<>();
    // GPUs with an error that only a reset ends, which have answered ever since.
    private final Set<String> needReset = new TreeSet<>();
    // Those that may keep such an error: a short silence is no reset.
    private final Set<String> mayNeedReset = new TreeSet<>();
    private final Map<String, Long> eccSeen = new HashMap<>();
    // GPUs that can be read at this tick's samples.
    private final Set<String> readable = new HashSet<>();
    private final GpuWatch watch;
    private long nowMs = 1_000_000;
    private long retryAtMs;
    private boolean open;
    private String lastDriver = "";
    private int migDevices;
    private int faults;

    Run(long seed) {
      this.seed = seed;
      this.random = new Random(seed);
      this.watch = FailingMachine.watch("", () -> nowMs);
      for (int i = random.nextInt(1, 5); i > 0; i--) {
        boards.add(new Board("GPU-" + i));
      }
      machine.listed.addAll(boards);
    }

    /** Returns how many faults were seen. */
    int run() {
      for (int tick = 0; tick < TICKS; tick++) {
        if (random.nextInt(3) == 0) {
          disturb();
        }
        tick();
      }
      repair();
      for (long untilMs = nowMs + SETTLE_MS; nowMs < untilMs; ) {
        tick();
      }
      checkSettled();
      return faults;
    }

    private void disturb() {
      Board board = boards.get(random.nextInt(boards.size()));
      switch (random.nextInt(14)) {
        case 0, 1, 2 -> {
          board.state = STATES.get(random.nextInt(STATES.size()));
          note("%s is %s".formatted(board.uuid, board.state));
        }
        case 3, 4 -> {
          boards.forEach(each -> each.state = State.FINE);
          note("all are fine");
        }
        case 5 -> {
          if (machine.listed.remove(board)) {
            note("%s is not listed".formatted(board.uuid));
          } else {
            machine.listed.add(random.nextInt(machine.listed.size() + 1), board);
            note("%s is listed again".formatted(board.uuid));
          }
        }
        case 6 -> {
          machine.driverLoaded = !machine.driverLoaded;
          note("driver loaded: %s".formatted(machine.driverLoaded));
        }
        case 7 -> {
          machine.driver = String.valueOf(random.nextInt(3));
          note("driver %s".formatted(machine.driver));
        }
        case 8 -> {
          machine.waitFails = random.nextInt(3) == 0;
          machine.subscribingFails = random.nextInt(3) == 0;
          note(
              "wait fails %s, subscribing %s"
                  .formatted(machine.waitFails, machine.subscribingFails));
        }
        case 9 -> {
          board.eccErrors++;
          board.processFailures = random.nextInt(3);
          note("%s has %d ECC errors".formatted(board.uuid, board.eccErrors));
        }
        case 10 -> {
          board.migOn = random.nextBoolean();
          board.migDevices = board.migOn ? newMigDevices() : List.of();
          note("%s has MIG %s %s".formatted(board.uuid, board.migOn, board.migDevices));
        }
        case 11 -> {
          nowMs += random.nextInt(120_000);
          note("time passes");
        }
        default -> {
          long xid = XIDS[random.nextInt(XIDS.length)];
          for (int storm = random.nextInt(1, 20); storm > 0; storm--) {
            machine.raise(board, xid);
          }
          note("%s has XID %d".formatted(board.uuid, xid));
        }
      }
    }

    private List<String> newMigDevices() {
      List<String> devices = new ArrayList<>();
      for (int i = random.nextInt(4); i > 0; i--) {
        devices.add("MIG-" + migDevices++);
      }
      return devices;
    }

    /** All answer in the end, some without their load. */
    private void repair() {
      note("all is repaired");
      boards.forEach(
          board -> {
            board.state = random.nextInt(8) == 0 ? State.LOAD_DENIED : State.FINE;
            board.processFailures = 0;
            if (!machine.listed.contains(board)) {
              machine.listed.add(board);
            }
          });
      machine.driverLoaded = true;
      machine.waitFails = false;
      machine.subscribingFails = false;
    }

    /** As NvmlThread does it. */
    private void tick() {
      nowMs += TICK_MS;
      noteAbsence();
      try {
        if (!open && nowMs < retryAtMs) {
          return;
        }
        if (!open) {
          open();
        }
        watch.sample();
        checkSample();
        if (watch.restartNeeded()) {
          machine.close();
          open();
          watch.sample();
          checkSample();
        }
        awaitErrors();
        checkWatched();
      } catch (NvmlException e) {
        watch.closed("NVML is gone: " + e.getMessage());
        machine.close();
        open = false;
        retryAtMs = nowMs + RETRY_MS;
        assertThat(watch.gpus())
            .as("%s", this)
            .noneMatch(gpu -> gpu.health().healthy())
            .allMatch(gpu -> gpu.load() == null);
      }
    }

    private void open() {
      String driver = machine.driver;
      watch.open(machine);
      open = true;
      if (!driver.equals(lastDriver)) {
        needReset.clear();
        mayNeedReset.clear();
        eccSeen.clear();
      }
      lastDriver = driver;
    }

    private void noteAbsence() {
      readable.clear();
      for (Board board : boards) {
        if (board.migOn) {
          eccSeen.remove(board.uuid);
        } else if (board.state == State.FINE && board.processFailures == 0) {
          readable.add(board.uuid);
        }
        boolean silent = !machine.listed.contains(board) || !board.state.answers();
        silentTicks.put(board.uuid, silent ? silentTicks.getOrDefault(board.uuid, 0) + 1 : 0);
        if (silent) {
          // It must come back first, and nothing is known of it then.
          needReset.remove(board.uuid);
          eccSeen.remove(board.uuid);
        }
      }
    }

    private void awaitErrors() {
      try {
        for (int i = random.nextInt(1, 6); i > 0; i--) {
          machine.delivered.clear();
          watch.awaitError(0);
          machine.delivered.forEach(this::delivered);
        }
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    private void delivered(GpuEvent event) {
      if (event.index() == GpuEvent.ANY || OF_APPLICATIONS.contains(event.code())) {
        return;
      }
      faults++;
      Board board = machine.listed.get(event.index());
      if (NEED_RESET.contains(event.code()) && board.state.answers()) {
        needReset.add(board.uuid);
      }
      if (NEED_RESET.contains(event.code())) {
        mayNeedReset.add(board.uuid);
      }
      assertThat(find(board.uuid).health().healthy())
          .as("%s has XID %d: %s", board.uuid, event.code(), this)
          .isFalse();
    }

    private void checkSample() {
      for (int index = 0; index < machine.listed.size(); index++) {
        Board board = machine.listed.get(index);
        if (board.state.answers() && isKnown(board.uuid)) {
          everListed.add(board.uuid);
        }
      }
      for (Board board : boards) {
        if (everListed.contains(board.uuid)) {
          checkSample(board, find(board.uuid));
        }
      }
    }

    private void checkSample(Board board, GpuStatus gpu) {
      boolean lost = board.state == State.LOST || !machine.listed.contains(board);
      boolean silent = silentTicks.getOrDefault(board.uuid, 0) > GpuSampler.FAILED_SAMPLES_MAX;
      if (lost || silent || needReset.contains(board.uuid)) {
        assertThat(gpu.health().healthy())
            .as("%s is %s, needs a reset: %s; %s", board.uuid, board.state, needReset, this)
            .isFalse();
      }
      if (lost) {
        assertThat(gpu.load()).as("%s", this).isNull();
      }
      // Errors that came while its load could not be read are counted with the next reading.
      if (readable.contains(board.uuid) && gpu.load() != null) {
        Long before = eccSeen.put(board.uuid, board.eccErrors);
        if (before != null && before < board.eccErrors) {
          faults++;
          assertThat(gpu.health().healthy())
              .as("%s has ECC errors; %s", board.uuid, this)
              .isFalse();
        }
      }
    }

    /** A GPU whose errors would not be seen is named. */
    private void checkWatched() {
      for (Board board : machine.listed) {
        if (board.state.answers()
            && isKnown(board.uuid)
            && find(board.uuid).health().healthy()
            && !machine.subscribed.contains(board.uuid)) {
          assertThat(watch.state().unwatched()).as("%s", this).contains(board.uuid);
        }
      }
    }

    private void checkSettled() {
      Set<String> expected = new TreeSet<>();
      for (Board board : machine.listed) {
        expected.add(board.uuid);
        expected.addAll(board.migDevices);
        assertThat(find(board.uuid).info().index())
            .as("%s", this)
            .isEqualTo(machine.listed.indexOf(board));
        Health health = find(board.uuid).health();
        assertThat(health.answers()).as("%s is lost for good; %s", board.uuid, this).isTrue();
        if (!mayNeedReset.contains(board.uuid)) {
          assertThat(health.reason()).as("%s; %s", board.uuid, this).isEmpty();
        }
      }
      assertThat(watch.gpus())
          .as("%s", this)
          .extracting(gpu -> gpu.info().uuid())
          .containsExactlyInAnyOrderElementsOf(expected);
      assertThat(watch.state().unwatched()).as("%s", this).isEmpty();
      boolean allReadable = boards.stream().allMatch(board -> board.state == State.FINE);
      assertThat(watch.state().problems())
          .as("%s", this)
          .extracting(NodeProblem::reason)
          .isEqualTo(allReadable ? List.of() : List.of(NodeProblem.Reason.GPU_LOAD_UNREADABLE));
    }

    private boolean isKnown(String uuid) {
      return watch.gpus().stream().map(GpuStatus::info).map(GpuInfo::uuid).anyMatch(uuid::equals);
    }

    private GpuStatus find(String uuid) {
      return watch.gpus().stream()
          .filter(gpu -> gpu.info().uuid().equals(uuid))
          .findFirst()
          .orElseThrow(() -> new AssertionError(uuid + " is forgotten; " + this));
    }

    private void note(String what) {
      history.add((nowMs - 1_000_000) / 1_000 + " s: " + what);
    }

    @Override
    public String toString() {
      return "seed " + seed + "\n" + String.join("\n", history);
    }
  }
}
