package dev.tranche.webhook;

import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;

/**
 * Starts the webhook: reads flags and configuration, starts the parts, and stops them at shutdown.
 */
public final class WebhookMain {
  private static final int EXIT_USAGE = 2;
  private static final int EXIT_FAILED = 1;
  private static final int START_S_MAX = 20;
  private static final Logger LOG = LoggerFactory.getLogger(WebhookMain.class);

  private WebhookMain() {}

  public static void main(String... arguments) {
    var flags = new WebhookFlags();
    var commandLine = new CommandLine(flags);
    try {
      commandLine.parseArgs(arguments);
    } catch (CommandLine.ParameterException e) {
      exit(EXIT_USAGE, String.valueOf(e.getMessage()));
    }
    if (commandLine.isUsageHelpRequested()) {
      commandLine.usage(System.out);
      return;
    }
    switch (WebhookConfig.read(flags)) {
      case WebhookConfig.Read.Invalid(var errors) ->
          exit(EXIT_USAGE, String.join(System.lineSeparator(), errors));
      case WebhookConfig.Read.Valid(WebhookConfig config) -> {
        LOG.info("configuration: {}", shown(commandLine));
        run(config);
      }
    }
  }

  /** Returns all options as flags, including those set by environment variables and defaults. */
  private static String shown(CommandLine line) {
    return line.getCommandSpec().options().stream()
        .filter(option -> !option.usageHelp() && !option.versionHelp())
        .map(option -> option.longestName() + "=" + option.getValue())
        .collect(Collectors.joining(" "));
  }

  private static void run(WebhookConfig config) {
    var webhook = Webhook.of(config);
    Runtime.getRuntime().addShutdownHook(new Thread(webhook::stop, "stop"));
    try {
      webhook.start().await(START_S_MAX, TimeUnit.SECONDS);
    } catch (Exception e) {
      LOG.error("cannot start", e);
      System.exit(EXIT_FAILED);
    }
  }

  private static void exit(int status, String message) {
    System.err.println(message);
    System.exit(status);
  }
}
