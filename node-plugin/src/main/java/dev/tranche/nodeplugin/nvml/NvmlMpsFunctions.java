package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;

/** What drivers tell of the clients of MPS servers; some lack it. */
final class NvmlMpsFunctions {
  private NvmlMpsFunctions() {}

  static native int nvmlDeviceGetMPSComputeRunningProcesses_v3(
      long device, Pointer count, Pointer infos);

  /** Whether this driver has them. */
  static boolean bind(NativeLibrary library) {
    try {
      Native.register(NvmlMpsFunctions.class, library);
      return true;
    } catch (UnsatisfiedLinkError olderDriver) {
      return false;
    }
  }
}
