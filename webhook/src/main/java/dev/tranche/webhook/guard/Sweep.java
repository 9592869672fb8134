package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.guard.Found.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** What has been found in one pod so far, and the patch as it grows. */
final class Sweep {
  private static final int VALUE_CHARS_MAX = 48;

  private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}|\\p{Cf}");

  /** A pod has hundreds of containers at most, but each may be found in several ways. */
  private static final int FOUND_MAX = 64;

  private final GuardMode mode;
  private final ArrayNode patch = JsonNodeFactory.instance.arrayNode();
  private final List<Found> found = new ArrayList<>();

  Sweep(GuardMode mode) {
    this.mode = mode;
  }

  /** Whether containers that reach for nothing get the void. */
  boolean changes() {
    return mode != GuardMode.AUDIT;
  }

  /**
   * Tells of what a patch can close.
   *
   * @return whether to close it
   */
  boolean take(Finding finding, String what) {
    Outcome outcome =
        switch (mode) {
          case AUDIT -> Outcome.AUDITED;
          case VOID -> Outcome.VOIDED;
          case DENY -> Outcome.DENIED;
        };
    add(new Found(finding, what, outcome, false));
    return outcome == Outcome.VOIDED;
  }

  /** Tells of what no patch can close. */
  void tell(Finding finding, String what) {
    tell(finding, what, false);
  }

  /** Tells of what most pods do, for the record alone. */
  void tellQuietly(Finding finding, String what) {
    tell(finding, what, true);
  }

  private void tell(Finding finding, String what, boolean everyday) {
    Outcome outcome = mode == GuardMode.DENY ? Outcome.DENIED : Outcome.AUDITED;
    add(new Found(finding, what, outcome, everyday));
  }

  private void add(Found one) {
    if (found.size() < FOUND_MAX) {
      found.add(one);
    }
  }

  /** Also replaces what is there. */
  void put(JsonNode value, String... path) {
    operation("add", path).set("value", value);
  }

  void remove(String... path) {
    operation("remove", path);
  }

  Verdict verdict() {
    return found.stream().anyMatch(f -> f.outcome() == Outcome.DENIED)
        ? new Verdict.Denied(found)
        : new Verdict.Admitted(patch, found);
  }

  /** A user's text, short enough for a sentence. */
  static String cut(String value) {
    String shown =
        value.length() <= VALUE_CHARS_MAX ? value : value.substring(0, VALUE_CHARS_MAX) + "…";
    return CONTROL.matcher(shown).replaceAll("�");
  }

  private ObjectNode operation(String name, String... path) {
    var pointer = new StringBuilder();
    for (String segment : path) {
      pointer.append('/').append(segment.replace("~", "~0").replace("/", "~1"));
    }
    return patch.addObject().put("op", name).put("path", pointer.toString());
  }
}
