package dev.tranche.nodeplugin.kubelet;

import java.nio.file.Path;

/** Hears how we stand with the kubelet. Called on the event loop. */
public interface RegistrationListener {
  /** The kubelet has accepted us, or left us. */
  void registrationChanged();

  /** Another plugin serves our resource; told once until it is gone. */
  void occupied(String sentence);

  /** Nothing can be put into the kubelet's folder any more: only another mount of it would help. */
  void folderRemoved(Path folder);
}
