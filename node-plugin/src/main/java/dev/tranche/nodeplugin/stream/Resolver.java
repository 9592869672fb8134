package dev.tranche.nodeplugin.stream;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/** All addresses behind a name. Blocks. */
@FunctionalInterface
public interface Resolver {
  List<InetAddress> resolve(String host) throws UnknownHostException;

  static Resolver system() {
    return host -> List.of(InetAddress.getAllByName(host));
  }
}
