package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.process.client.SecretErrors;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes the certificates in the cluster. Updates carry the version that was read. Of two
 * concurrent replicas, one therefore gets a conflict (409).
 */
record TlsStore(KubernetesClient client, TlsConfig config) {
  static final String BUNDLE_KEY = "ca.crt";

  /** A Secret as it was read, if there is one. */
  record StoredSecret(String name, @Nullable Secret secret) {
    private Map<String, String> data() {
      return secret == null || secret.getData() == null ? Map.of() : secret.getData();
    }

    /** Whether the Secret has no data, as the chart creates it, or does not exist. */
    boolean isEmpty() {
      return data().isEmpty();
    }

    String text(String key) {
      return new String(Base64.getDecoder().decode(data().getOrDefault(key, "")), UTF_8);
    }

    Optional<TlsKeyPair> pair() {
      return pair("tls.crt", "tls.key");
    }

    /** Returns the CA, and those before it that are still trusted. */
    Optional<TlsKeyPair> authority() {
      return pair(BUNDLE_KEY, "ca.key");
    }

    /** Returns the key pair; empty if the Secret contains none that can be read. */
    private Optional<TlsKeyPair> pair(String certificateKey, String privateKey) {
      try {
        List<X509Certificate> chain = Certificates.parse(text(certificateKey));
        return chain.isEmpty()
            ? Optional.empty()
            : Optional.of(new TlsKeyPair(chain, Certificates.parseKey(text(privateKey))));
      } catch (GeneralSecurityException | IllegalArgumentException unreadable) {
        return Optional.empty();
      }
    }
  }

  StoredSecret read(String name) {
    return new StoredSecret(
        name, client.secrets().inNamespace(config.namespace()).withName(name).get());
  }

  void writeAuthority(StoredSecret before, TlsKeyPair authority) {
    write(before, Map.of(BUNDLE_KEY, authority.certificatePem(), "ca.key", authority.keyPem()));
  }

  void write(StoredSecret before, TlsKeyPair pair, String bundle) {
    write(
        before,
        Map.of("tls.crt", pair.certificatePem(), "tls.key", pair.keyPem(), BUNDLE_KEY, bundle));
  }

  private void write(StoredSecret before, Map<String, String> texts) {
    if (before.secret() == null) {
      throw new IllegalStateException(
          SecretErrors.missing(
              config.namespace(),
              before.name(),
              "the webhook may not create Secrets, so run helm upgrade, or kubectl apply of the"
                  + " chart's manifests, which create it empty"));
    }
    var data = new HashMap<String, String>();
    texts.forEach((key, text) -> data.put(key, base64(text)));
    Secret changed = new SecretBuilder(before.secret()).withData(data).build();
    client.secrets().inNamespace(config.namespace()).resource(changed).update();
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(UTF_8));
  }

  /** Returns the certificates of the ConfigMap; empty if there are none that can be read. */
  List<X509Certificate> bundle() {
    ConfigMap map = bundleConfigMap().get();
    return map == null || map.getData() == null
        ? List.of()
        : Certificates.parse(map.getData().getOrDefault(BUNDLE_KEY, ""));
  }

  void writeBundle(String bundle) {
    ConfigMap before = bundleConfigMap().get();
    Map<String, String> data = Map.of(BUNDLE_KEY, bundle);
    var maps = client.configMaps().inNamespace(config.namespace());
    if (before == null) {
      maps.resource(
              new ConfigMapBuilder()
                  .withNewMetadata()
                  .withName(config.bundleConfigMap())
                  .addToLabels("app.kubernetes.io/managed-by", "tranche-webhook")
                  .endMetadata()
                  .withData(data)
                  .build())
          .create();
    } else if (!data.equals(before.getData())) {
      maps.resource(new ConfigMapBuilder(before).withData(data).build()).update();
    }
  }

  private Resource<ConfigMap> bundleConfigMap() {
    return client.configMaps().inNamespace(config.namespace()).withName(config.bundleConfigMap());
  }

  /**
   * Patches the bundle into each entry of the configuration, and nothing else.
   *
   * @return whether there is a configuration
   */
  boolean patchConfiguration(String bundle) {
    if (configuration().get() == null) {
      return false;
    }
    configuration()
        .edit(
            configuration -> {
              configuration
                  .getWebhooks()
                  .forEach(entry -> entry.getClientConfig().setCaBundle(base64(bundle)));
              return configuration;
            });
    return true;
  }

  /** Whether every entry of the configuration has a caBundle. */
  boolean hasBundles() {
    MutatingWebhookConfiguration configuration = configuration().get();
    return configuration != null
        && configuration.getWebhooks().stream()
            .allMatch(w -> w.getClientConfig().getCaBundle() != null);
  }

  /** Returns the MutatingWebhookConfiguration, which has the installation's name. */
  Resource<MutatingWebhookConfiguration> configuration() {
    return client
        .admissionRegistration()
        .v1()
        .mutatingWebhookConfigurations()
        .withName(config.name());
  }
}
