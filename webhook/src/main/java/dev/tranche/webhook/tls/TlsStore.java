package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhook;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The certificates' places in the cluster. Writes carry the version that was read, and a create may
 * meet another's, so of two replicas one wins and the other gets a conflict (409).
 */
final class TlsStore {
  static final String BUNDLE_KEY = "ca.crt";

  private static final String TYPE_OPAQUE = "Opaque";
  private static final String TYPE_TLS = "kubernetes.io/tls";
  private static final Map<String, String> LABELS =
      Map.of("app.kubernetes.io/managed-by", "tranche-webhook");

  private final KubernetesClient client;
  private final TlsNames names;

  TlsStore(KubernetesClient client, TlsNames names) {
    this.client = client;
    this.names = names;
  }

  /** A Secret as it was read, if there is one. */
  record Held(@Nullable Secret secret) {
    boolean exists() {
      return secret != null;
    }

    String text(String key) {
      Map<String, String> data = secret == null ? null : secret.getData();
      String encoded = data == null ? null : data.get(key);
      return encoded == null ? "" : new String(Base64.getDecoder().decode(encoded), UTF_8);
    }

    /** The pair in it, or nothing where it holds none that can be read. */
    Optional<Pair> pair(String certificateKey, String privateKey) {
      try {
        var certificates = Pem.certificates(text(certificateKey));
        return certificates.isEmpty()
            ? Optional.empty()
            : Optional.of(new Pair(certificates.getFirst(), Pem.key(text(privateKey))));
      } catch (GeneralSecurityException | IllegalArgumentException unreadable) {
        return Optional.empty();
      }
    }
  }

  Held authority() {
    return held(names.authoritySecret());
  }

  Held held(String name) {
    return new Held(client.secrets().inNamespace(names.namespace()).withName(name).get());
  }

  void writeAuthority(Held before, Pair authority) {
    write(
        names.authoritySecret(),
        TYPE_OPAQUE,
        before,
        Map.of(BUNDLE_KEY, authority.certificatePem(), "ca.key", authority.keyPem()));
  }

  void writeServing(String name, Held before, Pair serving, String bundle) {
    write(
        name,
        TYPE_TLS,
        before,
        Map.of(
            "tls.crt", serving.certificatePem(), "tls.key", serving.keyPem(), BUNDLE_KEY, bundle));
  }

  private void write(String name, String type, Held before, Map<String, String> texts) {
    var data = new HashMap<String, String>();
    texts.forEach(
        (key, text) -> data.put(key, Base64.getEncoder().encodeToString(text.getBytes(UTF_8))));
    var secrets = client.secrets().inNamespace(names.namespace());
    if (before.secret() == null) {
      Secret fresh =
          new SecretBuilder()
              .withNewMetadata()
              .withName(name)
              .withNamespace(names.namespace())
              .withLabels(LABELS)
              .endMetadata()
              .withType(type)
              .withData(data)
              .build();
      secrets.resource(fresh).create();
    } else {
      secrets.resource(new SecretBuilder(before.secret()).withData(data).build()).update();
    }
  }

  void writeBundle(String bundle) {
    var maps = client.configMaps().inNamespace(names.namespace());
    ConfigMap before = maps.withName(names.bundleConfigMap()).get();
    Map<String, String> data = Map.of(BUNDLE_KEY, bundle);
    if (before == null) {
      maps.resource(
              new ConfigMapBuilder()
                  .withNewMetadata()
                  .withName(names.bundleConfigMap())
                  .withNamespace(names.namespace())
                  .withLabels(LABELS)
                  .endMetadata()
                  .withData(data)
                  .build())
          .create();
    } else if (!data.equals(before.getData())) {
      maps.resource(new ConfigMapBuilder(before).withData(data).build()).update();
    }
  }

  /**
   * Puts the bundle into each entry of the configuration, and touches nothing else there.
   *
   * @return whether there is a configuration
   */
  boolean patchConfiguration(String bundle) {
    Resource<MutatingWebhookConfiguration> resource =
        client
            .admissionRegistration()
            .v1()
            .mutatingWebhookConfigurations()
            .withName(names.configuration());
    MutatingWebhookConfiguration configuration = resource.get();
    if (configuration == null) {
      return false;
    }
    String encoded = Base64.getEncoder().encodeToString(bundle.getBytes(UTF_8));
    ArrayNode patch = caBundles(configuration.getWebhooks(), encoded);
    if (!patch.isEmpty()) {
      resource.patch(PatchContext.of(PatchType.JSON), patch.toString());
    }
    return true;
  }

  private static ArrayNode caBundles(List<MutatingWebhook> webhooks, String encoded) {
    ArrayNode patch = JsonNodeFactory.instance.arrayNode();
    for (int i = 0; i < webhooks.size(); i++) {
      MutatingWebhook webhook = webhooks.get(i);
      if (!encoded.equals(webhook.getClientConfig().getCaBundle())) {
        String entry = "/webhooks/" + i;
        // The entries may have moved since they were read.
        patch
            .addObject()
            .put("op", "test")
            .put("path", entry + "/name")
            .put("value", webhook.getName());
        patch
            .addObject()
            .put("op", "add")
            .put("path", entry + "/clientConfig/caBundle")
            .put("value", encoded);
      }
    }
    return patch;
  }
}
