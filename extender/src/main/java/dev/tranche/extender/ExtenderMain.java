package dev.tranche.extender;

import dev.tranche.extender.controller.Cleanup;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the configuration and starts the extender. With {@code cleanup} as the first argument,
 * removes what an installation has written instead.
 */
public final class ExtenderMain {
  private static final String DUTY =
      "Decides which GPU a pod gets. kube-scheduler calls it, and the node plugins report to it.";
  private static final int USAGE = 2;
  private static final int FAILED = 1;
  private static final String CLEANUP = "cleanup";

  /** Longer than a pod's termination may take. */
  private static final int CLEANUP_CHECKS_MAX = 60;

  private static final Logger LOG = LoggerFactory.getLogger(ExtenderMain.class);

  private ExtenderMain() {}

  public static void main(String[] args) throws InterruptedException {
    List<String> flags = List.of(args);
    if (Settings.isHelpRequested(flags)) {
      System.out.print(Settings.help(ExtenderSetting.class, DUTY));
      return;
    }
    boolean cleanup = !flags.isEmpty() && flags.getFirst().equals(CLEANUP);
    var errors = new ConfigErrors();
    Settings<ExtenderSetting> settings =
        Settings.read(
            ExtenderSetting.class,
            cleanup ? flags.subList(1, flags.size()) : flags,
            System.getenv(),
            errors);
    if (cleanup) {
      errors.exitUnlessClean();
      cleanUp(settings.text(ExtenderSetting.NAME), settings.text(ExtenderSetting.NAMESPACE));
      return;
    }
    var config = ExtenderConfig.of(settings);
    errors.exitUnlessClean();
    LOG.info("configuration: {}", settings);
    run(config);
  }

  private static void cleanUp(String name, String namespace) throws InterruptedException {
    if (name.isEmpty() || namespace.isEmpty()) {
      LOG.error("cleanup needs --name and --namespace (or POD_NAMESPACE) of the installation");
      System.exit(USAGE);
    }
    try (var client = openClient()) {
      int nodes = new Cleanup(client, name, namespace).run(CLEANUP_CHECKS_MAX);
      LOG.info("removed everything of {}; cleaned {} nodes", name, nodes);
    } catch (IllegalStateException | KubernetesClientException e) {
      LOG.error("{} is not cleaned up; by hand: {}", name, Cleanup.BY_HAND, e);
      System.exit(FAILED);
    }
  }

  private static void run(ExtenderConfig config) {
    KubernetesClient client = openClient();
    var extender = new Extender(config, client);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  extender.close();
                  client.close();
                },
                "stop"));
    try {
      extender.watchLoops();
      extender
          .start()
          .onSuccess(
              started -> LOG.info("verbs on {}, metrics on {}", config.verbs(), config.metrics()))
          .onFailure(ExtenderMain::failed);
    } catch (RuntimeException | Error why) {
      // Vert.x's threads would keep a process that serves nothing.
      failed(why);
    }
  }

  private static void failed(Throwable why) {
    LOG.error("cannot start", why);
    Runtime.getRuntime().halt(FAILED);
  }

  static KubernetesClient openClient() {
    return ApiClient.open(
        ApiClient.serialization(
            List.of(Node.class, Pod.class, PodDisruptionBudget.class, Secret.class, Status.class)));
  }
}
