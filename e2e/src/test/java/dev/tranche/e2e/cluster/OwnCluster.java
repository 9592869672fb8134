package dev.tranche.e2e.cluster;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * A test that starts clusters of its own. One such runs at a time: two of them would leave the
 * scenarios' shared cluster without a thread until they end.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ResourceLock("a cluster of a test's own")
public @interface OwnCluster {
  /** Lock of the scenarios, which share one cluster and therefore run one after the other. */
  String SCENARIOS = "the scenarios' cluster";
}
