package dev.tranche.extender;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.controller.Controller;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.extender.watch.WatchedPod;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.meters.Failures;
import java.util.List;

/** Tells each controller what happens. A failure of one ends only its own work. */
record Controllers(List<Controller> all, Loop loop, Failures failures) implements Controller {
  @Override
  public void reported(String node, NodeReport whole) {
    all.forEach(each -> each.reported(node, whole));
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    all.forEach(each -> each.nodeSeen(node));
  }

  @Override
  public void nodeGone(String node) {
    all.forEach(each -> each.nodeGone(node));
  }

  @Override
  public void podSeen(WatchedPod pod) {
    all.forEach(each -> each.podSeen(pod));
  }

  @Override
  public void podGone(String uid) {
    all.forEach(each -> each.podGone(uid));
  }

  @Override
  public void tick() {
    all.forEach(each -> failures.task(name(each), each::tick));
  }

  /** Each has a turn of its own. */
  @Override
  public void everyTenSeconds() {
    all.forEach(each -> loop.run(() -> failures.task(name(each), each::everyTenSeconds)));
  }

  private static String name(Controller controller) {
    return controller.getClass().getName();
  }
}
