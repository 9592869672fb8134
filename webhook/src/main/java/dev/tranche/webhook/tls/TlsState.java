package dev.tranche.webhook.tls;

import java.security.cert.X509Certificate;
import java.util.Optional;

/**
 * The TLS state of the cluster after a reconciliation.
 *
 * @param webhook the key pair that this process serves with
 * @param missing a sentence that says why the API server cannot verify it yet; empty once it can
 */
public record TlsState(
    X509Certificate authority,
    TlsKeyPair webhook,
    X509Certificate extender,
    Optional<String> missing) {}
