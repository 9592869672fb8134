package dev.tranche.nodeplugin.config;

import java.util.List;

/**
 * IMEX channels that every GPU container gets.
 *
 * @param channelIds empty, or 0 alone
 * @param required a channel whose device node is missing is an error rather than left out
 */
public record ImexOptions(List<Integer> channelIds, boolean required) {
  public ImexOptions {
    channelIds = List.copyOf(channelIds);
  }
}
