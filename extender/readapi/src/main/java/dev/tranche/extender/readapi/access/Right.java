package dev.tranche.extender.readapi.access;

/** What a caller has to be allowed to do, as a SubjectAccessReview asks for it. */
public sealed interface Right {
  /**
   * To use an HTTP method on a path that is no resource.
   *
   * @param verb HTTP method in lower case
   */
  record NonResource(String verb, String path) implements Right {}

  /**
   * To use a verb on all pods of a namespace.
   *
   * @param verb such as {@code get} and {@code list}
   */
  record Pods(String verb, String namespace) implements Right {}
}
