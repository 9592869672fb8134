package dev.tranche.extender;

import dev.tranche.extender.controller.Controller;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.meters.Failures;
import java.util.List;
import java.util.function.Consumer;

/**
 * All controllers, in the order in which they are told. A failure of one ends only its own work.
 */
record Controllers(List<Controller> all, Loop loop, Failures failures) {
  void tell(Consumer<Controller> what) {
    all.forEach(what);
  }

  void tick() {
    all.forEach(each -> failures.task(name(each), each::tick));
  }

  /** Each has a turn of its own. */
  void everyTenSeconds() {
    all.forEach(each -> loop.run(() -> failures.task(name(each), each::everyTenSeconds)));
  }

  private static String name(Controller controller) {
    return controller.getClass().getName();
  }
}
