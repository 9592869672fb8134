package dev.tranche.api;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A taint of a node. An absent field is empty. */
public record Taint(String key, String value, String effect) {
  /** The taint by which kube-scheduler represents {@code spec.unschedulable}. */
  public static final Taint UNSCHEDULABLE =
      new Taint("node.kubernetes.io/unschedulable", "", "NoSchedule");

  public Taint(@Nullable String key, @Nullable String value, @Nullable String effect) {
    this.key = text(key);
    this.value = text(value);
    this.effect = text(effect);
  }

  private static String text(@Nullable String field) {
    return field == null ? "" : field;
  }

  /** Whether kube-scheduler offers the node to no pod that does not tolerate the taint. */
  public boolean keepsAway() {
    return effect.equals("NoSchedule") || effect.equals("NoExecute");
  }

  /**
   * Whether a toleration with these fields tolerates the taint, as kube-scheduler decides it. An
   * operator that Tranche does not know may tolerate any value, so that no node is excluded without
   * cause.
   */
  public boolean toleratedBy(
      @Nullable String itsKey,
      @Nullable String operator,
      @Nullable String itsValue,
      @Nullable String itsEffect) {
    boolean anyKey = text(itsKey).isEmpty() && "Exists".equals(operator);
    boolean sameKey = anyKey || text(itsKey).equals(key);
    boolean sameEffect = text(itsEffect).isEmpty() || text(itsEffect).equals(effect);
    return sameKey && sameEffect && valueTolerated(text(operator), text(itsValue));
  }

  private boolean valueTolerated(String operator, String itsValue) {
    return switch (operator) {
      case "", "Equal" -> itsValue.equals(value);
      case "Gt", "Lt" ->
          LabelOperator.matches(operator, Set.of(), LabelOperator.number(itsValue), value);
      default -> true;
    };
  }
}
