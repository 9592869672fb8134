package dev.tranche.extender.controller;

import io.fabric8.kubernetes.api.model.APIService;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemTrustOptions;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes into the APIService by which authorities the API server verifies our certificate. It looks
 * again from time to time, since the APIService may be created anew.
 */
public final class ApiServiceBundle {
  public static final long PERIOD_MS = 10_000;

  private static final String NAME = "v1.read.tranche.dev";
  private static final Logger LOG = LoggerFactory.getLogger(ApiServiceBundle.class);

  private final KubernetesClient client;
  private volatile @Nullable String bundle;
  private volatile boolean failed;

  /**
   * @param client must have a request timeout
   */
  public ApiServiceBundle(KubernetesClient client) {
    this.client = client;
  }

  /**
   * @param authorities that have signed the certificate in use
   */
  public void set(PemTrustOptions authorities) {
    String pem =
        authorities.getCertValues().stream().map(Object::toString).collect(Collectors.joining());
    bundle = Base64.getEncoder().encodeToString(pem.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Writes the authorities where they are missing; blocks.
   *
   * @return false if the API server could not be asked, or refused them
   */
  public boolean check() {
    String wanted = bundle;
    try {
      if (wanted != null) {
        write(wanted);
      }
      failed = false;
    } catch (RuntimeException e) {
      if (!failed) {
        String why = "the APIService {} does not get its caBundle; retrying every {} s";
        LOG.warn(why, NAME, PERIOD_MS / 1_000, e);
      }
      failed = true;
    }
    return !failed;
  }

  private void write(String wanted) {
    APIService service = client.apiServices().withName(NAME).get();
    if (service == null) {
      throw new IllegalStateException(
          "the APIService %s does not exist; helm upgrade creates it".formatted(NAME));
    }
    if (!wanted.equals(service.getSpec().getCaBundle())) {
      var add =
          new JsonObject().put("op", "add").put("path", "/spec/caBundle").put("value", wanted);
      String patch = new JsonArray().add(add).encode();
      client.apiServices().withName(NAME).patch(PatchContext.of(PatchType.JSON), patch);
      LOG.info("the APIService {} has the authorities of our certificate", NAME);
    }
  }
}
