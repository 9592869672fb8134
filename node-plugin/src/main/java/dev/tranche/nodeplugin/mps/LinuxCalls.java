package dev.tranche.nodeplugin.mps;

import com.sun.jna.LastErrorException;
import com.sun.jna.Native;
import com.sun.jna.Pointer;

/** Calls of the C library that Java lacks. */
final class LinuxCalls {
  static final long MS_NOSUID = 2;
  static final long MS_NODEV = 4;
  static final long MS_NOEXEC = 8;
  static final long MS_RELATIME = 1 << 21;

  static {
    Native.register(LinuxCalls.class, "c");
  }

  private LinuxCalls() {}

  static native int mount(String source, String target, String type, long flags, String data)
      throws LastErrorException;

  static native int setxattr(String path, String name, byte[] value, long size, int flags)
      throws LastErrorException;

  /** Returns the text for an errno value; the C library owns it. */
  static native Pointer strerror(int error);

  static String text(LastErrorException e) {
    return strerror(e.getErrorCode()).getString(0);
  }
}
