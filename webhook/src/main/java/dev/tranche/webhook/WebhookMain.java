package dev.tranche.webhook;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts the webhook: reads flags and configuration, starts the parts, and stops them at shutdown.
 */
public final class WebhookMain {
  private static final String DUTY =
      "Converts fractions of GPUs to replicas at admission, and creates the certificates.";
  private static final int EXIT_FAILED = 1;
  private static final int START_S_MAX = 20;
  private static final Logger LOG = LoggerFactory.getLogger(WebhookMain.class);

  private WebhookMain() {}

  public static void main(String... arguments) {
    List<String> flags = List.of(arguments);
    if (Settings.isHelpRequested(flags)) {
      System.out.print(Settings.help(WebhookSetting.class, DUTY));
      return;
    }
    var errors = new ConfigErrors();
    Settings<WebhookSetting> settings =
        Settings.read(WebhookSetting.class, flags, System.getenv(), errors);
    var config = WebhookConfig.of(settings);
    errors.exitUnlessClean();
    LOG.info("configuration: {}", settings);
    run(config);
  }

  private static void run(WebhookConfig config) {
    var webhook = Webhook.of(config);
    Runtime.getRuntime().addShutdownHook(new Thread(webhook::stop, "stop"));
    try {
      webhook.watchLoops();
      webhook.start().await(START_S_MAX, TimeUnit.SECONDS);
    } catch (Exception e) {
      LOG.error("cannot start", e);
      System.exit(EXIT_FAILED);
    }
  }
}
