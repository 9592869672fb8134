package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.config.ConfigErrors;
import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.config.Settings;
import dev.tranche.nodeplugin.config.WatchOptions;
import dev.tranche.nodeplugin.mps.MpsMain;
import java.security.Security;
import java.util.Arrays;
import java.util.List;

/**
 * The main class of the node plugin, which drains before it stops. With {@code mps-control-daemon}
 * as its first argument, the process keeps the MPS control daemons instead.
 */
public final class NodePluginMain {
  private NodePluginMain() {}

  public static void main(String[] args) {
    if (Arrays.asList(args).contains("--help")) {
      System.out.print(Settings.help());
      return;
    }
    processProperties();
    ConfigErrors findings = new ConfigErrors();
    if (args.length > 0 && args[0].equals(MpsMain.COMMAND)) {
      System.exit(MpsMain.run(List.of(args).subList(1, args.length), findings));
    }
    Settings settings = Settings.read(List.of(args), System.getenv(), findings);
    Options options = Options.of(settings, findings);
    WatchOptions watch = WatchOptions.of(settings, findings);
    if (!findings.clean()) {
      findings.errors().forEach(System.err::println);
      System.exit(2);
    }
    NodeProcess process = new NodeProcess(settings, options, watch, new ConfigSource(settings));
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(process::stop));
    System.exit(process.run());
  }

  // DNS answers are cached for one second only, since the extenders' addresses come and go.
  private static void processProperties() {
    Security.setProperty("networkaddress.cache.ttl", "1");
    Security.setProperty("networkaddress.cache.negative.ttl", "1");
  }
}
