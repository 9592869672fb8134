package dev.tranche.extender.http;

import static java.net.HttpURLConnection.HTTP_FORBIDDEN;

import dev.tranche.process.CommonName;
import io.vertx.core.Handler;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.PemTrustOptions;
import java.security.cert.X509Certificate;
import java.util.function.Consumer;
import javax.net.ssl.SSLPeerUnverifiedException;

/**
 * Admits to the verbs only clients that present a certificate with this common name, signed by one
 * of these certificate authorities. The name is checked since a cert-manager authority may sign for
 * others too.
 *
 * @param authorities PEM
 * @param name the common name (CN)
 * @param onAdmitted called with the presented certificate at each admitted request, since nothing
 *     here renews the copy that kube-scheduler has
 */
public record ClientCertificates(
    PemTrustOptions authorities, String name, Consumer<X509Certificate> onAdmitted) {
  /** Passes on the requests of admitted clients and answers the others with 403. */
  Handler<HttpServerRequest> admitting(Handler<HttpServerRequest> requests) {
    return request -> {
      if (isAdmitted(request.connection())) {
        requests.handle(request);
      } else {
        request
            .response()
            .setStatusCode(HTTP_FORBIDDEN)
            .end(
                "the client certificate is not of CN=%s; kube-scheduler has to present that one\n"
                    .formatted(name));
      }
    };
  }

  private boolean isAdmitted(HttpConnection connection) {
    try {
      if (connection.peerCertificates().getFirst() instanceof X509Certificate certificate
          && CommonName.of(certificate).filter(name::equals).isPresent()) {
        onAdmitted.accept(certificate);
        return true;
      }
      return false;
    } catch (SSLPeerUnverifiedException unknown) {
      return false;
    }
  }
}
