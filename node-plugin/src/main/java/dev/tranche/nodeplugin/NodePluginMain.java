package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.mps.MpsMain;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.security.Security;
import java.util.List;

/**
 * The main class of the node plugin, which drains before it stops. With {@code mps-control-daemon}
 * as its first argument, the process keeps the MPS control daemons instead.
 */
public final class NodePluginMain {
  private static final String DUTY =
      "Advertises replicas of shared GPUs to the kubelet and measures them.";

  private NodePluginMain() {}

  public static void main(String[] args) {
    List<String> flags = List.of(args);
    if (Settings.isHelpRequested(flags)) {
      System.out.print(Settings.help(Setting.class, DUTY));
      return;
    }
    // DNS answers are cached for one second only, since the extenders' addresses come and go.
    Security.setProperty("networkaddress.cache.ttl", "1");
    Security.setProperty("networkaddress.cache.negative.ttl", "1");
    ConfigErrors findings = new ConfigErrors();
    if (!flags.isEmpty() && flags.getFirst().equals(MpsMain.COMMAND)) {
      System.exit(MpsMain.run(flags.subList(1, flags.size()), findings));
    }
    Settings<Setting> settings = Settings.read(Setting.class, flags, System.getenv(), findings);
    Options options = Options.of(settings);
    findings.exitUnlessClean();
    NodeProcess process = new NodeProcess(settings, options, new ConfigSource(settings));
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(process::stop));
    System.exit(process.run());
  }
}
