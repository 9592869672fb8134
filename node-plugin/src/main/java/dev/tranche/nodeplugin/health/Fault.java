package dev.tranche.nodeplugin.health;

import java.util.Map;

/**
 * An error of a GPU that keeps new pods away.
 *
 * @param sentence for people: what it was, and what ends it
 * @param resetNeeded whether the GPU is unusable until it is reset
 */
public record Fault(String sentence, boolean resetNeeded) {
  // https://docs.nvidia.com/deploy/xid-errors: those whose cure is a reset of the GPU or the node.
  private static final Map<Long, String> NEED_RESET =
      Map.ofEntries(
          Map.entry(46L, "GPU stopped processing"), // its engines hang until a reset
          Map.entry(48L, "double bit ECC error"), // the page is retired by a reset only
          Map.entry(62L, "internal microcontroller halt"), // its firmware has stopped
          Map.entry(64L, "row or page could not be retired"), // bad memory stays in use
          Map.entry(74L, "NVLink error"), // the link is trained again by a reset
          Map.entry(79L, "GPU has fallen off the bus"), // PCIe no longer reaches it
          Map.entry(95L, "uncontained ECC error"), // other processes' memory may be hit
          Map.entry(119L, "GSP RPC timeout"), // the driver's half on the GPU is stuck
          Map.entry(120L, "GSP error"), // likewise
          Map.entry(140L, "unrecovered ECC error"), // as 95, outside of the frame buffer
          Map.entry(143L, "GPU initialization failure")); // it did not start completely

  private static final String RESET =
      "; the GPU takes no pods until it is reset (nvidia-smi -r, or a reboot) and returns, or the"
          + " node plugin restarts";

  /** An XID that the driver reported. */
  public static Fault ofXid(long xid) {
    String meaning = NEED_RESET.get(xid);
    return meaning == null
        ? new Fault("the driver reported XID " + xid + "; see dmesg", false)
        : new Fault("the driver reported XID " + xid + " (" + meaning + ")" + RESET, true);
  }

  /** More uncorrectable memory errors than before; the driver contains what it can. */
  public static Fault ofMemory(long errors) {
    return new Fault(
        errors
            + " uncorrectable memory errors since the driver was loaded; see nvidia-smi -q -d ECC",
        false);
  }
}
