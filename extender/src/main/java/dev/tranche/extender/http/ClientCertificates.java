package dev.tranche.extender.http;

import io.vertx.core.Handler;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.PemTrustOptions;
import java.security.cert.X509Certificate;
import java.util.function.Consumer;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.net.ssl.SSLPeerUnverifiedException;

/**
 * Who may ask the verbs: who has shown a client's certificate of that name by one of these
 * authorities. The name counts, since an authority of cert-manager's may sign for others, too.
 *
 * @param authorities PEM
 * @param shown is told, at each request that may pass, which certificate is shown: nobody here
 *     renews the copy that kube-scheduler has
 */
public record ClientCertificates(
    PemTrustOptions authorities, String name, Consumer<X509Certificate> shown) {
  private static final int FORBIDDEN = 403;

  /** Passes on the requests of those who may. */
  Handler<HttpServerRequest> admitting(Handler<HttpServerRequest> requests) {
    return request -> {
      if (named(request.connection())) {
        requests.handle(request);
      } else {
        request
            .response()
            .setStatusCode(FORBIDDEN)
            .end(
                "the certificate shown is not of CN=%s; kube-scheduler needs it\n".formatted(name));
      }
    };
  }

  private boolean named(HttpConnection connection) {
    try {
      if (connection.peerCertificates().getFirst() instanceof X509Certificate certificate
          && new LdapName(certificate.getSubjectX500Principal().getName())
              .getRdns().stream()
                  .anyMatch(
                      rdn -> rdn.getType().equalsIgnoreCase("CN") && name.equals(rdn.getValue()))) {
        shown.accept(certificate);
        return true;
      }
      return false;
    } catch (SSLPeerUnverifiedException | InvalidNameException unknown) {
      return false;
    }
  }
}
