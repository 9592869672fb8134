package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.CamelCase;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Whether a GPU takes pods, and if not why, as the API names it. */
public enum Health {
  HEALTHY,
  UNHEALTHY,
  CORDONED,
  DRAINING,
  SILENT;

  private final String text = CamelCase.of(this);

  static final Set<String> NAMES =
      Stream.of(values()).map(Health::toString).collect(Collectors.toUnmodifiableSet());

  static Health of(Inspection.Node node, Inspection.Gpu gpu) {
    return switch (node.availability()) {
      case SILENT, FAILED -> SILENT;
      case NOT_SERVING -> DRAINING;
      case AVAILABLE, NOT_ACKNOWLEDGING ->
          gpu.view().healthy() ? gpu.view().cordoned() ? CORDONED : HEALTHY : UNHEALTHY;
    };
  }

  @Override
  public String toString() {
    return text;
  }
}
