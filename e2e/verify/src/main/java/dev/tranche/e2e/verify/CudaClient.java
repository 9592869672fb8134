package dev.tranche.e2e.verify;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.UUID;

/**
 * A small CUDA program in a process of its own. It prints one line for each answer of the driver,
 * and ends with status 1 at the first function that fails. Source of the numbers: {@code cuda.h}.
 */
final class CudaClient {
  private static final int MULTIPROCESSOR_COUNT = 16;
  private static final int UUID_BYTES = 16;
  private static final int MIB = 1 << 20;

  private final NativeLibrary library;
  private final Memory out = new Memory(2L * Long.BYTES);

  private CudaClient(NativeLibrary library) {
    this.library = library;
  }

  /** Arguments: libcuda.so.1, or its path; then sizes in MiB, each allocated by itself. */
  public static void main(String[] args) {
    System.exit(new CudaClient(NativeLibrary.getInstance(args[0])).run(args));
  }

  private int run(String[] args) {
    if (failed("cuInit", 0) || failed("cuDeviceGet", out, 0)) {
      return 1;
    }
    int device = out.getInt(0);
    if (failed("cuDeviceGetUuid_v2", out, device)) {
      return 1;
    }
    ByteBuffer uuid = out.getByteBuffer(0, UUID_BYTES).order(ByteOrder.BIG_ENDIAN);
    System.out.println("uuid GPU-" + new UUID(uuid.getLong(), uuid.getLong()));
    if (failed("cuDevicePrimaryCtxRetain", out, device)) {
      return 1;
    }
    Pointer context = out.getPointer(0);
    if (failed("cuCtxSetCurrent", context)
        || failed("cuDeviceGetAttribute", out, MULTIPROCESSOR_COUNT, device)) {
      return 1;
    }
    System.out.println("multiprocessors " + out.getInt(0));
    Pointer total = out.share(Long.BYTES);
    if (failed("cuMemGetInfo_v2", out, total)) {
      return 1;
    }
    System.out.println("free " + out.getLong(0) / MIB);
    System.out.println("total " + total.getLong(0) / MIB);
    for (String mib : List.of(args).subList(1, args.length)) {
      allocate(Integer.parseInt(mib));
    }
    return 0;
  }

  private void allocate(int mib) {
    int status = call("cuMemAlloc_v2", out, new NativeLong((long) mib * MIB));
    System.out.println("allocated " + mib + " " + status);
    if (status == 0) {
      call("cuMemFree_v2", out.getPointer(0));
    }
  }

  private boolean failed(String function, Object... arguments) {
    int status = call(function, arguments);
    if (status != 0) {
      System.out.println("failed " + function + " " + status);
    }
    return status != 0;
  }

  private int call(String function, Object... arguments) {
    Function found = library.getFunction(function);
    return found.invokeInt(arguments);
  }
}
