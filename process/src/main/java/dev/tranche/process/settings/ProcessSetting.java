package dev.tranche.process.settings;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * A setting of a process, a constant of an enum that has all of them. A flag overrides the
 * environment, which overrides the config file.
 */
public interface ProcessSetting {
  /** The constant's name, from which that of the flag follows. */
  String name();

  /** The environment variable. */
  String variable();

  /** The value of a setting that is set nowhere. */
  String fallback();

  String meaning();

  default String flag() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** The key in the config file; empty if the file cannot have it. */
  default String fileKey() {
    return "";
  }

  /** Other names of the flag, without dashes, in alphabetical order. */
  default List<String> flagAliases() {
    return List.of();
  }

  /** Variables that count if {@link #variable} is not set, in alphabetical order. */
  default List<String> variableAliases() {
    return List.of();
  }

  /** Whether its flag may be repeated. */
  default boolean isList() {
    return false;
  }

  /** Whether an empty variable is a value. Others count as not set: manifests leave them behind. */
  default boolean isEmptyAllowed() {
    return false;
  }

  /** Whether it is true or false. */
  default boolean isSwitch() {
    return fallback().equals("true") || fallback().equals("false");
  }

  /** Returns the other names of its flag, then of its variable. */
  default List<String> aliases() {
    return Stream.concat(
            flagAliases().stream().map(flag -> "--" + flag), variableAliases().stream())
        .toList();
  }

  /** How a message names it: all the places that its value may have come from. */
  default String describe() {
    String inFile = fileKey().isEmpty() ? "" : ", " + fileKey();
    return "--" + flag() + " (" + variable() + inFile + ")";
  }
}
