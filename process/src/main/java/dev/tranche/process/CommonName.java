package dev.tranche.process;

import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import javax.naming.NamingException;
import javax.naming.directory.Attribute;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;

/** The common name (CN) of a certificate's subject. */
public final class CommonName {
  private CommonName() {}

  /** Returns the only common name. Of several, Kubernetes takes the last and others the first. */
  public static Optional<String> of(Certificate certificate) {
    if (!(certificate instanceof X509Certificate x509)) {
      return Optional.empty();
    }
    List<Object> names = new ArrayList<>();
    try {
      for (Rdn rdn : new LdapName(x509.getSubjectX500Principal().getName()).getRdns()) {
        Attribute named = rdn.toAttributes().get("CN");
        if (named != null) {
          names.addAll(Collections.list(named.getAll()));
        }
      }
    } catch (NamingException malformed) {
      return Optional.empty();
    }
    return names.size() == 1 && names.getFirst() instanceof String name
        ? Optional.of(name)
        : Optional.empty();
  }
}
