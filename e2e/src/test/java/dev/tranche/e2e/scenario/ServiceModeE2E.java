package dev.tranche.e2e.scenario;

import dev.tranche.e2e.scenario.Scenario.InServiceMode;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.ResourceLock;

/** How pods are placed, with the cluster's own kube-scheduler. */
@Tag("slice2")
@ResourceLock(Scenario.CLUSTER)
@Order(300)
class ServiceModeE2E {
  @Nested
  class ServiceFractionE2E extends FractionE2E implements InServiceMode {}

  @Nested
  class ServiceFragmentationE2E extends FragmentationE2E implements InServiceMode {}

  @Nested
  @Tag("matrix")
  class ServiceBurstE2E extends BurstE2E implements InServiceMode {}

  @Nested
  @Tag("matrix")
  class ServiceLoadE2E extends LoadE2E implements InServiceMode {}

  @Nested
  class ServiceFailoverE2E extends FailoverE2E implements InServiceMode {}
}
