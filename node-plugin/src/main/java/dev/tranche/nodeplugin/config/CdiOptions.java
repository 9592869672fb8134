package dev.tranche.nodeplugin.config;

import java.util.List;

/**
 * Options that apply when a CDI strategy is chosen.
 *
 * @param annotationPrefix of the container annotation's key, such as {@code cdi.k8s.io/}
 * @param hookPath on the host, of the program that runs CDI hooks
 * @param featureFlags for the generation of the CDI spec
 * @param disabledHooks left out of the CDI spec; {@code all}: every hook
 */
public record CdiOptions(
    String annotationPrefix,
    String hookPath,
    List<String> featureFlags,
    List<String> disabledHooks) {
  public CdiOptions {
    featureFlags = List.copyOf(featureFlags);
    disabledHooks = List.copyOf(disabledHooks);
  }

  /** Returns whether the CDI spec names this hook. */
  public boolean names(String hook) {
    return !disabledHooks.contains(hook) && !disabledHooks.contains("all");
  }
}
