package dev.tranche.nodeplugin;

import io.vertx.core.net.PfxOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

/** A self-signed certificate for a name. The JDK's keytool makes one for each name and process. */
record TestCertificate(Path keyStore, Path caFile) {
  private static final String PASSWORD = "changeit";

  private static final Map<String, byte[]> STORES = new HashMap<>();

  static TestCertificate forName(String name, Path folder) throws Exception {
    Path store = Files.write(folder.resolve(name + ".p12"), stored(name));
    KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    byte[] der = keys.getCertificate("it").getEncoded();
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    Path ca = folder.resolve(name + ".crt");
    Files.writeString(ca, "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n");
    return new TestCertificate(store, ca);
  }

  private static synchronized byte[] stored(String name) throws Exception {
    byte[] made = STORES.get(name);
    if (made == null) {
      made = make(name);
      STORES.put(name, made);
    }
    return made;
  }

  private static byte[] make(String name) throws Exception {
    Path folder = Files.createTempDirectory("certificate");
    Path store = folder.resolve("store.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "it",
                "-keyalg",
                "EC",
                "-dname",
                "CN=" + name,
                "-ext",
                "san=dns:" + name,
                "-ext",
                "bc:c",
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD)
            .inheritIO()
            .start();
    if (keytool.waitFor() != 0) {
      throw new IOException("keytool failed");
    }
    byte[] made = Files.readAllBytes(store);
    Files.delete(store);
    Files.delete(folder);
    return made;
  }

  PfxOptions options() {
    return new PfxOptions().setPath(keyStore.toString()).setPassword(PASSWORD);
  }
}
