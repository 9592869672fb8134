package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.tranche.process.client.SecretErrors;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhook;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.net.HttpURLConnection;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes the certificates in the cluster. Updates carry the version that was read, and a
 * create fails if the object exists. Of two concurrent replicas, one therefore gets a conflict
 * (409).
 */
final class TlsStore {
  static final String BUNDLE_KEY = "ca.crt";

  private static final String PUBLISHED = "next.published";
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
  record StoredSecret(@Nullable Secret secret) {
    /** Whether the Secret has no data, as the chart creates it, or does not exist. */
    boolean isEmpty() {
      return secret == null || secret.getData() == null || secret.getData().isEmpty();
    }

    String text(String key) {
      Map<String, String> data = secret == null ? null : secret.getData();
      String encoded = data == null ? null : data.get(key);
      return encoded == null ? "" : new String(Base64.getDecoder().decode(encoded), UTF_8);
    }

    Optional<Instant> instant(String key) {
      try {
        return Optional.of(Instant.parse(text(key)));
      } catch (DateTimeParseException unknown) {
        return Optional.empty();
      }
    }

    List<X509Certificate> certificates(String key) {
      return Pem.readable(text(key));
    }

    /** Returns the key pair; empty if the Secret contains none that can be read. */
    Optional<TlsKeyPair> pair(String certificateKey, String privateKey) {
      try {
        var certificates = Pem.certificates(text(certificateKey));
        return certificates.isEmpty()
            ? Optional.empty()
            : Optional.of(
                new TlsKeyPair(
                    certificates.getFirst(),
                    certificates.subList(1, certificates.size()),
                    Pem.key(text(privateKey))));
      } catch (GeneralSecurityException | IllegalArgumentException unreadable) {
        return Optional.empty();
      }
    }
  }

  StoredSecret authoritySecret() {
    return read(names.authoritySecret());
  }

  StoredSecret read(String name) {
    return new StoredSecret(client.secrets().inNamespace(names.namespace()).withName(name).get());
  }

  /** Returns the authorities; empty if the Secret contains none that can be read. */
  Optional<CertificateAuthorities> authorities(StoredSecret secret) {
    return secret
        .pair(BUNDLE_KEY, "ca.key")
        .map(
            signing ->
                new CertificateAuthorities(
                    signing,
                    secret
                        .pair("next.crt", "next.key")
                        .filter(Renewal::keyMatches)
                        .map(
                            next ->
                                new CertificateAuthorities.Successor(
                                    next, secret.instant(PUBLISHED))),
                    secret.certificates("former.crt").stream().findFirst()));
  }

  /**
   * @return the Secret as it is now
   */
  StoredSecret writeAuthorities(StoredSecret before, CertificateAuthorities authorities) {
    var texts = new HashMap<String, String>();
    texts.put(BUNDLE_KEY, authorities.signing().certificatePem());
    texts.put("ca.key", authorities.signing().keyPem());
    authorities
        .successor()
        .ifPresent(
            next -> {
              texts.put("next.crt", next.pair().certificatePem());
              texts.put("next.key", next.pair().keyPem());
              next.published().ifPresent(since -> texts.put(PUBLISHED, since.toString()));
            });
    authorities.former().ifPresent(former -> texts.put("former.crt", Pem.certificate(former)));
    return write(names.authoritySecret(), TYPE_OPAQUE, before, texts);
  }

  void writePair(String name, StoredSecret before, TlsKeyPair pair, String bundle) {
    write(
        name,
        TYPE_TLS,
        before,
        Map.of("tls.crt", pair.certificatePem(), "tls.key", pair.keyPem(), BUNDLE_KEY, bundle));
  }

  private StoredSecret write(
      String name, String type, StoredSecret before, Map<String, String> texts) {
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
      return new StoredSecret(create(fresh));
    }
    return new StoredSecret(
        secrets.resource(new SecretBuilder(before.secret()).withData(data).build()).update());
  }

  /**
   * Creates a Secret if RBAC permits it. Normally the chart creates them, and our ServiceAccount
   * may not.
   */
  private Secret create(Secret fresh) {
    try {
      return client.secrets().resource(fresh).create();
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_FORBIDDEN) {
        throw e;
      }
      String name = fresh.getMetadata().getName();
      throw new IllegalStateException(
          SecretErrors.missing(
              names.namespace(),
              name,
              "the webhook may not create Secrets, so run helm upgrade, or kubectl apply of the chart's manifests, which create it empty"),
          e);
    }
  }

  /** Returns the certificates of the ConfigMap; empty if there are none that can be read. */
  List<X509Certificate> bundle() {
    ConfigMap map =
        client.configMaps().inNamespace(names.namespace()).withName(names.bundleConfigMap()).get();
    return map == null || map.getData() == null
        ? List.of()
        : Pem.readable(map.getData().getOrDefault(BUNDLE_KEY, ""));
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
    MutatingWebhookConfiguration configuration = configuration().get();
    if (configuration == null) {
      return false;
    }
    String encoded = Base64.getEncoder().encodeToString(bundle.getBytes(UTF_8));
    ArrayNode patch = caBundles(configuration.getWebhooks(), encoded);
    if (!patch.isEmpty()) {
      configuration().patch(PatchContext.of(PatchType.JSON), patch.toString());
    }
    return true;
  }

  /** Whether every entry of the configuration has a caBundle. */
  boolean hasBundles() {
    MutatingWebhookConfiguration configuration = configuration().get();
    return configuration != null
        && configuration.getWebhooks().stream()
            .allMatch(w -> w.getClientConfig().getCaBundle() != null);
  }

  private Resource<MutatingWebhookConfiguration> configuration() {
    return client
        .admissionRegistration()
        .v1()
        .mutatingWebhookConfigurations()
        .withName(names.configuration());
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
