package dev.tranche.simulate.script;

import java.util.Locale;

/**
 * What happens on a stage; each kind of stage has an enum of them.
 *
 * @param <S> the stage
 */
public interface Script<S> {
  /** The constant's name in its enum. */
  String name();

  void play(S stage);

  /** Returns the heading of its recording. */
  default String title() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
