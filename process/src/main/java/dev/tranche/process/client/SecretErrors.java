package dev.tranche.process.client;

/** What is wrong with a Secret, in the words of all processes. */
public final class SecretErrors {
  private SecretErrors() {}

  /**
   * @param remedy what to do, or who does it
   */
  public static String missing(String namespace, String name, String remedy) {
    return "Secret %s/%s does not exist; %s".formatted(namespace, name, remedy);
  }

  /**
   * @param content what the Secret should have
   * @param remedy what to do, or who does it
   */
  public static String without(String namespace, String name, String content, String remedy) {
    return "Secret %s/%s has no %s; %s".formatted(namespace, name, content, remedy);
  }
}
